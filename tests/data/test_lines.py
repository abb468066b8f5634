from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
from pathlib import Path

import pyarrow as pa
import pytest

from clusterns.data import lines
from clusterns.data.lines import text_blocks, text_lines
from clusterns.errors import UserError


def read(content: bytes, name: str = "corpus.txt") -> list[str]:
    return list(text_lines(Path(name), io.BytesIO(content)))


def zstd(content: bytes) -> bytes:
    packed: bytes = pa.compress(content, codec="zstd", asbytes=True)
    return packed


def test_every_kind_of_line_end() -> None:
    assert read(b"unix\nwindows\r\nmac\rlast") == ["unix", "windows", "mac", "last"]
    assert read(b"one\n\ntwo\n") == ["one", "", "two"]
    assert read(b"") == []
    assert read("only\u2028newlines\x0bcount\n".encode()) == ["only\u2028newlines\x0bcount"]


def test_a_byte_order_mark_is_no_text() -> None:
    assert read("\ufeffété".encode()) == ["été"]


@pytest.mark.parametrize("size", [1, 3, 1 << 20])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_byte_order_mark_says_utf_16(
    encoding: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    assert read("\ufeff“été”\r\n日本語\n👍".encode(encoding)) == ["“été”", "日本語", "👍"]
    assert read(gzip.compress("\ufeffa\n".encode(encoding)), "corpus.txt.gz") == ["a"]


def test_no_encoding_is_guessed() -> None:
    # As Windows saves it: in Latin-1 these quotation marks would be control characters.
    with pytest.raises(UserError, match=r"0x93 at offset 0 \(line 1\).*iconv -f cp1252"):
        read("“Yes”\n".encode("cp1252"))


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
def test_blocks_may_cut_anything(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", size)
    text = "\ufeffnaïve 日本語\r\n👍 last\r"
    assert read(text.encode()) == ["naïve 日本語", "👍 last"]
    with pytest.raises(UserError, match=r"0xE9 at offset 12 \(line 3\)"):
        read("é\r\nok\ncaf".encode() + b"fe\xe9!\nmore")


@pytest.mark.parametrize(
    ("ending", "pack"),
    [(".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress), (".zst", zstd)],
)
def test_packed_files(ending: str, pack) -> None:  # type: ignore[no-untyped-def]
    text = "\n".join(f"line {number} of a packed file" for number in range(5000))
    packed = pack(text.encode())
    assert read(packed, "corpus.txt" + ending) == text.split("\n")
    assert read(packed + packed, "corpus.txt" + ending)[-1] == text.split("\n")[-1]
    with pytest.raises(UserError, match=rf"cannot read corpus.txt\{ending}: it is truncated"):
        read(packed[: len(packed) // 2], "corpus.txt" + ending)
    with pytest.raises(UserError, match="truncated or damaged"):
        read(b"plain text with a wrong ending", "corpus.txt" + ending)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text\nPNG\0\x01", "not text: it contains a NUL byte at offset 8"),
        ("é".encode("utf-32"), "not text: it contains a NUL byte at offset 2"),
        ("é\n".encode("utf-16-le"), "not text: it contains a NUL byte at offset 1"),
        ("ab".encode("utf-16")[:-1], "truncated or damaged"),
        ("caf\xe9\n".encode("latin1"), r"0xE9 at offset 3 \(line 1\).*iconv"),
        ("cut 日".encode()[:-1], "is not UTF-8"),
    ],
)
def test_what_is_not_utf8_text(content: bytes, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read(content)


class Endless(io.RawIOBase):
    """A hundred megabytes without a newline."""

    left = 100_000_000

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        size = min(size, self.left)
        self.left -= size
        return b"x" * size


def test_one_endless_line_is_never_held() -> None:
    endless = Endless()
    tracemalloc.start()
    with pytest.raises(UserError, match=r"big.txt: line 1 is longer than 4,000,000 characters"):
        list(text_blocks(Path("big.txt"), endless))  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert endless.left > 90_000_000
    assert peak < 20_000_000
