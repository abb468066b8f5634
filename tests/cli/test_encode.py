from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_model
from clusterns.vectors import encode as encoding
from tests.helpers.commands import Ran, run_cli

TEXTS = ["a river", "the town " * 60, "", "music and song", "a river"]


def run(*arguments: object) -> Ran:
    return run_cli("encode", *arguments)


@pytest.fixture(scope="module")
def model(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder with a finished model."""
    run_folder = tmp_path_factory.mktemp("run")
    load_model(str(tiny_bert), "mean").save(str(run_folder / "model"))
    return run_folder


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(json.dumps({"key": n, "body": t}) for n, t in enumerate(TEXTS)))
    return path


def opened(snippet: str) -> Any:
    names: dict[str, Any] = {}
    exec(snippet, names)
    return names["vectors"]


@pytest.mark.parametrize("form", ["parquet", "npy"])
def test_the_printed_lines_open_what_was_written(
    form: str, corpus: Path, model: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    code, out, err = run(
        model, corpus, "--output", output, "--format", form, "--shard-size", 2,
        "--column", "body", "--batch-size", 2,
    )  # fmt: skip
    assert code == 0, err
    assert "5 of 5 texts were encoded in this call" in err
    assert "1 of them (20.0%) are longer than 64 tokens" in err
    assert "1 of them are empty" in err
    head, snippet = out.split("\n", 1)
    assert head == f"5 texts in 3 {form} shards in {output}:"
    vectors = opened(snippet)
    if form == "parquet":
        assert vectors["id"][:] == [0, 1, 2, 3, 4]
        vectors = vectors.with_format("numpy")["embedding"][:]
    expected = SentenceTransformer(str(model / "model"), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_shares_say_what_is_still_to_come(corpus: Path, model: Path, tmp_path: Path) -> None:
    arguments = [model, corpus, "--output", tmp_path / "out", "--shard-size", 1]
    arguments += ["--column", "body", "--id-column", "key"]
    code, out, err = run(*arguments, "--shard", "1/3")
    assert (code, out) == (0, "")
    assert "2 of 5 texts were encoded in this call" in err
    assert "3 of 5 shards are still to come, from --shard 0/3, 2/3." in err
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "3 of 5 texts were encoded in this call" in err
    assert opened(out.split("\n", 1)[1])["id"][:] == ["0", "1", "2", "3", "4"]


def test_a_stop_says_how_to_go_on(
    corpus: Path, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(encoding, "encode_corpus", stopped)
    code, _, err = run(model, corpus, "--output", tmp_path / "out")
    assert code == 130
    assert "go on with the same command" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--shard", "2/2"], "--shard 2/2: write i/n for share i of n, counted from 0"),
        (["--pooling", "cls"], "--pooling cls does not go with"),
        (["--column", "title"], "has no column 'title'"),
        (["--id-column", "title"], "has no column 'title'"),
        (["--device", "gpu"], "--device gpu: "),
        (["--device", "cpu", "--device", "cuda:99"], "--device cuda:99: "),
        (["--shard-size", "0"], "--shard-size"),
        (["--precision", "int4"], "--precision"),
        (["--dtype", "int4"], "--dtype"),
        (["--prompt-name", "subject"], "--prompt-name subject: the prompts of"),
        (["--truncate-dim", "9999"], "--truncate-dim 9999: the vectors of"),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(
    options: list[str], says: str, corpus: Path, model: Path, tmp_path: Path
) -> None:
    code, out, err = run(model, corpus, "--output", tmp_path / "out", *options)
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err
    assert not (tmp_path / "out").exists()


def test_another_model_is_refused(
    corpus: Path, model: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    arguments = [corpus, "--output", tmp_path / "out", "--column", "body"]
    assert run(model, *arguments)[0] == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    code, _, err = run(tiny_bert, *arguments, "--pooling", "cls")
    assert code == 2
    assert f"holds vectors of another model ({model}, fingerprint" in err.replace("\n", "")
    assert {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_the_model_came_as_an_option_before(corpus: Path, model: Path, tmp_path: Path) -> None:
    arguments = ["--output", tmp_path / "out", "--column", "body"]
    assert run(corpus, "--model", model, *arguments)[0] == 0
    code, _, err = run(model, corpus, *arguments)
    assert code == 0
    assert "0 of 5 texts were encoded" in err
    code, _, err = run(model, *arguments)
    assert code == 2
    assert "name the text as well: clusterns encode MODEL CORPUS --output DIR" in err


def test_quiet_leaves_the_result(corpus: Path, model: Path, tmp_path: Path) -> None:
    code, out, err = run(model, corpus, "--output", tmp_path / "o", "--column", "body", "--quiet")
    assert (code, err) == (0, "")
    assert out.startswith("5 texts in 1 parquet shards")


def test_prompt_and_first_numbers_reach_the_vectors(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    plain = load_model(str(tiny_bert), "mean", device="cpu")
    plain.prompts = {"title": "a title: "}
    plain.save(str(tmp_path / "m"))
    options = ["--prompt-name", "title", "--truncate-dim", 5, "--no-text", "--format", "npy"]
    code, _, err = run(
        tmp_path / "m", corpus, "--output", tmp_path / "o", "--column", "body", *options
    )
    assert code == 0, err
    expected = plain.encode([f"a title: {text}" for text in TEXTS])[:, :5]
    np.testing.assert_allclose(np.load(tmp_path / "o" / "shard-00000.npy"), expected, atol=1e-5)
    assert not list((tmp_path / "o").glob("texts-*"))


def test_help_teaches() -> None:
    code, out, _ = run("--help")
    assert code == 0
    for words in ("--shard", "--precision", "--id-column", "the same command again"):
        assert words in out
