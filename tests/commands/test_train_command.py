from __future__ import annotations

import gzip
import json
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from tests.helpers.commands import LightPrograms, Ran, run_cli
from tests.helpers.texts import sentences

Run = Callable[..., Ran]


@pytest.fixture
def run(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv("CLUSTERNS_DATA", raising=False)
    return run_cli


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = sentences(200)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*lines, "", "x", lines[0], "12 34 56"]))
    return path


def small(base: Path, **changes: object) -> list[str]:
    values = {
        "batch_size": 16,
        "clusters": 4,
        "start_step": 2,
        "max_steps": 4,
        "eval_steps": 2,
        **changes,
    }
    pairs = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    return ["--base", str(base), *pairs]


def test_text_in_a_model_out(run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    code, out, err = run("train", corpus, "--output", tmp_path / "run", *small(tiny_bert))
    assert code == 0, err
    assert "204 lines read: 200 kept" in err
    assert "1 exact duplicates" in err
    assert "longer than max_length = 32" in err
    assert "step 0: heldout_halves_mrr" in err
    assert "step 2: clustering starts, 4 centroids" in err
    assert "step 4: heldout_halves_mrr" in err
    assert "before" in out
    assert "\r" not in err  # no bar where there is no terminal
    assert "%|" not in err
    assert SentenceTransformer(str(tmp_path / "run" / "model")).encode("a river").shape == (32,)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["corpus"]["counts"]["kept"] == 200
    assert record["corpus"]["heldout"] == 20

    code, _, err = run("train", corpus, "--output", tmp_path / "run", *small(tiny_bert))
    assert (code, "--resume" in err) == (2, True)
    code, _, err = run("train", "--output", tmp_path / "run", "--resume")
    assert (code, "is finished" in err) == (0, True)
    code, out, _ = run("search", tmp_path / "run", "river harbour", "--top", "3")
    assert code == 0
    assert len([line for line in out.splitlines() if "0." in line or "1.0" in line]) == 3


def test_own_scored_pairs_decide(run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    dev = tmp_path / "dev.tsv"
    dev.write_text("river town\tharbour town\t3\nking law\tlaw king\t5\nsong cell\tplanet\t0\n")
    code, _, err = run(
        "train", corpus, "--output", tmp_path / "run", "--dev", dev, *small(tiny_bert)
    )
    assert code == 0, err
    assert "step 0: dev_spearman" in err
    dev.write_text("river town\tharbour town\t3\nking law\tlaw king\tmuch\n")
    code, _, err = run(
        "train", corpus, "--output", tmp_path / "other", "--dev", dev, *small(tiny_bert)
    )
    assert code == 2
    assert "line 2" in err.replace("\n", " ")
    assert not (tmp_path / "other").exists()


def test_the_command_in_short(run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    """Into the current folder, with the short options, quietly, on a narrow terminal."""
    here = tmp_path / ("a_folder_with_a_very_long_name_" * 4)
    here.mkdir()
    settings = ["--base", str(tiny_bert), "--set", "batch_size=16", "--set", "max_steps=2"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setattr("clusterns.console.stdout.width", 40)
        code, out, err = run(
            "train", corpus, "--output", ".", "--method", "simcse", "--seed", "7", "--quiet",
            *settings,
        )  # fmt: skip
    assert (code, err) == (0, "")
    assert "The model is in model:" in out.splitlines()
    recipe = yaml.safe_load((here / "recipe.yaml").read_text())
    assert (recipe["method"], recipe["seed"], recipe["dev"]) == ("simcse", 7, "none")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("clusterns.console.stdout.width", 40)
        _, out, err = run("train", "--output", here, "--resume")
    assert "is finished" in err
    assert f'  SentenceTransformer("{here / "model"}")' in out.splitlines()


def test_a_base_that_embeds_sentences_already_is_talked_about(
    run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    load_base(str(tiny_bert)).save_pretrained(str(tmp_path / "encoder"))
    for base, said in ((tmp_path / "encoder", True), (tiny_bert, False)):
        code, _, err = run("train", corpus, "--dry-run", *small(base))
        assert code == 0, err
        assert ("is known to make a good one worse" in err) is said


def test_a_dry_run_estimates_and_writes_nothing(
    run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    code, out, err = run("train", corpus, "--dry-run", *small(tiny_bert))
    assert code == 0, err
    assert "4 steps at" in out
    assert "GiB of memory" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "corpus.txt"]


def test_an_edited_file_is_read_again(run: Run, corpus: Path, tiny_bert: Path) -> None:
    run("train", corpus, "--dry-run", *small(tiny_bert))
    corpus.write_text(corpus.read_text().replace("river", "brook"))
    _, _, err = run("train", corpus, "--dry-run", *small(tiny_bert))
    assert "204 lines read" in err


BAD_FILES: dict[str, tuple[str, bytes, str]] = {
    "empty": ("empty.txt", b"", "no usable sentence"),
    "binary": ("binary.txt", b"some words here\n\x00\x01\x02" * 50, "NUL"),
    "latin-1": ("latin.txt", "le café est fermé aujourd'hui\n".encode("latin-1") * 9, "UTF-8"),
    "broken gzip": ("cut.txt.gz", gzip.compress(b"some words here\n" * 999)[:-30], "cut.txt.gz"),
    "no column": ("table.csv", b"a,b\n1,2\n", "column"),
    "few": ("few.txt", b"one two three four five six\n" * 3, "batch_size"),
    "broken json": ("rows.jsonl", b'{"text": "a b c d"}\n{"text": \n', "line 2"),
}


@pytest.mark.parametrize("case", BAD_FILES.values(), ids=BAD_FILES.keys())
def test_a_bad_corpus_is_one_sentence_and_exit_code_2(
    run: Run, tiny_bert: Path, tmp_path: Path, case: tuple[str, bytes, str]
) -> None:
    name, content, message = case
    (tmp_path / name).write_bytes(content)
    code, _, err = run("train", tmp_path / name, "--output", tmp_path / "run", *small(tiny_bert))
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_one_line_of_100_mb(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    with long.open("wb") as file:
        for _ in range(100):
            file.write(b"word " * 200_000)
    code, _, err = run("train", long, "--output", tmp_path / "run", *small(tiny_bert))
    assert code == 2
    assert "line 1" in err


BAD_CALLS: dict[str, tuple[list[str], str]] = {
    "missing file": (["nowhere.txt", "--output", "run"], "nowhere.txt"),
    "no output": (["corpus.txt"], "--output"),
    "no corpus": (["--output", "run"], "CORPUS"),
    "unknown key": (
        ["corpus.txt", "--output", "run", "--set", "clustres=3"],
        "Did you mean clusters",
    ),
    "out of range": (
        ["corpus.txt", "--output", "run", "--set", "temperature=-1"],
        "temperature = -1",
    ),
    "unknown recipe": (["corpus.txt", "--output", "run", "--recipe", "nonsense"], "choose one of"),
    "unknown base": (["corpus.txt", "--output", "run", "--base", "no/body"], "--base minibert"),
    "no run to resume": (["corpus.txt", "--output", "run", "--resume"], "there is no run"),
    "too many clusters": (
        ["corpus.txt", "--output", "run", "--set", "clusters=99", "--set", "batch_size=50"],
        "clusters = 99 is more than batch_size = 50",
    ),
    "folder in use": (["corpus.txt", "--output", "."], "not empty"),
    "missing pairs": (["corpus.txt", "--output", "run", "--dev", "no.csv"], "no such file"),
    "no STS-B": (
        ["corpus.txt", "--output", "run", "--recipe", "simcse-bert-base", "--base", "minibert"],
        "to be validated on STS-B dev",
    ),
}


@pytest.mark.parametrize("case", BAD_CALLS.values(), ids=BAD_CALLS.keys())
def test_a_bad_call_is_one_sentence_and_exit_code_2(
    run: Run, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    case: tuple[list[str], str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    arguments, message = case
    code, _, err = run("train", *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "missing.txt", "--output", "run"],
        ["train", "corpus.txt", "--output", "full"],
        ["train", "corpus.txt", "--output", "full", "--resume"],
        ["train", "corpus.txt", "--output", "run", "--set", "clustres=3"],
        ["train", "corpus.txt", "--output", "run", "--set", "batch_size"],
        ["train", "corpus.txt", "--output", "run", "--recipe", "nonsense"],
        ["train", "corpus.txt", "--output", "run", "--recipe", "corpus.txt"],
        ["train", "corpus.txt", "--output", "run", "--dev", "missing.csv"],
        ["train", "corpus.txt", "--output", "run", "--dev", "corpus.txt"],
        ["train", "corpus.txt", "--output", "run", "--column", "2"],
        ["train", "corpus.txt", "--output", "run", "--document", "chapter"],
        ["train", "corpus.txt", "--output", "run", "--base", "corpus.txt"],
        ["train", "corpus.txt", "--output", "run", "--base", "full"],
        ["train", "corpus.txt"],
        ["train", "--output", "run"],
        ["quickstart", "--output", "full"],
        ["quickstart", "--output", "run", "--set", "clustres=3"],
        ["quickstart", "--output", "run", "--set", "method=simcse"],
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_before_anything_heavy_is_loaded(
    arguments: list[str], corpus: Path, tmp_path: Path, light: LightPrograms
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("x")
    found = light.run(*arguments, cwd=tmp_path)
    assert (found.code, found.out, found.heavy) == (2, "", set()), found.err
    assert found.err.startswith("error: ")
    assert not (tmp_path / "run").exists()


def test_a_broken_base_is_one_sentence(run: Run, corpus: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{")
    code, _, err = run("train", corpus, "--output", tmp_path / "run", *small(broken))
    assert code == 2
    assert "broken" in err
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_one_sentence_and_the_run_can_go_on(
    run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = ["train", corpus, "--output", tmp_path / "run", *small(tiny_bert)]
    try:
        # No file may grow beyond 200 kB: the first checkpoint fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        code, _, err = run(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert code == 2
    assert "cannot write" in err
    assert "Traceback" not in err
    code, _, err = run(*arguments, "--resume")
    assert code == 0, err
    assert (tmp_path / "run" / "model").is_dir()
