from __future__ import annotations

import gzip
import json
import random
import resource
from collections.abc import Callable
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from clusterns.cli import main

WORDS = "river town music cell planet engine king harbour winter protein market song law".split()
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Run:
    """Run the program in this process; gives exit code, stdout and stderr."""
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("CLUSTERNS_DATA", raising=False)

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["clusterns", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    generator = random.Random(0)
    lines = [" ".join(generator.choices(WORDS, k=generator.randint(6, 12))) for _ in range(200)]
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


def test_a_dry_run_estimates_and_writes_nothing(
    run: Run, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    code, _, err = run("train", corpus, "--dry-run", *small(tiny_bert))
    assert code == 0, err
    assert "4 steps at" in err
    assert "GiB of memory" in err
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
