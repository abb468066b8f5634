from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clusterns.data.columns import Columns
from clusterns.data.passages import cut, located_rows
from clusterns.data.sources import find_sources
from clusterns.errors import UserError

WRAPPED = """Install
=======

The program is installed with one command, which downloads what it needs and puts it
where the others are. Nothing else has to be done, and nothing is changed elsewhere on
the machine of the user.

- A list has items that stay lines of their own.
- Here is another one.

## Removing it

One command removes the program and everything that it has written, so that the disk is
as it was before. Files that you have made yourself stay where they are, as they should.
"""


def read(place: Path, unit: Any, *keep: str, words: int = 180) -> list[dict[str, Any]]:
    sources = find_sources([str(place)])
    advanced: list[int] = []
    batches = located_rows(sources, Columns(keep=keep), advanced.append, unit, words)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert sum(advanced) == sum(source.size or 0 for source in sources)
    return rows


def test_passages_of_wrapped_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WRAPPED)
    rows = read(tmp_path, "passage")
    assert [(row["line"], row["heading"]) for row in rows] == [
        (1, "Install"),
        (8, "Install"),
        (11, "Removing it"),
    ]
    assert rows[0]["text"].startswith("Install\nThe program is installed with one command, which")
    assert "puts it where the others are" in rows[0]["text"]
    assert rows[1]["text"].count("\n") == 1
    assert rows[2]["text"].startswith("Removing it\nOne command removes")
    assert {row["source"] for row in rows} == {str(tmp_path / "a.txt")}
    cut_rows = read(tmp_path, "passage", words=20)
    assert [row["line"] for row in cut_rows] == [1, 1, 8, 11, 11]
    assert (
        " ".join(row["text"] for row in rows).split()
        == " ".join(row["text"] for row in cut_rows).split()
    )


def test_lines_that_are_not_wrapped_stay_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("One sentence.\nAnother one.\n\nA third one. And more.\n")
    (tmp_path / "b.txt").write_text("last\n")
    rows = read(tmp_path, "passage")
    assert [row["text"] for row in rows] == [
        "One sentence.", "Another one.", "A third one. And more.", "last",
    ]  # fmt: skip
    assert [(row["line"], row["number"]) for row in rows] == [(1, 1), (2, 2), (4, 4), (1, 5)]
    assert [row["line"] for row in read(tmp_path, "sentence")] == [1, 2, 4, 4, 1]
    assert [row["text"] for row in read(tmp_path, "row")][2:4] == ["", "A third one. And more."]


def test_sentences_of_wrapped_text_know_their_paragraph(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(WRAPPED)
    rows = read(tmp_path, "sentence")
    at = {row["text"]: row["line"] for row in rows}
    (long,) = [text for text in at if text.startswith("Nothing else")]
    assert (at[long], at["- Here is another one."]) == (4, 9)


def test_rows_of_tables_with_kept_columns(tmp_path: Path) -> None:
    long = "First sentence of it. " * 3
    rows = [{"text": "a", "year": 1999, "tags": ["x"]}, {"text": long, "year": None, "tags": "y"}]
    (tmp_path / "a.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    found = read(tmp_path, "passage", "year", "tags", words=8)
    assert [(row["line"], row["year"], row["tags"]) for row in found] == [
        (1, "1999", '["x"]'), (2, None, "y"), (2, None, "y"),
    ]  # fmt: skip
    assert " ".join(row["text"] for row in found[1:]) == long.strip()
    with pytest.raises(UserError, match="--keep source: this column name is reserved"):
        read(tmp_path, "row", "source")


def test_cut_after_sentences() -> None:
    text = "One two three. Four five six. Seven eight."
    assert cut(text, 8) == [text]
    assert cut(text, 6) == ["One two three. Four five six.", "Seven eight."]
    assert cut(text, 1) == ["One two three.", "Four five six.", "Seven eight."]
    assert cut(" \n", 5) == []
    assert cut("今天下雨。我们在家。", 5) == ["今天下雨。", "我们在家。"]
