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
    """A folder with texts, a recipe with a mistake, a run folder, and folders of no model."""
    folder = tmp_path_factory.mktemp("quick")
    (folder / "corpus.txt").write_text("one text\nanother text\n" * 100)
    (folder / "broken.yaml").write_text("temperatur: 1\n")
    (folder / "bad.csv").write_text("sentence1,sentence2,score\na,b,much\n")
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "mine.txt").write_text("x")
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
    *(([command, "--help"], f"Usage: clusterns {command}") for command in COMMANDS),
]


@pytest.mark.parametrize(("arguments", "says"), ANSWERS, ids=[" ".join(a) for a, _ in ANSWERS])
def test_what_is_answered_without_anything_heavy(
    arguments: list[str], says: str, place: Path, light: LightPrograms
) -> None:
    code, out, err, heavy = light.run(*arguments, cwd=place, **SHELL)
    assert says in out + err
    assert code == (0 if arguments else 2), err
    assert not heavy


def test_completion_names_the_commands(place: Path, light: LightPrograms) -> None:
    words = {"COMP_WORDS": "clusterns en", "COMP_CWORD": "1"}
    done = light.run(cwd=place, **SHELL, _CLUSTERNS_COMPLETE="complete_bash", **words)
    assert done.out.split() == ["encode"], done.err
    assert not done.heavy


