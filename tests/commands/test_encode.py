from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer

from clusterns import encode, search
from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.vectors import encode as encoding
from tests.helpers.commands import Ran, run_cli

SENTENCES = ["a river runs through the town", "music and song", "the planet is a cell", "a river"]
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


def test_the_printed_lines_open_what_was_written(corpus: Path, model: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    code, out, err = run(
        model, corpus, "--output", output, "--shard-size", 2,
        "--column", "body", "--batch-size", 2,
    )  # fmt: skip
    assert code == 0, err
    assert "5 of 5 texts were encoded in this call" in err
    assert "1 of them (20.0%) are longer than 64 tokens" in err
    assert "1 of them are empty" in err
    head, snippet = out.split("\n", 1)
    assert head == f"5 texts in 3 shards in {output}:"
    vectors = opened(snippet)
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
    assert "3 of 5 shards are missing. Encode them with --shard 0/3, 2/3." in err
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
    assert "run the same command again to continue" in err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--pooling", "cls"], "--pooling cls does not go with"),
        (["--column", "title"], "has no column 'title'"),
        (["--id-column", "title"], "has no column 'title'"),
        (["--device", "cpu", "--device", "cuda:99"], "--device cuda:99: "),
        (["--prompt-name", "subject"], "--prompt-name subject: the prompts of"),
        (["--truncate-dim", "9999"], "--truncate-dim 9999: the embeddings of"),
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


def test_prompt_and_first_numbers_reach_the_vectors(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    plain = load_model(str(tiny_bert), "mean", device="cpu")
    plain.prompts = {"title": "a title: "}
    plain.save(str(tmp_path / "m"))
    options = ["--prompt-name", "title", "--truncate-dim", 5, "--no-text"]
    code, _, err = run(
        tmp_path / "m", corpus, "--output", tmp_path / "o", "--column", "body", *options
    )
    assert code == 0, err
    expected = plain.encode([f"a title: {text}" for text in TEXTS])[:, :5]
    table = pq.read_table(tmp_path / "o" / "shard-00000.parquet")
    np.testing.assert_allclose(table["embedding"].to_pylist(), expected, atol=1e-5)
    assert table.column_names == ["id", "source", "line", "embedding"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n".join(SENTENCES) + "\n")
    return tmp_path


def test_the_function_writes_what_the_model_gives(
    place: Path, tiny_bert: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    report = encode(tiny_bert, "corpus.txt", "vectors", pooling="mean", device="cpu", quiet=True)
    assert "shard" not in capfd.readouterr().err  # what other libraries say is left alone
    assert (report.texts, report.encoded, report.missing) == (4, 4, [])
    table = pq.read_table(place / "vectors" / "shard-00000.parquet")
    assert table["text"].to_pylist() == SENTENCES
    expected = load_model(str(tiny_bert), "mean", device="cpu").encode(SENTENCES)
    np.testing.assert_allclose(table["embedding"].to_pylist(), expected, atol=1e-5)
    manifest = json.loads((place / "vectors" / "manifest.json").read_text())
    assert manifest["model"]["loading"] == {"pooling": "mean", "dtype": "float32"}
    encode(tiny_bert, "corpus.txt", "other", pooling="mean", precision="int8")
    assert "Finding the range of int8" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"corpus": []}, "pass at least one file"),
        ({"precision": "int4"}, "encode: precision = 'int4'"),
        ({"shard": "x"}, "--shard x: write i/n for part i of n, counted from 0"),
    ],
)
def test_the_function_refuses_in_one_sentence(
    options: dict[str, Any], says: str, place: Path, tiny_bert: Path
) -> None:
    with pytest.raises(UserError, match=says):
        encode(**{"model": tiny_bert, "corpus": "corpus.txt", "output": "v", "pooling": "mean",
                  **options})  # fmt: skip
    assert not (place / "v").exists()


@pytest.mark.parametrize("function", [encode, search])
def test_the_examples_run(
    function: Any, place: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = (inspect.getdoc(function) or "").split("```python\n")[1].split("```")[0]
    exec(code, {})
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "4 1 0" if function is encode else len(out.splitlines()) == 3
