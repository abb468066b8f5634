"""What needs no model answers before one could be loaded.

Each command runs in a fork of an interpreter that has imported the command line only.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.cli import COMMANDS
from tests.helpers.commands import LightPrograms

# The shell is named, not found out: whoever runs the tests may have none of typer's.
SHELL = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a text, a recipe with a mistake, a run folder, and a folder of no model."""
    folder = tmp_path_factory.mktemp("quick")
    (folder / "corpus.txt").write_text("one text\nanother text\n" * 100)
    (folder / "broken.yaml").write_text("temperatur: 1\n")
    (folder / "empty").mkdir()
    (folder / "old" / "model").mkdir(parents=True)
    (folder / "old" / "run.json").write_text("{}")
    return folder


ANSWERS = [
    (["--help"], "Usage: clusterns"),
    ([], "Usage: clusterns"),
    (["--version"], "clusterns "),
    (["--show-completion", "bash"], "complete"),
    (["methods"], "simcse"),
    (["recipes"], "cpu-small"),
    (["recipes", "default"], "batch_size"),
    (["recipes", "--keys"], "learning_rate"),
    (["lab", "list"], "All systems"),
    (["lab", "run", "--help"], "--budget"),
    (["lab", "table", "--help"], "--format"),
    (["lab", "figures", "--help"], "--lab"),
    (["lab", "search", "--help"], "--trials"),
    *(
        ([command, "--help"], f"Usage: clusterns {command}")
        for command in COMMANDS
    ),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), ANSWERS, ids=[" ".join(a) for a, _ in ANSWERS])
def test_what_is_answered_without_anything_heavy(
    arguments: list[str], says: str, place: Path, light: LightPrograms
) -> None:
    code, out, said, heavy = light.run(*arguments, cwd=place, **SHELL)
    assert says in out + said
    assert code == (0 if arguments else 2), said
    assert not heavy


def test_completion_names_the_commands(place: Path, light: LightPrograms) -> None:
    _, out, said, heavy = light.run(
        cwd=place,
        **SHELL,
        _CLUSTERNS_COMPLETE="complete_bash",
        COMP_WORDS="clusterns en",
        COMP_CWORD="1",
    )
    assert out.split() == ["encode"], said
    assert not heavy


# Those of train, adapt and quickstart: tests/commands/test_train_command.py.
REFUSALS = [
    (["fly"], "No such command 'fly'"),
    (["train", "corpus.txt", "--output", "old"], "--resume"),
    (["recipes", "none"], "none"),
    (["encode", "minibert", "--output", "out"], "Missing argument 'CORPUS'"),
    (["encode", "minibert", "corpus.txt"], "--output"),
    (["encode", "minibert", "corpus.txt", "--output", "out"], "--pooling"),
    (["encode", "none", "corpus.txt", "--output", "out"], "'none' is not a run folder"),
    (["encode", "minibert", "none.txt", "--output", "out", "--pooling", "mean"], "none.txt"),
    (["encode", "minibert", "corpus.txt", "--output", "corpus.txt", "--pooling", "mean"], "is a file"),
    (["encode", "minibert", "corpus.txt", "--output", "out", "--pooling", "sum"], "--pooling"),
    (["encode", "minibert", "corpus.txt", "--output", "out", "--shard", "4/4"], "--shard 4/4"),
    (["encode", "minibert", "corpus.txt", "--output", "out", "--dtype", "int4"], "--dtype"),
    (["encode", "minibert", "corpus.txt", "--output", "out", "--device", "gpu"], "--device gpu"),
    (["encode", "old/model", "corpus.txt", "--output", "out", "--on", "ray", "--shard", "0/2"], "--shard"),
    (["search", "old", "a query"], "no finished run"),
    (["search", "minibert", "", "corpus.txt", "--pooling", "mean"], "the query is empty"),
    (["search", "minibert", "a query", "none.txt", "--pooling", "mean"], "none.txt"),
    (["search", "minibert", "a query", "corpus.txt"], "--pooling"),
    (["inspect", "minibert", "a text"], "--pooling"),
    (["inspect", "none", "a text"], "'none' is not a run folder"),
    (["evaluate", "minibert", "--output", "a.xls", "--pooling", "mean"], "a.xls"),
    (["evaluate", "minibert", "--suite", "none"], "--suite"),
    (["evaluate", "none"], "'none' is not a run folder"),
    (["evaluate", "minibert", "--pairs", "none.csv", "--pooling", "mean"], "none.csv"),
    (["compare", "none"], "none"),
    (["compare", "old", "--output", "a.xls"], "a.xls"),
    (["similar", "minibert", "none.txt", "--pooling", "mean"], "none.txt"),
    (["similar", "minibert", "corpus.txt", "--pairs", "a.xls"], "a.xls"),
    (["similar", "none", "corpus.txt"], "'none' is not a run folder"),
    (["topics", "minibert", "none.txt", "--pooling", "mean"], "none.txt"),
    (["topics", "none", "corpus.txt"], "'none' is not a run folder"),
    (["explore", "minibert", "--pooling", "mean"], "no finished run"),
    (["report", "none"], "none holds no run"),
    (["explore", "none", "corpus.txt"], "'none' is not a run folder"),
    (["explore", "minibert", "none.txt", "--pooling", "mean"], "none.txt"),
    (["data", "fetch", "--url", "x"], "--url"),
    (["lab", "run", "none"], "there is no experiment 'none'"),
    (["lab", "run", "broken.yaml"], "there is no setting 'temperatur'"),
    (["lab", "run", "main", "--corpus", "corpus.txt", "--row", "None"], "--row None"),
    (["lab", "run", "main", "--corpus", "corpus.txt", "--slurm", "x"], "--slurm x: write KEY=VALUE"),
    (["lab", "run", "main", "--corpus", "corpus.txt", "--on", "moon"], "--on"),
    (["lab", "trial", "empty"], "is not a trial of a lab"),
    (["lab", "search", "none", "--corpus", "corpus.txt"], "there is no method 'none'"),
    (["lab", "search", "average", "--corpus", "corpus.txt"], "average is not trained"),
    (["lab", "table", "none"], "there is no experiment 'none'"),
    (["lab", "table", "main", "--output", "a.xls"], "a.xls: tables are written as"),
    (["lab", "table", "main", "--corpus", "corpus.txt"], "has no result of this experiment"),
    (["lab", "figures", "main", "--corpus", "corpus.txt"], "has no result of this experiment"),
    (["explore", "minibert", "corpus.txt", "--against", "base", "--pooling", "mean"], "--against base"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), REFUSALS, ids=[" ".join(a) for a, _ in REFUSALS])
def test_what_is_refused_without_anything_heavy(
    arguments: list[str], says: str, place: Path, light: LightPrograms
) -> None:
    before = sorted(place.rglob("*"))
    code, out, said, heavy = light.run(*arguments, cwd=place, **SHELL)
    assert code == 2, said
    assert says in " ".join(said.split())
    assert "Traceback" not in said
    assert out == ""
    assert not heavy
    assert sorted(place.rglob("*")) == before
