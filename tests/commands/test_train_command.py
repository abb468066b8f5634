"""``clusterns train`` and ``clusterns adapt`` on the command line: messages, exit codes and what is written."""

from __future__ import annotations

import json
import resource
from pathlib import Path
from typing import Any

import pytest
import yaml
from sentence_transformers import SentenceTransformer

from clusterns.adaptation.scores import summarize
from clusterns.encoder.load import load_base
from tests.helpers.commands import LightPrograms, run_cli
from tests.helpers.texts import sentences


@pytest.fixture
def corpus(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CLUSTERNS_DATA", raising=False)
    lines = sentences(200)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*lines, "", "x", lines[0], "12 34 56"]))
    return path


def small(base: Path, **changes: Any) -> list[str]:
    values = {
        "batch_size": 16,
        "clusters": 4,
        "start_step": 2,
        "max_steps": 4,
        "eval_steps": 2,
        **changes,
    }
    return [
        "--base",
        str(base),
        *(part for k, v in values.items() for part in ("--set", f"{k}={v}")),
    ]


def test_text_in_a_model_out(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    code, out, err = run_cli("train", corpus, "--output", tmp_path / "run", *small(tiny_bert))
    assert code == 0, err
    for said in (
        "204 lines read: 200 kept", "1 exact duplicates", "Learning from 180 of 180 sentences; 20 are held out",
        "longer than max_length = 32", "step 0: heldout_halves_mrr", "step 2: clustering starts, 4 centroids",
        "step 4: heldout_halves_mrr",
    ):  # fmt: skip
        assert said in err
    assert "before" in out
    assert "\r" not in err  # no bar where there is no terminal
    assert "%|" not in err
    assert SentenceTransformer(str(tmp_path / "run" / "model")).encode("a river").shape == (32,)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["corpus"]["counts"]["kept"] == 200
    assert record["corpus"]["heldout"] == 20

    code, _, err = run_cli("train", corpus, "--output", tmp_path / "run", *small(tiny_bert))
    assert (code, "--resume" in err) == (2, True)
    code, _, err = run_cli("train", "--output", tmp_path / "run", "--resume")
    assert (code, "is finished" in err) == (0, True)
    code, out, _ = run_cli("search", tmp_path / "run", "river harbour", "--top", "3")
    assert code == 0
    assert len([line for line in out.splitlines() if "0." in line or "1.0" in line]) == 3


def test_own_scored_pairs_decide(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("river town\tharbour town\t3\nking law\tlaw king\t5\nsong cell\tplanet\t0\n")
    arguments = ["train", corpus, "--dev", dev, *small(tiny_bert)]
    code, _, err = run_cli(*arguments, "--output", tmp_path / "run")
    assert code == 0, err
    assert "step 0: dev_spearman" in err
    dev.write_text("river town\tharbour town\t3\nking law\tlaw king\tmuch\n")
    code, _, err = run_cli(*arguments, "--output", tmp_path / "other")
    assert code == 2
    assert "line 2" in err.replace("\n", " ")
    assert not (tmp_path / "other").exists()


def test_the_command_in_short(
    corpus: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into the current folder, with the short options, quietly, on a narrow terminal."""
    here = tmp_path / ("a_folder_with_a_very_long_name_" * 4)
    here.mkdir()
    settings = ["--base", str(tiny_bert), "--set", "batch_size=16", "--set", "max_steps=2"]
    monkeypatch.setattr("clusterns.console.stdout.width", 40)
    with monkeypatch.context() as patch:
        patch.chdir(here)
        code, out, err = run_cli(
            "train", corpus, "--output", ".", "--method", "simcse", "--seed", "7", "--quiet",
            *settings,
        )  # fmt: skip
    assert (code, err) == (0, "")
    assert "The model is in model:" in out.splitlines()
    recipe = yaml.safe_load((here / "recipe.yaml").read_text())
    assert (recipe["method"], recipe["seed"], recipe["dev"]) == ("simcse", 7, "none")
    _, out, err = run_cli("train", "--output", here, "--resume")
    assert "is finished" in err
    assert f'  SentenceTransformer("{here / "model"}")' in out.splitlines()


def test_a_dry_run_estimates_and_writes_nothing(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    encoder = tmp_path / "encoder"
    load_base(str(tiny_bert)).save_pretrained(str(encoder))
    for base, warned in ((encoder, True), (tiny_bert, False)):
        code, out, err = run_cli("train", corpus, "--dry-run", *small(base))
        assert code == 0, err
        assert "4 steps at" in out
        assert "GiB of memory" in out
        assert ("is known to make a good one worse" in err) is warned
        assert ("clusterns adapt" in err) is warned
    code, out, err = run_cli(
        "adapt", corpus, "--dry-run", "--base", encoder, "--set", "max_sentences=60"
    )
    assert code == 0, err
    assert "Learning from 60 of 160 sentences; 40 are held out" in err
    assert "Encoding 100 sentences takes about" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "corpus.txt", "encoder"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", "", "no usable sentence"),
        ("few.txt", "one two three four five six\n" * 3, "batch_size"),
        ("rows.jsonl", '{"text": "a b c d"}\n{"text": \n', "line 2"),
    ],
)
def test_a_bad_corpus_is_one_sentence_and_exit_code_2(
    name: str, content: str, message: str, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    code, _, err = run_cli(
        "train", tmp_path / name, "--output", tmp_path / "run", *small(tiny_bert)
    )
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_titles_of_a_csv_are_adapted_to(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    encoder, output = tmp_path / "encoder", tmp_path / "run"
    load_base(str(tiny_bert)).save_pretrained(str(encoder))
    titles = tmp_path / "titles.csv"
    kinds = ["price of a house", "song of the singer", "orbit of a planet", "goal of our team"]
    texts = [f"{kind} number {n}" for n in range(40) for kind in kinds]
    titles.write_text("id,title\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    arguments = ["adapt", titles, "--base", encoder, "--output", output]
    for more, message in (
        (["--column", "name"], "name"),
        (["--column", "title", "--for", "search"], "--document"),
        (["--column", "title", "--general", "nowhere"], "--general nowhere"),
    ):
        code, _, err = run_cli(*arguments, *more)
        assert (code, message in err) == (2, True)
        assert not output.exists()
    code, out, err = run_cli(*arguments, "--column", "title", "--min-agreement-general", "0.5")
    assert code == 0, err
    assert "agreement, general text" in err
    report = (output / "report.html").read_text()
    assert "common neighbors" in report
    assert "learning_rate" not in report, "a setting that nothing reads"
    assert "<- chosen" in err
    facts = json.loads((output / "results.json").read_text())["facts"]
    assert facts["purpose"] == "topics"
    assert summarize(facts) in out
    assert SentenceTransformer(str(output / "model")).encode(["a title"]).shape == (1, 32)
    # The same run again: the finished one is found.
    code, out, err = run_cli("adapt", "--output", output, "--resume", "--no-report")
    assert code == 0, err
    assert "is finished" in err
    assert summarize(facts) in out


CORPUS, RUN = ["train", "corpus.txt"], ["train", "corpus.txt", "--output", "run"]
REFUSED: list[tuple[list[str], str]] = [
    (["train", "missing.txt", "--output", "run"], "missing.txt"),
    (CORPUS, "--output"),
    (["train", "--output", "run"], "CORPUS"),
    ([*CORPUS, "--output", "corpus.txt"], "is a file"),
    ([*CORPUS, "--output", "full"], "not empty"),
    ([*CORPUS, "--output", "full", "--resume"], "holds no run"),
    ([*RUN, "--resume"], "there is no run"),
    ([*RUN, "--set", "clustres=3"], "Did you mean clusters"),
    ([*RUN, "--set", "batch_size"], "--set batch_size: write KEY=VALUE"),
    ([*RUN, "--set", "batch_size=x"], "batch_size"),
    ([*RUN, "--set", "temperature=-1"], "temperature = -1"),
    ([*RUN, "--set", "clusters=99", "--set", "batch_size=50"], "clusters = 99 is more than batch_size = 50"),
    ([*RUN, "--method", "simcsee"], "Did you mean simcse?"),
    ([*RUN, "--method", "whitening", "--set", "learning_rate=1e-4", "--set", "epochs=2"],
     "learning_rate, epochs: no effect with method whitening, which does not train"),
    ([*RUN, "--recipe", "nonsense"], "Choose one of"),
    ([*RUN, "--recipe", "corpus.txt"], "corpus.txt"),
    ([*RUN, "--recipe", "broken.yaml"], "Did you mean temperature"),
    ([*RUN, "--dev", "missing.csv"], "no such file"),
    ([*RUN, "--dev", "corpus.txt"], "corpus.txt"),
    ([*RUN, "--column", "2"], "corpus.txt"),
    ([*RUN, "--document", "chapter"], "no column of document"),
    ([*RUN, "--base", "no/body"], "--base minibert"),
    ([*RUN, "--base", "corpus.txt"], "corpus.txt"),
    ([*RUN, "--base", "full"], "full"),
    (["adapt", "corpus.txt", "--output", "run"], "name the sentence encoder to adapt"),
    (["adapt", "corpus.txt", "--output", "run", "--base", "minibert"], "`clusterns train`"),
    (["adapt", "corpus.txt", "--base", "minibert"], "--output"),
    (["adapt", "corpus.txt", "--output", "run", "--base", "minibert", "--set", "dev=stsb"], "no setting 'dev'"),
    (["adapt", "--output", "run", "--base", "minibert"], "name your text"),
    (["adapt", "--output", "run", "--resume"], "no run in"),
    (["quickstart", "--output", "full"], "not empty"),
    (["quickstart", "--output", "run", "--set", "clustres=3"], "Did you mean clusters"),
    (["quickstart", "--output", "run", "--set", "method=simcse"], "--set method"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED, ids=[" ".join(a) for a, _ in REFUSED])
def test_what_is_wrong_is_said_before_anything_heavy_is_loaded(
    arguments: list[str], message: str, corpus: Path, tmp_path: Path, light: LightPrograms
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    (tmp_path / "broken.yaml").write_text("temperatur: 1\n")
    found = light.run(*arguments, cwd=tmp_path)
    assert (found.code, found.out, found.heavy) == (2, "", set()), found.err
    assert message in " ".join(found.err.split())
    assert found.err.startswith("error: ")
    assert "Traceback" not in found.err
    assert not (tmp_path / "run").exists()


def test_a_broken_base_is_one_sentence(corpus: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    code, _, err = run_cli("train", corpus, "--output", tmp_path / "run", *small(broken))
    assert code == 2
    assert "broken" in err
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_one_sentence_and_the_run_can_resume(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = ["train", corpus, "--output", tmp_path / "run", *small(tiny_bert)]
    try:
        # No file may grow beyond 200 kB: the first checkpoint fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        code, _, err = run_cli(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2
    assert "cannot write" in err
    assert "Traceback" not in err
    code, _, err = run_cli(*arguments, "--resume")
    assert code == 0, err
    assert (tmp_path / "run" / "model").is_dir()
