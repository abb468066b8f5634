from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from clusterns.cli.evaluate import evaluate
from clusterns.errors import UserError
from clusterns.evaluation.data import hub
from clusterns.evaluation.results.results import Results

app = typer.Typer()
app.command()(evaluate)


def run(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 0 0.1\ndog 0.9 0.1 0\nsun 0 1 0\nmoon 0.1 0.9 0.1\n")
    return path


@pytest.fixture
def own(tmp_path: Path) -> list[object]:
    (tmp_path / "pairs.csv").write_text("cat,dog,5\ncat,sun,1\nsun,moon,4\n")
    (tmp_path / "texts.tsv").write_text("a\tcat\na\tdog\nb\tsun\nb\tmoon\n")
    (tmp_path / "queries.jsonl").write_text(
        '{"query": "cat", "relevant": "dog"}\n{"query": "moon", "relevant": ["sun"]}\n'
    )
    files = {"--pairs": "pairs.csv", "--labelled": "texts.tsv", "--queries": "queries.jsonl"}
    return [part for option, file in files.items() for part in (option, tmp_path / file)]


def test_own_sets_to_all_forms(tmp_path: Path, vectors: Path, own: list[object]) -> None:
    outputs = [tmp_path / f"out/r.{form}" for form in ("json", "md", "tex")]
    asked = [part for path in outputs for part in ("--output", path)]
    shown = run(vectors, *own, *asked, "--name", "tiny")
    assert "Own sets" in shown
    results = Results.read(outputs[0])
    assert results.name == "tiny"
    assert {name: round(one.value) for name, one in results.suites["own"].sets.items()} == {
        "pairs": 100,
        "texts": 100,
        "queries": 100,
    }
    record = json.loads(outputs[0].read_text())["record"]
    assert {"command", "date", "seed", "versions"} <= set(record)
    assert "| tiny | 100.00" in outputs[1].read_text()
    assert r"\begin{tabular}" in outputs[2].read_text()


def test_a_run_folder_keeps_its_results(
    tmp_path: Path, own: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from clusterns.vectors.models import load_model

    load_model("minibert", "mean").save(str(tmp_path / "run/model"))
    run(tmp_path / "run", *own)
    run(tmp_path / "run", *own[:2], "--cache", tmp_path / "cache")
    kept = Results.read(tmp_path / "run")
    assert list(kept.suites["own"].sets) == ["pairs"]
    assert kept.model["dimension"] == 256


def test_real_suites_share_what_is_encoded(shared_data: Path, vectors: Path) -> None:
    shown = run(vectors, "--suite", "sts", "--suite", "geometry", "--data", shared_data)
    assert "SICK-R" in shown
    assert "uniformity" in shown


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--output", "r.txt"], "written as .json, .md or .tex"),
        (["--data", "no/folder"], "is not a folder"),
        (["--pairs", "no.csv"], "is not a file"),
        (["--pooling", "cls"], "word vectors are averaged"),
        (["--suite", "transfer", "--data", "."], "Not at hand: MR"),
    ],
)
def test_bad_input_is_one_sentence(
    tmp_path: Path,
    vectors: Path,
    options: list[str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.delenv("CLUSTERNS_DATA", raising=False)
    with pytest.raises(UserError, match=says):
        run(vectors, *options)
    assert [path.name for path in tmp_path.iterdir()] == ["vectors.txt"]


def test_help_explains_every_option() -> None:
    shown = run("--help")
    for option in ("--suite", "--data", "--output", "--pooling", "--pairs", "--cache"):
        assert option in shown