TRAIN = ["train", "corpus.txt", "--output", "run"]
ADAPT = ["adapt", "corpus.txt", "--output", "run"]
ENCODE = ["encode", "minibert", "corpus.txt", "--output", "out"]
MEAN = ["--pooling", "mean"]
EVALUATE = ["evaluate", "minibert", *MEAN]
LAB = ["--corpus", "corpus.txt"]
REFUSALS = [
    (["fly"], "No such command 'fly'"),
    (["train", "missing.txt", "--output", "run"], "missing.txt"),
    (["train", "corpus.txt"], "--output"),
    (["train", "--output", "run"], "CORPUS"),
    (["train", "corpus.txt", "--output", "corpus.txt"], "is a file"),
    (["train", "corpus.txt", "--output", "full"], "not empty"),
    (["train", "corpus.txt", "--output", "full", "--resume"], "does not contain a run"),
    (["train", "corpus.txt", "--output", "old"], "--resume"),
    ([*TRAIN, "--resume"], "there is no run"),
    ([*TRAIN, "--set", "clustres=3"], "Did you mean clusters"),
    ([*TRAIN, "--set", "batch_size"], "--set batch_size: write KEY=VALUE"),
    ([*TRAIN, "--set", "batch_size=x"], "batch_size"),
    ([*TRAIN, "--set", "temperature=-1"], "temperature = -1"),
    ([*TRAIN, "--set", "clusters=99", "--set", "batch_size=50"], "clusters = 99 is more than batch_size = 50"),
    ([*TRAIN, "--method", "simcsee"], "Did you mean simcse?"),
    ([*TRAIN, "--method", "whitening", "--set", "learning_rate=1e-4", "--set", "epochs=2"],
     "epochs, learning_rate: method whitening does not train"),
    ([*TRAIN, "--recipe", "nonsense"], "Choose one of"),
    ([*TRAIN, "--recipe", "corpus.txt"], "corpus.txt"),
    ([*TRAIN, "--recipe", "broken.yaml"], "Did you mean temperature"),
    ([*TRAIN, "--dev", "missing.csv"], "does not exist"),
    ([*TRAIN, "--dev", "corpus.txt"], "corpus.txt"),
    ([*TRAIN, "--column", "2"], "corpus.txt"),
    ([*TRAIN, "--document", "chapter"], "no column of document"),
    ([*TRAIN, "--base", "no/body"], "--base minibert"),
    ([*TRAIN, "--base", "corpus.txt"], "corpus.txt"),
    ([*TRAIN, "--base", "full"], "full"),
    (ADAPT, "choose the sentence encoder to adapt"),
    ([*ADAPT, "--base", "minibert"], "`clusterns train`"),
    ([*ADAPT, "--base", "minibert", "--set", "dev=stsb"], "no setting 'dev'"),
    (["adapt", "--output", "run", "--base", "minibert"], "pass the text"),
    (["adapt", "--output", "run", "--resume"], "no run in"),
    (["quickstart", "--output", "full"], "not empty"),
    (["quickstart", "--output", "run", "--set", "clustres=3"], "Did you mean clusters"),
    (["quickstart", "--output", "run", "--set", "method=simcse"], "--set method"),
    (["methods", "none"], "unknown method or part 'none'"),
    (["recipes", "none"], "none"),
    (["recipes", "default", "--keys"], "leave out --keys or default"),
    (["encode", "minibert", "--output", "out"], "Missing argument 'CORPUS'"),
    (["encode", "minibert", "corpus.txt"], "--output"),
    (ENCODE, "--pooling"),
    (["encode", "none", "corpus.txt", "--output", "out"], "'none' is not a run folder"),
    (["encode", "minibert", "none.txt", "--output", "out", *MEAN], "none.txt"),
    (["encode", "minibert", "corpus.txt", "--output", "corpus.txt", *MEAN], "is a file"),
    ([*ENCODE, "--pooling", "sum"], "--pooling"),
    ([*ENCODE, "--shard", "4/4"], "--shard 4/4"),
    ([*ENCODE, "--dtype", "int4"], "--dtype"),
    ([*ENCODE, "--precision", "int4"], "--precision"),
    ([*ENCODE, "--shard-size", "0"], "--shard-size"),
    ([*ENCODE, "--device", "gpu"], "--device gpu: a device is cpu"),
    ([*ENCODE, "--on", "ray", "--shard", "0/2"], "--shard"),
    (["search", "old", "a query"], "old is not a finished run"),
    (["search", "minibert", "", "corpus.txt", *MEAN], "the query is empty"),
    (["search", "minibert", "a query", "none.txt", *MEAN], "file or folder none.txt does not exist"),
    (["search", "minibert", "a query", "corpus.txt"], "--pooling"),
    (["search", "minibert", "a query", "corpus.txt", *MEAN, "--top", "0"], "--top"),
    (["search", "minibert", "a query", "corpus.txt", *MEAN, "--where", "1999"], "write COLUMN=VALUE"),
    (["inspect", "minibert", "a text"], "--pooling"),
    (["inspect", "none", "a text"], "'none' is not a run folder"),
    (["evaluate", "minibert", "--suite", "none"], "--suite"),
    (["evaluate", "none"], "'none' is not a run folder"),
    ([*EVALUATE, "--output", "a.xls"], "--output a.xls: the extension must be .json or .md or .tex"),
    ([*EVALUATE, "--pairs", "none.csv"], "none.csv"),
    ([*EVALUATE, "--pairs", "bad.csv"], "bad.csv"),
    ([*EVALUATE, "--data", "no/folder"], "is not a folder"),
    ([*EVALUATE, "--suite", "transfer", "--data", "."], "Not found: MR"),
    (["compare", "none"], "none"),
    (["compare", "empty"], "has no results"),
    (["compare", "old", "--output", "a.xls"], "a.xls"),
    (["similar", "minibert", "none.txt", *MEAN], "none.txt"),
    (["similar", "minibert", "corpus.txt", "--pairs", "a.xls"], "--pairs a.xls: the extension must be .csv"),
    (["similar", "none", "corpus.txt"], "'none' is not a run folder"),
    (["topics", "minibert", "none.txt", *MEAN], "none.txt"),
    (["topics", "minibert", "corpus.txt", "--output", "a.txt"], "--output a.txt: the extension must be .csv"),
    (["topics", "minibert", "corpus.txt", *MEAN, "--assign", "gone.txt"], "gone.txt"),
    (["topics", "none", "corpus.txt"], "'none' is not a run folder"),
    (["explore", "minibert", *MEAN], "minibert is not a finished run"),
    (["explore", "none", "corpus.txt"], "'none' is not a run folder"),
    (["explore", "minibert", "none.txt", *MEAN], "none.txt"),
    (["explore", "minibert", "corpus.txt", "--against", "base", *MEAN], "--against base"),
    (["report", "none"], "none is not a run folder"),
    (["data", "fetch", "--url", "x"], "--url"),
    (["lab", "run", "none"], "there is no experiment 'none'"),
    (["lab", "run", "broken.yaml"], "there is no setting 'temperatur'"),
    (["lab", "run", "main", *LAB, "--row", "None"], "--row None"),
    (["lab", "run", "main", *LAB, "--slurm", "x"], "--slurm x: write KEY=VALUE"),
    (["lab", "run", "main", *LAB, "--on", "moon"], "--on"),
    (["lab", "trial", "empty"], "is not a trial of a lab"),
    (["lab", "search", "none", *LAB], "there is no method 'none'"),
    (["lab", "search", "average", *LAB], "average is not trained"),
    (["lab", "table", "none"], "there is no experiment 'none'"),
    (["lab", "table", "main", "--output", "a.xls"], "--output a.xls: the extension must be .md"),
    (["lab", "table", "main", *LAB], "has no result of this experiment"),
    (["lab", "figures", "main", *LAB], "has no result of this experiment"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "says"), REFUSALS, ids=[" ".join(a) for a, _ in REFUSALS])
def test_what_is_refused_without_anything_heavy(
    arguments: list[str], says: str, place: Path, light: LightPrograms
) -> None:
    before = sorted(place.rglob("*"))
    nowhere = {"HF_HUB_CACHE": str(place), "CLUSTERNS_DATA": ""}
    code, out, err, heavy = light.run(*arguments, cwd=place, **SHELL, **nowhere)
    assert (code, out) == (2, ""), err
    assert says in " ".join(err.split())
    assert "Traceback" not in err
    assert not heavy
    assert sorted(place.rglob("*")) == before
