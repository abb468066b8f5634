from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from typer.main import get_command

from clusterns import encode, search
from clusterns.cli import app
from clusterns.encoder.load import load_model
from clusterns.errors import UserError

TEXTS = ["a river runs through the town", "music and song", "the planet is a cell", "a river"]


@pytest.fixture
def place(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS) + "\n")
    return tmp_path


def test_encode_writes_what_the_model_gives(place: Path, tiny_bert: Path) -> None:
    report = encode(tiny_bert, "corpus.txt", "vectors", pooling="mean", device="cpu", quiet=True)
    assert (report.texts, report.encoded, report.missing) == (4, 4, [])
    table = pq.read_table(place / "vectors" / "shard-00000.parquet")
    assert table["text"].to_pylist() == TEXTS
    expected = load_model(str(tiny_bert), "mean", device="cpu").encode(TEXTS)
    np.testing.assert_allclose(table["embedding"].to_pylist(), expected, atol=1e-5)
    manifest = json.loads((place / "vectors" / "manifest.json").read_text())
    assert manifest["model"]["loading"] == {"pooling": "mean", "dtype": "float32"}


def test_encode_takes_several_files_and_is_shared(place: Path, tiny_bert: Path) -> None:
    (place / "more.txt").write_text("one more\n")
    options: dict[str, Any] = {"pooling": "mean", "shard_size": 2, "quiet": True}
    files = ["corpus.txt", place / "more.txt"]
    assert encode(tiny_bert, files, "v", shard="1/2", **options).missing == [0, 2]
    assert encode(tiny_bert, files, "v", **options).texts == 5


def test_search_finds_in_text_and_in_vectors(place: Path, tiny_bert: Path) -> None:
    encode(tiny_bert, "corpus.txt", "vectors", pooling="mean", quiet=True)
    found = search(tiny_bert, "music and song", "vectors", top=2, quiet=True)
    assert (found[0].text, found[0].row, len(found)) == ("music and song", 1, 2)
    again = search(tiny_bert, "music and song", "corpus.txt", pooling="mean", top=2, quiet=True)
    assert [hit.row for hit in again] == [hit.row for hit in found]


def test_search_puts_the_query_s_own_prompt_before_it(place: Path, tiny_bert: Path) -> None:
    model = load_model(str(tiny_bert), "mean", device="cpu")
    model.prompts = {"query": "the planet is a cell ", "document": ""}
    model.save("asymmetric")
    hit, *_ = search("asymmetric", "a", "corpus.txt", top=4, quiet=True)
    vector, text = model.encode(
        ["the planet is a cell a", str(hit.text)], normalize_embeddings=True
    )
    assert hit.score == pytest.approx(float(vector @ text), abs=1e-5)


def test_quiet_says_nothing(
    place: Path, tiny_bert: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    SentenceTransformer(str(tiny_bert)).save("saved")
    capfd.readouterr()
    encode("saved", "corpus.txt", "a", quiet=True)
    assert "shard" not in capfd.readouterr().err  # what other libraries say is left alone
    encode("saved", "corpus.txt", "b")
    assert "shard-00000.parquet: 4 texts" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"corpus": []}, "name at least one file"),
        ({"corpus": "none.txt"}, "none.txt"),
        ({"precision": "int4"}, "encode: precision = 'int4'"),
        ({"shard_size": 0}, "encode: shard_size = 0"),
        ({"batch_size": 0}, "batch_size = 0"),
        ({"dtype": "int8"}, "encode: dtype = 'int8'"),
        ({"device": "gpu"}, "--device gpu"),
        ({"shard": "x"}, "--shard x"),
        ({"pooling": None}, "--pooling"),
    ],
)
def test_mistakes_are_one_sentence(
    options: dict[str, Any], says: str, place: Path, tiny_bert: Path
) -> None:
    with pytest.raises(UserError, match=says):
        encode(**{"model": tiny_bert, "corpus": "corpus.txt", "output": "v", "pooling": "mean",
                  **options})  # fmt: skip
    assert not (place / "v").exists()


@pytest.mark.parametrize("function", [encode, search])
def test_functions_and_commands_have_the_same_defaults(function: Any) -> None:
    """A setting that only one of them has, or another default, would be a surprise."""
    command = get_command(app).commands[function.__name__]  # type: ignore[attr-defined]
    cli = {parameter.name.rstrip("_"): parameter.default for parameter in command.params}
    python = {
        name: parameter.default
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not inspect.Parameter.empty
    }
    only_cli = {"help", "verbose", "json", "model", "output", "query"}
    # Programs that are handed out are calls of the command.
    only_cli |= {"corpus", "on", "workers", "gpus", "slurm"} if function is encode else set()
    assert set(cli) - only_cli == set(python)
    for name, default in python.items():
        asked = getattr(cli[name], "value", cli[name])
        assert (asked or None) == (default or None), name


@pytest.mark.parametrize("function", [encode, search])
def test_the_examples_run(function: Any, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = inspect.getdoc(function).split("```python\n")[1].split("```")[0]
    exec(code, {})
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "4 1 0" if function is encode else len(out.splitlines()) == 3
