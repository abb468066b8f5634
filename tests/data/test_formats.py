from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clusterns.data import lines
from clusterns.data.columns import Columns
from clusterns.data.sources import FileSource
from clusterns.errors import UserError


def rows_of(path: Path, columns: Columns) -> list[dict[str, str | None]]:
    batches = FileSource(path).rows(columns, lambda _: None)
    return [row for batch in batches for row in batch.to_pylist()]


def read(path: Path, column: str | None = None) -> list[str | None]:
    return [row["text"] for row in rows_of(path, Columns(column))]


def read_ids(path: Path, column: str | None, id_column: str) -> list[tuple[str | None, str | None]]:
    return [(row["id"], row["text"]) for row in rows_of(path, Columns(column, id_column))]


def made(folder: Path, name: str, content: str) -> Path:
    path = folder / name
    path.write_text(content, "utf-8", newline="")
    return path


def test_plain_text(tmp_path: Path) -> None:
    assert read(made(tmp_path, "a.en", "one\r\ntwo\n\nthree")) == ["one", "two", "", "three"]


def test_json_lines(tmp_path: Path) -> None:
    rows = [{"id": 1, "text": "one\ntwo"}, {"id": 2, "text": None}, {"text": "é", "more": [1]}]
    content = "\n".join(map(json.dumps, rows)) + "\n\n"
    path = made(tmp_path, "a.jsonl", content)
    assert read(path) == ["one\ntwo", None, "é", None]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(content.encode()))
    assert read(tmp_path / "a.jsonl.gz") == read(path)
    assert read(made(tmp_path, "b.jsonl", '{"n": 1, "body": "only text"}')) == ["only text"]


def test_half_a_surrogate_pair_becomes_a_replacement_character(tmp_path: Path) -> None:
    path = made(tmp_path, "a.jsonl", r'{"text": "bad \ud83d good \ud83d\udc4d"}')
    assert read(path) == ["bad \ufffd good 👍"]


@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_a_json_file_may_hold_an_array(
    tmp_path: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK", block)
    rows = [{"id": 1, "text": "one [\n], two"}, {"id": 2, "text": None}, {"text": "é", "more": []}]
    for number, spaces in enumerate((None, 2)):
        path = made(tmp_path, f"{number}.json", " " + json.dumps(rows, indent=spaces))
        assert read(path) == ["one [\n], two", None, "é"]
    assert read(made(tmp_path, "a.json", '["one", "two"]')) == ["one", "two"]
    assert read(made(tmp_path, "b.json", "[ ]")) == []
    assert read(made(tmp_path, "c.json", '{"text": "one"}\n{"text": "two"}\n')) == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "column", "message"),
    [
        (
            "json",
            '[\n{"text": "a"},\n{"text" "b"}]',
            None,
            r"a.json is not JSON \(.*line 3 column 9",
        ),
        ("json", '[{"text": "a"},\n\n{"text": "b"', None, r"a.json is not JSON \(.*line 3"),
        ("json", '[{"text": "a"},\n3]', None, "item 2 is not a JSON object"),
        ("json", '[\n{"text": "a"},\n{"txt": "b"}]', None, "item 2 has no column 'text'"),
        ("jsonl", '{"text": "a"}\n{"text": \n', None, r"a.jsonl: line 2 is not JSON"),
        ("jsonl", "[1]\n", None, "line 1 is not a JSON object"),
        ("jsonl", "[" * 100_000, None, "line 1 is not JSON"),
        (
            "jsonl",
            '{"text": "a"}\n\n{"text": 3.5}\n',
            None,
            "line 3: the text is 3.5, not a string",
        ),
        ("jsonl", '{"text": "a"}\n{"txt": "b"}\n', None, "line 2 has no column 'text'.*'txt'"),
        ("jsonl", '{"title": "a", "body": "b"}', None, "specify the column.*'title', 'body'"),
        ("jsonl", '{"title": "a"}', "body", "no column 'body'; its columns are 'title'"),
        ("csv", 'text\nfine\n"open\nand open\n', None, "line 3 is malformed CSV.*quotation mark"),
        ("csv", 'text\n"a" b\n', None, "line 2 is malformed CSV"),
        (
            "csv",
            'text\n"' + "x\n" * 2_100_000,
            None,
            "line 2 is malformed CSV.*field larger.*4,000,000",
        ),
        (
            "csv",
            "text,label\na,1\nb, c,1\nd, e,1\n",
            None,
            "line 3 has 3 cells.*header has 2 columns",
        ),
        ("csv", "title,body\na,b\n", None, "specify the column.*'title', 'body'"),
        ("csv", "title,body\na,b\n", "text", "no column 'text'"),
    ],
)
def test_broken_tables(
    tmp_path: Path, name: str, content: str, column: str | None, message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read(made(tmp_path, f"a.{name}", content), column)


def test_csv(tmp_path: Path) -> None:
    content = 'id,sentence,note\r\n1,"one, ""two""\nthree",x\r\n\r\n2,four,\u2028\r\n'
    path = made(tmp_path, "a.csv", content)
    assert read(path) == ['one, "two"\nthree', None, "four"]
    assert read(path, "note") == ["x", None, "\u2028"]
    assert read(made(tmp_path, "b.csv", "score,body\n0.5,some text\n")) == ["some text"]
    assert read(made(tmp_path, "c.csv", "")) == []


def test_long_cells_and_quotation_marks(tmp_path: Path) -> None:
    cell = "word " * 100_000
    assert read(made(tmp_path, "a.csv", f'text,n\n"{cell}",1\n')) == [cell]
    path = made(tmp_path, "a.tsv", 'text\tlabel\n"Open quote\t1\nsay "hi"\t0\n')
    assert read(path) == ['"Open quote', 'say "hi"']


def test_long_tables_come_in_batches(tmp_path: Path) -> None:
    rows = [f"row {number} " + "x" * 1000 for number in range(5000)]
    path = made(tmp_path, "a.csv", "text\n" + "\n".join(rows))
    batches = list(FileSource(path).rows(Columns(), lambda _: None))
    assert len(batches) > 3
    assert [row["text"] for batch in batches for row in batch.to_pylist()] == rows
    assert all(batch.column("id").null_count == batch.num_rows for batch in batches)


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    table = pa.table({"n": [1, 2, 3], "body": pa.array(["a", None, "é"]).cast(kind)})
    pq.write_table(table, tmp_path / "a.parquet")
    assert read(tmp_path / "a.parquet") == ["a", None, "é"]
    with pytest.raises(UserError, match="column 'n' has type int64, not text"):
        read(tmp_path / "a.parquet", "n")
    with pytest.raises(UserError, match="no column 'text'; its columns are 'n', 'body'"):
        read(tmp_path / "a.parquet", "text")


def test_broken_parquet(tmp_path: Path) -> None:
    text = pa.array([b"fine", b"\xff\xfe"] * 500).view(pa.string())
    pq.write_table(pa.table({"text": text}), tmp_path / "a.parquet")
    with pytest.raises(UserError, match="Invalid UTF8"):
        read(tmp_path / "a.parquet")
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"a.parquet: it is truncated or damaged"):
        read(tmp_path / "a.parquet")


