from __future__ import annotations

import json
from pathlib import Path

import pytest

from clusterns.data.columns import Columns
from clusterns.data.sources import find_sources
from clusterns.errors import UserError
from clusterns.vectors.encode import tables


def read(path: Path, size: int, *columns: str | None) -> list[list[tuple[object, str]]]:
    sizes: list[int] = []
    found = [
        [(row["id"], row["text"]) for row in table.to_pylist()]
        for table in tables(find_sources([str(path)]), Columns(*columns), size, sizes.append)
    ]
    assert sum(sizes) == sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return found


@pytest.fixture
def two_files(tmp_path):
    (tmp_path / "a.txt").write_text("zero\n\ntwo\nthree\n")
    (tmp_path / "b.jsonl").write_text('{"text": "four"}\n\n{"text": null}\n{"text": "seven"}\n')
    return tmp_path


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 100])
def test_every_row_is_in_its_table_with_its_number(two_files, size):
    rows = list(enumerate(["zero", "", "two", "three", "four", "", "", "seven"]))
    assert read(two_files, size) == [rows[start : start + size] for start in range(0, 8, size)]


def test_ids_of_a_column(tmp_path):
    lines = [json.dumps({"key": key, "body": f"text {key}"}) for key in (7, "a", 9)]
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines) + '\n{"key": "x", "body": null}\n')
    assert read(tmp_path, 3, None, "key") == [
        [("7", "text 7"), ("a", "text a"), ("9", "text 9")],
        [("x", "")],
    ]


def test_a_row_without_an_id(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": 1, "text": "a"}\n{"id": null, "text": "b"}\n')
    with pytest.raises(UserError, match="row 1 has no id in the column 'id'"):
        read(tmp_path, 10, None, "id")
    path.write_text(
        '{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n' + '{"id": "%s", "text": "c"}'
    )
    path.write_text(path.read_text() % ("x" * 1001))
    with pytest.raises(UserError, match="row 2 has an id of over 1000 characters"):
        read(tmp_path, 2, None, "id")


def test_an_empty_corpus_has_no_table(tmp_path):
    (tmp_path / "a.txt").write_text("")
    assert read(tmp_path, 3) == []
