from __future__ import annotations

import inspect
import json
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

import clusterns
from clusterns.cli import app
from clusterns.errors import UserError
from clusterns.evaluation import hub
from clusterns.evaluation import mteb as mteb_suite
from clusterns.evaluation.plan import Job
from clusterns.evaluation.results import Results, SetResult, SuiteResult
from clusterns.evaluation.stored import read_results


def invoke(*arguments: object, **options: Any) -> Result:
    return CliRunner().invoke(app, ["evaluate", *map(str, arguments)], **options)


def run(*arguments: object) -> str:
    result = invoke(*arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(autouse=True)
def _empty_cache(cache: Path) -> None:
    """What another test has computed is not kept for this one."""


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
    files = {"--pairs": "pairs.csv", "--labeled": "texts.tsv", "--queries": "queries.jsonl"}
    return [part for option, file in files.items() for part in (option, tmp_path / file)]


def test_own_sets_to_all_forms(tmp_path: Path, vectors: Path, own: list[object]) -> None:
    outputs = [tmp_path / f"out/r.{form}" for form in ("json", "md", "tex")]
    asked = [part for path in outputs for part in ("--output", path)]
    shown = run(vectors, *own, *asked, "--name", "tiny")
    assert "Own sets" in shown
    results = Results.read(outputs[0])
    assert results.name == "tiny"
    found = {name: round(one.value) for name, one in results.suites["own"].sets.items()}
    assert found == {"pairs": 100, "texts": 100, "queries": 100}
    record = json.loads(outputs[0].read_text())["record"]
    assert {"date", "seed", "versions"} <= set(record)
    assert "| tiny | 100.00" in outputs[1].read_text()
    assert r"\begin{tabular}" in outputs[2].read_text()


@pytest.fixture(scope="module")
def minibert_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from clusterns.encoder.load import load_model

    folder = tmp_path_factory.mktemp("run")
    load_model("minibert", "mean").save(str(folder / "model"))
    return folder


@pytest.fixture
def a_run(minibert_run: Path) -> Iterator[Path]:
    yield minibert_run
    shutil.rmtree(minibert_run / "evaluation", ignore_errors=True)


def test_a_run_folder_keeps_every_result(
    tmp_path: Path, a_run: Path, own: list[object], shared_data: Path
) -> None:
    (tmp_path / "more.csv").write_text("cat,moon,1\nsun,sun,5\nmoon,dog,2\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/pairs.csv").write_text("cat,moon,1\nsun,sun,5\n")
    run(a_run, *own, "--batch-size", 2)
    files = {path: path.read_bytes() for path in (a_run / "evaluation").rglob("*.json")}
    assert len(files) == 3
    run(a_run, "--pairs", tmp_path / "more.csv")  # a second set of pairs
    run(a_run, "--pairs", tmp_path / "other/pairs.csv")  # another file of the same name
    run(a_run, *own[:2], "--max-length", 4)  # another way to read
    assert all(path.read_bytes() == content for path, content in files.items())
    full, short = read_results(a_run)
    if "max_length 4" in full.name:
        full, short = short, full
    assert len(full.suites["own"].sets) == 5
    assert list(short.suites["own"].sets) == ["pairs"]
    assert full.model["dimension"] == 256
    assert "gold/own/more" in full.predictions
    made = json.loads(next((a_run / "evaluation/own").glob("more.*.json")).read_text())
    assert {"date", "seed", "versions"} <= set(made["record"])
    assert made["model"]["max_length"] == 128


def test_an_evaluation_goes_on_where_it_was(
    tmp_path: Path, a_run: Path, own: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from clusterns.evaluation import runner as suites

    done: list[str] = []
    compute = suites.run_job

    def killed_after_two(bench: object, job: Job) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(job.name)
        return compute(bench, job)  # type: ignore[arg-type]

    monkeypatch.setattr(suites, "run_job", killed_after_two)
    stopped = invoke(a_run, *own)
    assert stopped.exit_code == 130
    assert "run the same command again to continue" in stopped.stderr
    assert done == ["pairs", "texts"]
    assert len(list((a_run / "evaluation").rglob("*.json"))) == 2
    done.clear()
    monkeypatch.setattr(
        suites, "run_job", lambda bench, job: (done.append(job.name), compute(bench, job))[1]
    )
    shown = run(a_run, *own)
    assert done == ["queries"]
    assert shown.count("stored") == 2
    assert "texts (clustering accuracy)" in shown
    run(a_run, *own, "--overwrite")
    assert done == ["queries", "pairs", "texts", "queries"]


def test_what_is_missing_is_left_out(
    tmp_path: Path, vectors: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, with SentEval's folder alone: no suite without data stops the others."""
    monkeypatch.setattr(hub, "reachable", lambda: False)
    monkeypatch.delenv("CLUSTERNS_DATA", raising=False)
    senteval = tmp_path / "SentEval"
    for part in ("STS/STS16-en-test", "STS/STSBenchmark", "TREC"):
        shutil.copytree(shared_data / "senteval" / part, senteval / part)
    shown = run(vectors, "--suite", "all", "--data", senteval, "--output", tmp_path / "r.json")
    assert "missing" in shown
    assert "clusterns data fetch" in " ".join(shown.split())
    suites = Results.read(tmp_path / "r.json").suites
    assert {name: list(suite.sets) for name, suite in suites.items()} == {
        "sts": ["STS16", "STS-B"],
        "transfer": ["TREC"],
        "geometry": ["alignment", "uniformity", "anisotropy"],
    }
    assert suites["sts"].average is None
    assert "MPQA" in suites["transfer"].missing


def test_a_set_that_fails_does_not_stop_the_others(
    tmp_path: Path, vectors: Path, own: list[object]
) -> None:
    few = tmp_path / "few.tsv"
    few.write_text("label\ttext\na\tcat\nb\tcat\nc\tcat\n")
    asked = ["--labeled", few, *own, "--output", tmp_path / "r.json"]
    kmeans = "clusterns.evaluation.runner.cluster"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kmeans, fails)
        shown = run(vectors, *asked)
        assert "few is skipped: too few" in shown
        assert list(Results.read(tmp_path / "r.json").suites["own"].sets) == ["pairs", "queries"]
        with pytest.raises(UserError, match="too few"):
            run(vectors, "--labeled", few)


def fails(*_: object) -> object:
    raise UserError("too few")


@pytest.mark.parametrize(
    ("option", "value", "kept"),
    [
        ("--truncate-dim", 2, {"truncate_dim": 2, "dimension": 2}),
        ("--max-length", 7, {"max_length": 7, "dimension": 3}),
        ("--dtype", "bfloat16", {"dtype": "bfloat16", "dimension": 3}),
    ],
)
def test_how_a_model_is_read_goes_on_record(
    tmp_path: Path,
    vectors: Path,
    own: list[object],
    option: str,
    value: object,
    kept: dict[str, object],
) -> None:
    run(vectors, *own[:2], option, value, "--output", tmp_path / "r.json")
    model = Results.read(tmp_path / "r.json").model
    assert {key: model[key] for key in kept} == kept


def test_real_suites_share_what_is_encoded(shared_data: Path, vectors: Path) -> None:
    shown = run(vectors, "--suite", "sts", "--suite", "geometry", "--data", shared_data)
    assert "SICK-R" in shown
    assert "uniformity" in shown


def test_a_plain_encoder_is_pooled_by_the_mean(tmp_path: Path, own: list[object]) -> None:
    shown = run("minibert", *own[:2], "--output", tmp_path / "r.json")
    assert "minibert is a plain encoder: evaluating it with mean pooling" in shown
    found = Results.read(tmp_path / "r.json")
    assert found.model["pooling"] == "mean"
    run("minibert", *own[:2], "--pooling", "mean", "--output", tmp_path / "s.json")
    again = Results.read(tmp_path / "s.json").suites["own"].sets["pairs"]
    assert found.suites["own"].sets["pairs"] == again


def test_a_pooling_that_does_not_go_with_the_model(vectors: Path, own: list[object]) -> None:
    with pytest.raises(UserError, match="word vectors are averaged"):
        run(vectors, *own, "--pooling", "cls")


def test_the_example_of_the_docstring_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("a cat,a cat,5\na cat,the sun,1\nred,blue sky,2\n")
    text = inspect.getdoc(clusterns.evaluate) or ""
    exec(text.split("```python")[1].split("```")[0], {})
    assert -100 <= float(capsys.readouterr().out) <= 100


def test_a_quiet_call_prints_nothing_and_json_is_all_on_stdout(
    vectors: Path, own: list[Any], capsys: Any
) -> None:
    results = clusterns.evaluate(vectors, pairs=[own[1]], quiet=True)
    assert results.suites["own"].sets["pairs"].value == pytest.approx(100)
    assert capsys.readouterr() == ("", "")
    done = invoke(vectors, *own, "--json")
    assert json.loads(done.stdout)["suites"]["own"]["sets"]["pairs"]["value"] == pytest.approx(100)
    assert "will run" in done.stderr
    assert "\r" not in done.stderr  # bars are for terminals


def test_a_collection_is_searched_in_three_ways(vectors: Path, tmp_path: Path) -> None:
    (tmp_path / "qrels").mkdir()
    rows = [
        {"_id": f"d{n}", "title": "", "text": text}
        for n, text in enumerate(["cat dog", "sun", "moon"])
    ]
    (tmp_path / "corpus.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "cat"}))
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td0\t1\n")
    results = clusterns.evaluate(vectors, retrieval=tmp_path, quiet=True)
    found = results.suites["retrieval"].sets.values()
    assert {one.variant: round(one.value) for one in found} == {
        "vectors": 100, "words": 100, "both": 100,
    }  # fmt: skip


def test_mteb_is_an_extra(vectors: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError

    monkeypatch.setattr(mteb_suite, "version", missing)
    with pytest.raises(UserError, match=r"clusterns\[mteb\]"):
        clusterns.evaluate(vectors, "mteb")


def test_tasks_of_mteb_are_stored_one_by_one(
    vectors: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def run_mteb(model: object, tasks: list[str], batch_size: int) -> SuiteResult:
        asked.extend(tasks)
        if tasks == ["B"]:
            raise UserError("mteb could not get its data")
        return SuiteResult({tasks[0]: SetResult(50.0, "main score", 0, 0.0, "mteb")})

    monkeypatch.setattr(mteb_suite, "version", lambda name: "2.0")
    monkeypatch.setattr(mteb_suite, "check_tasks", lambda names: None)
    monkeypatch.setattr(mteb_suite, "run_mteb", run_mteb)
    for _ in range(2):
        results = clusterns.evaluate(vectors, "mteb", mteb_tasks=["A", "B"])
        assert list(results.suites["mteb"].sets) == ["A"]
    assert asked == ["A", "B", "B"]  # A was stored
    assert "B is skipped: mteb could not get its data" in capsys.readouterr().err
