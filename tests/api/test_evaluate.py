from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import clusterns
from clusterns.api import evaluate as module
from clusterns.cli.evaluate import evaluate as command
from clusterns.errors import UserError
from clusterns.evaluation import mteb as mteb_suite
from clusterns.evaluation.results import SetResult, SuiteResult

RENAMED = {"suite": "suites", "mteb_task": "mteb_tasks"}
OF_THE_COMMAND = {"output", "as_json"}


@pytest.fixture(autouse=True)
def _empty_cache(cache: Path) -> None:
    """No test finds what another one has computed."""


def test_the_example_of_the_docstring_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("a cat,a cat,5\na cat,the sun,1\nred,blue sky,2\n")
    text = inspect.getdoc(clusterns.evaluate) or ""
    exec(text.split("```python")[1].split("```")[0], {})
    assert -100 <= float(capsys.readouterr().out) <= 100


def test_the_command_has_the_same_defaults() -> None:
    ours = inspect.signature(clusterns.evaluate).parameters
    theirs = inspect.signature(command).parameters
    asked = {RENAMED.get(name, name) for name in theirs} - OF_THE_COMMAND
    assert asked == set(ours) - {"quiet"}
    for name, parameter in theirs.items():
        own = ours.get(RENAMED.get(name, name))
        if own is not None and own.default not in ((), inspect.Parameter.empty):
            assert own.default == parameter.default, name
    planned = inspect.signature(module.plan_evaluation).parameters
    assert {k: v.default for k, v in planned.items()} == {
        k: v.default for k, v in ours.items() if k != "quiet"
    }


def test_quiet_says_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors, pairs = tmp_path / "v.txt", tmp_path / "pairs.csv"
    vectors.write_text("cat 1 0\nsun 0 1\nmoon 0.1 0.9\n")
    pairs.write_text("cat,cat,5\ncat,sun,1\nsun,moon,4\n")
    results = clusterns.evaluate(vectors, pairs=[pairs], quiet=True)
    assert results.suites["own"].sets["pairs"].value == pytest.approx(100)
    assert capsys.readouterr() == ("", "")


def test_unknown_suites_are_refused() -> None:
    with pytest.raises(UserError, match="no suite 'stss': choose from sts, transfer"):
        clusterns.evaluate("minibert", "stss")


def test_tasks_of_mteb_are_kept_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
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
    vectors = tmp_path / "v.txt"
    vectors.write_text("cat 1 0\nsun 0 1\n")
    for _ in range(2):
        results = clusterns.evaluate(vectors, "mteb", mteb_tasks=["A", "B"])
        assert list(results.suites["mteb"].sets) == ["A"]
    assert asked == ["A", "B", "B"]  # A was there
    assert "B is left out: mteb could not get its data" in capsys.readouterr().err