def test_ids_of_json_lines(tmp_path: Path) -> None:
    path = made(tmp_path, "a.jsonl", '{"id": 7, "body": "one"}\n\n{"body": "two", "id": "x"}\n')
    assert read_ids(path, None, "id") == [("7", "one"), (None, None), ("x", "two")]
    path = made(tmp_path, "b.jsonl", '{"id": "x", "body": null}\n{"id": null, "body": "two"}\n')
    assert read_ids(path, "body", "id") == [("x", None), (None, "two")]
    for value in ("true", "0.5", "[1]"):
        path = made(tmp_path, "c.jsonl", f'{{"id": {value}, "text": "one"}}')
        with pytest.raises(UserError, match="line 1: the id is .*, not a string"):
            read_ids(path, None, "id")
    with pytest.raises(UserError, match="line 1 has no column 'key'"):
        read_ids(path, None, "key")


def test_ids_of_tables(tmp_path: Path) -> None:
    # The column of ids is text too, but never taken for the text.
    path = made(tmp_path, "a.csv", "key,body\na-1,one\n\na-2,two\n")
    assert read_ids(path, None, "key") == [("a-1", "one"), (None, None), ("a-2", "two")]
    with pytest.raises(UserError, match="no column 'id'; its columns are 'key', 'body'"):
        read_ids(path, "body", "id")
    columns = {"key": [3, 1, None], "name": ["a", "b", "c"], "share": [0.1, 0.2, 0.3]}
    pq.write_table(pa.table({**columns, "text": ["x", "y", None]}), tmp_path / "a.parquet")
    path = tmp_path / "a.parquet"
    assert read_ids(path, None, "key") == [("3", "x"), ("1", "y"), (None, None)]
    assert read_ids(path, "text", "name") == [("a", "x"), ("b", "y"), ("c", None)]
    with pytest.raises(
        UserError, match="column 'share' has type double, but ids must be strings or integers"
    ):
        read_ids(path, None, "share")
    with pytest.raises(UserError, match=r"a.txt is plain text without tabs, .* column of id"):
        read_ids(made(tmp_path, "a.txt", "one\n"), None, "id")
