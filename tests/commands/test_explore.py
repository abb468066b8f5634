from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from clusterns.cli import app
from clusterns.errors import UserError
from tests.helpers.texts import NASTY, subject_texts


@pytest.fixture
def corpus(tmp_path: Path, cache: Path) -> Path:
    """Sentences with two that come again, an empty line, and hostile ones."""
    some = subject_texts(30)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*some, "", some[0], *NASTY[:9], some[4], some[0]]) + "\n", "utf-8")
    return path


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def test_similar_finds_pairs_and_groups_and_drops_the_repeats(
    tiny_bert: Path, corpus: Path, tmp_path: Path
) -> None:
    pairs, groups, drop = tmp_path / "pairs.jsonl", tmp_path / "groups.csv", tmp_path / "clean.txt"
    run("similar", tiny_bert, corpus, "--pooling", "mean", "--threshold", 0.9999, "--pairs", pairs,
        "--groups", groups, "--deduplicated", drop)  # fmt: skip
    found = [json.loads(line) for line in pairs.read_text("utf-8").splitlines()]
    assert {(one["line1"], one["line2"]) for one in found} == {(1, 32), (1, 43), (5, 42)}
    assert all(one["cosine"] == pytest.approx(1) for one in found)
    with groups.open(encoding="utf-8", newline="") as file:
        rows = [(row["group"], int(row["line"])) for row in csv.DictReader(file)]
    assert rows == [("0", 1), ("0", 32), ("0", 43), ("1", 5), ("1", 42)]
    lines = corpus.read_text("utf-8").split("\n")
    kept = drop.read_text("utf-8").split("\n")
    assert kept == [line for n, line in enumerate(lines, start=1) if n not in (32, 42, 43)]


NAMED = ["Finnish-Dutch", "French-Italian", "Dutch-Finnish", "Finnish-Dutch."]


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_rows_keep_their_columns_and_names_decide(
    kind: str, tiny_bert: Path, tmp_path: Path, cache: Path
) -> None:
    texts = [f"The {name} dictionary, second edition" for name in NAMED]
    rows = pa.table({"id": [7, 8, 9, 10], "text": texts, "lang": ["a,b", None, 'c"d', "e"]})
    given, clean = tmp_path / f"given.{kind}", tmp_path / f"clean.{kind}"
    if kind == "parquet":
        pq.write_table(rows, given)
    elif kind == "csv":
        rows.to_pandas().to_csv(given, index=False)
    else:
        rows.to_pandas().to_json(given, orient="records", lines=True)
    options = [tiny_bert, given, "--pooling", "mean", "--column", "text", "--threshold", "-1"]
    # The cosines of a random model are near 1 for all of them.
    shown = run("similar", *options, "--deduplicated", clean)
    assert "remove" in shown
    if kind == "parquet":
        assert pq.read_table(clean).equals(rows.slice(0, 3))
    else:
        lines = given.read_text("utf-8").splitlines()
        assert clean.read_text("utf-8").splitlines() == lines[:-1]
    run("similar", *options, "--no-same-words", "--deduplicated", tmp_path / "text.txt")
    assert (tmp_path / "text.txt").read_text("utf-8") == f"{texts[0]}\n"
    with pytest.raises(UserError, match="choose a file of the same format as the corpus"):
        run("similar", *options, "--deduplicated", tmp_path / "clean.tsv")


def test_on_a_terminal_it_asks_before_it_writes(
    tiny_bert: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("clusterns.commands.similar.sys", terminal)
    output = tmp_path / "clean.txt"
    arguments = ["similar", tiny_bert, corpus, "--pooling", "mean", "--deduplicated", output]
    arguments += ["--threshold", "0.9999"]
    for answer, more, code in (("n", [], 1), ("y", [], 0), ("", ["--yes"], 0)):
        done = CliRunner().invoke(app, [*map(str, arguments), *more], input=f"{answer}\n")
        assert ("Leave out 3 of 42 rows?" in done.output) is (not more)
        assert (done.exit_code, output.exists()) == (code, code == 0)
        output.unlink(missing_ok=True)


def test_rows_of_several_files_are_named_by_file_and_line(
    tiny_bert: Path, tmp_path: Path, cache: Path
) -> None:
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"only in {name[0] * 3}\n\nThe same line\n")
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    shown = run("similar", tiny_bert, *files, "--pooling", "mean", "--threshold", 0.9999)
    rows = [re.findall(r"[\w.:]+", line)[:2] for line in shown.splitlines()]
    assert ["a.txt:3", "keep"] in rows
    assert ["b.txt:3", "remove"] in rows


def test_the_table_shows_what_each_threshold_would_give(
    tiny_bert: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run("similar", tiny_bert, corpus, "--pooling", "mean", "--threshold", 0.9999)
    (chosen,) = [line for line in shown.splitlines() if "> 0.9999" in line]
    assert [cell.strip() for cell in chosen.strip("│ ").split("│")][1:] == [
        "3", "2", "3", "3", "39",
    ]  # fmt: skip
    assert "0.95" in shown
    assert "The largest group" not in shown
    monkeypatch.setattr("clusterns.explorer.duplicates.LARGE_GROUP", 20)
    shown = run(
        "similar", tiny_bert, corpus, "--pooling", "mean", "--threshold", -1, "--no-same-words"
    )
    assert "The largest group holds 42 of 42 lines: -1 is low for this model." in shown


def test_topics_are_written_and_new_text_is_assigned(
    tiny_bert: Path, corpus: Path, tmp_path: Path
) -> None:
    topics, sentences = tmp_path / "topics.jsonl", tmp_path / "sentences.csv"
    run("topics", tiny_bert, corpus, "--pooling", "mean", "--k", 3, "--output", topics,
        "--sentences", sentences)  # fmt: skip
    found = [json.loads(line) for line in topics.read_text("utf-8").splitlines()]
    assert [one["topic"] for one in found] == [0, 1, 2]
    assert all(one["central"] and -1 <= one["cohesion"] <= 1 for one in found)
    with sentences.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 42
    assert rows[0]["text"] == rows[30]["text"]
    assert rows[0]["topic"] == rows[30]["topic"]
    new = tmp_path / "new.txt"
    new.write_text("\n".join(row["text"] for row in rows[3:6]), "utf-8")
    run("topics", tiny_bert, corpus, "--pooling", "mean", "--k", 3, "--assign", new,
        "--sentences", sentences)  # fmt: skip
    with sentences.open(encoding="utf-8", newline="") as file:
        assert [row["topic"] for row in csv.DictReader(file)] == [row["topic"] for row in rows[3:6]]
