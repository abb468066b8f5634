from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.evaluation.data.text_files import read_lines, read_table


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("caf\xe9\n".encode("latin-1"), ["café"]),
        ("café\n".encode(), ["café"]),
        ("one\u2028still one\x85too\ntwo\n".encode(), ["one\u2028still one\x85too", "two"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"", []),
    ],
)
def test_lines_of_every_kind(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_lines(path) == lines


def table(tmp_path: Path, name: str, text: str) -> list[tuple[int, list[str]]]:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return list(read_table(path, ("one", "two")))


def test_header_decides_the_places(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", "x,Two,one\n1,2,3\n") == [(2, ["3", "2"])]


def test_without_header_the_first_columns_count(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", "1,2,3\n") == [(1, ["1", "2"])]


def test_csv_has_quoting_and_tsv_has_not(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", '"x, ""y""",2\n') == [(1, ['x, "y"', "2"])]
    rows = table(tmp_path, "a.tsv", 'a "bare\tb\nc\td"\n')
    assert rows == [(1, ['a "bare', "b"]), (2, ["c", 'd"'])]


def test_jsonl_goes_by_name_and_skips_blank_lines(tmp_path: Path) -> None:
    assert table(tmp_path, "a.jsonl", '{"two": 2, "one": 1}\n\n') == [(1, [1, 2])]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "1,2\n3\n", "line 2: 1 columns"),
        ("a.csv", '1,2\n"3,4\n', "line 2"),
        ("a.jsonl", '{"one": 1}\n', "line 1: needs an object with one, two"),
        ("a.jsonl", "[1]\n", "line 1"),
        ("a.jsonl", '{"one": 1, "two": 2}\nnope\n', "line 2: not JSON"),
        ("a.xlsx", "1,2", "csv"),
    ],
)
def test_broken_tables_name_the_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        table(tmp_path, name, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file"):
        list(read_table(tmp_path / "no.csv", ("one",)))
    with pytest.raises(UserError, match="cannot read"):
        read_lines(tmp_path / "no")
