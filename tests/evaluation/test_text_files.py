from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.data.columns import Column
from clusterns.errors import UserError
from clusterns.evaluation.custom import named_columns, read_lines, read_table

COLUMNS = (Column("one", usual=("one",)), Column("two", usual=("two",)))


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb\r\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"\xef\xbb\xbfa\nb\n", ["a", "b"]),
        ("café\n".encode(), ["café"]),
        ("\ufeffcafé\n".encode("utf-16-le"), ["café"]),
        ("one\u2028still one\x85too\ntwo\n".encode(), ["one\u2028still one\x85too", "two"]),
        (b"a\n\nb\n", ["a", "", "b"]),
        (b"", []),
    ],
)
def test_lines_of_every_kind(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert read_lines(path) == lines


def test_western_text_is_read_where_it_is_known_and_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("“café”\n".encode("cp1252"))
    assert read_lines(path, western=True) == ["“café”"]
    with pytest.raises(UserError, match=r"not UTF-8: byte 0x93 .*line 1"):
        read_lines(path)
    path.write_text("“café”\n", "utf-8")
    assert read_lines(path, western=True) == ["“café”"]


def table(tmp_path: Path, name: str, text: str, columns: str = "") -> list[tuple[int, list[Any]]]:
    (tmp_path / name).write_text(text, "utf-8")
    path, wanted = named_columns(Path(f"{tmp_path / name}{columns}"), COLUMNS)
    return [(line, list(values)) for line, values in read_table(path, wanted)]


def test_header_decides_the_places(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", "x,Two,one\n1,2,3\n") == [(2, ["3", "2"])]


def test_without_header_the_order_counts(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", "1,2\n\n3,4\n") == [(1, ["1", "2"]), (3, ["3", "4"])]
    with pytest.raises(UserError, match=r"no header: say by number .*\(a.csv:COLUMN,COLUMN\)"):
        table(tmp_path, "a.csv", "1,2,3\n")


def test_columns_are_named_after_the_file(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", "1,2,3\n", ":3,1") == [(1, ["3", "1"])]
    assert table(tmp_path, "a.csv", "x,y\na,b\n", ":y,x") == [(2, ["b", "a"])]
    assert table(tmp_path, "a:b.csv", "one,two\na,b\n") == [(2, ["a", "b"])]
    for columns in (":3", ":1,2,3", ":1,"):
        with pytest.raises(UserError, match="name 2 columns after the file: .*a.csv:one,two"):
            table(tmp_path, "a.csv", "1,2,3\n", columns)


def test_the_columns_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table(tmp_path, "a.csv", "x,Two,one\n1,2,3\n1,2\n4,5,6\n")
    said = capsys.readouterr().err
    assert "the first line is the header; one is column 3 'one', two is column 2 'Two'" in said
    assert "1 lines have too many or too few cells and were left out" in said


def test_csv_has_quoting_and_tsv_has_not(tmp_path: Path) -> None:
    assert table(tmp_path, "a.csv", '"x, ""y""",2\n') == [(1, ['x, "y"', "2"])]
    rows = table(tmp_path, "a.tsv", 'a "bare\t1\nc\t2"\n')
    assert rows == [(1, ['a "bare', "1"]), (2, ["c", '2"'])]


def test_jsonl_goes_by_name_and_skips_blank_lines(tmp_path: Path) -> None:
    assert table(tmp_path, "a.jsonl", '{"two": 2, "one": 1}\n\n') == [(1, [1, 2])]
    assert table(tmp_path, "a.jsonl", '{"2": 2, "one": 1}\n', ":2,one") == [(1, [2, 1])]


def test_parquet(tmp_path: Path) -> None:
    pq.write_table(pa.table({"two": ["b", "c"], "one": [1, 2]}), tmp_path / "a.parquet")
    path, wanted = named_columns(tmp_path / "a.parquet", COLUMNS)
    assert list(read_table(path, wanted)) == [(1, [1, "b"]), (2, [2, "c"])]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "one,two\n1,2\n3\n4\n", "line 3 has 1 cells"),
        ("a.csv", '1,2\n"3,4\n', "line 2"),
        ("a.csv", "kind,remark\na,b\n", "is its first line, 'kind', 'remark', a header or a row"),
        ("a.jsonl", '{"one": 1}\n', r"line 1: say which column holds the two \(a.jsonl:COLUMN"),
        ("a.jsonl", "[1]\n", "line 1"),
        ("a.jsonl", '{"one": 1, "two": 2}\nnope\n', "line 2 is not JSON"),
        ("a.jsonl", '{"one": 1, "two": 2}\n{"one": 1}\n', "line 2 has no column 'two'"),
        ("a.xlsx", "PK\x03\x04\0", "not text"),
    ],
)
def test_broken_tables_name_the_line(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        table(tmp_path, name, text)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a file"):
        list(read_table(tmp_path / "no.csv", COLUMNS))
    with pytest.raises(UserError, match="cannot read"):
        read_lines(tmp_path / "no")
