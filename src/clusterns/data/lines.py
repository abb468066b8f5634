"""Read a file, compressed or not, in blocks of valid text without markup, about a megabyte each."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from clusterns.data.kinds import MARKUP, file_format
from clusterns.data.markup import without_markup
from clusterns.errors import UserError

BLOCK = 1 << 20
MAX_LINE_CHARS = 4_000_000


def text_lines(path: Path, raw: BinaryIO) -> Iterator[str]:
    """Yield the lines of ``raw``, opened from ``path``, without their newlines."""
    for block in text_blocks(path, raw):
        yield from block.removesuffix("\n").split("\n")


def text_blocks(path: Path, raw: BinaryIO) -> Iterator[str]:
    """Yield the text of ``raw``, opened from ``path``, in blocks of complete lines, without markup.

    The last line may lack its newline.
    """
    blocks, kind = _line_blocks(path, raw), file_format(path)
    if kind in MARKUP:
        text = "".join(blocks)
        blocks = iter(["\n".join(without_markup(kind, text)) + "\n"] if text else [])
    yield from blocks


def _line_blocks(path: Path, raw: BinaryIO) -> Iterator[str]:
    pending, lines = "", 0
    for text in text_chunks(path, raw):
        complete, newline, rest = text.rpartition("\n")
        if newline:
            yield pending + complete + newline
            lines += text.count("\n")
            pending = ""
        pending += rest
        if len(pending) > MAX_LINE_CHARS:
            raise UserError(
                f"{path}: line {lines + 1:,} is longer than {MAX_LINE_CHARS:,} characters. "
                "Does the file have one sentence per line?"
            )
    if pending:
        yield pending


def text_chunks(path: Path, raw: BinaryIO) -> Iterator[str]:
    """Yield the text of ``raw``, opened from ``path``, piece by piece; every line ends with a newline.

    The encoding is UTF-8, or UTF-16 with a byte-order mark. Anything else is refused, never guessed.
    """
    decoder: io.IncrementalNewlineDecoder | None = None
    encoding, line, offset = "utf-8-sig", 1, 0
    for block in _byte_blocks(path, raw):
        if decoder is None:
            marks = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            if block.startswith(marks) and not block.startswith(codecs.BOM_UTF32_LE):
                encoding = "utf-16"
            decoder = io.IncrementalNewlineDecoder(
                codecs.getincrementaldecoder(encoding)(), translate=True
            )
        if encoding != "utf-16" and (nul := block.find(b"\0")) >= 0:
            raise UserError(
                f"{path} is not text: it contains a NUL byte at offset {offset + nul:,}. "
                "Pass plain text in UTF-8."
            )
        offset += len(block)
        try:
            text = decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            raise UserError(_not_utf8(path, error, offset, line)) from error
        line += text.count("\n")
        yield text


def _byte_blocks(path: Path, raw: BinaryIO) -> Iterator[bytes]:
    """Yield decompressed bytes: first the length of a byte-order mark, last an empty block."""
    try:
        stream, size = _unpacked(path, raw), 4
        while block := stream.read(size):
            yield block
            size = BLOCK
    # For a damaged .zst file, Arrow raises OSError or ValueError.
    except (EOFError, OSError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"cannot read {path}: it is truncated or damaged ({error}).") from error
    yield b""


def _unpacked(path: Path, raw: BinaryIO) -> Any:
    """Decompress a file according to its extension."""
    match path.suffix.lower():
        case ".gz":
            return gzip.GzipFile(fileobj=raw)
        case ".xz":
            return lzma.LZMAFile(raw)
        case ".bz2":
            return bz2.BZ2File(raw)
        case ".zst":
            import pyarrow as pa  # heavy, and only needed here

            return pa.CompressedInputStream(pa.PythonFile(raw, "r"), "zstd")
    return raw


def _not_utf8(path: Path, error: UnicodeDecodeError, offset: int, line: int) -> str:
    """Format a decoding error; ``line`` is the line on which the undecodable block starts."""
    if error.encoding != "utf-8":
        return f"cannot read {path}: it is truncated or damaged ({error})."
    line += bytes(error.object[: error.start]).count(b"\n")
    return (
        f"{path} is not UTF-8: byte 0x{error.object[error.start]:02X} at offset "
        f"{offset - len(error.object) + error.start:,} (line {line:,}). Save it as UTF-8, or "
        f"convert it, for example with iconv -f cp1252 -t utf-8 {path.name}."
    )
