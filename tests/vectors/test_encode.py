from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import quantize_embeddings

from clusterns import locks
from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.vectors import encode as run_module
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.settings import EncodeSettings, Partition
from clusterns.vectors.store import Store

from .conftest import contents


def run(corpus: Path, model: SentenceTransformer, output: Path, **options: Any) -> Any:
    more = {key: options.pop(key) for key in ("partition", "update") if key in options}
    settings = EncodeSettings(**{"shard_size": 40, **options})
    return encode_corpus([str(corpus)], model, output, settings, progress=False, **more)


def vectors_in(folder: Path) -> Any:
    tables = [pq.read_table(path) for path in sorted(folder.glob("shard-*.parquet"))]
    return np.array(pa.concat_tables(tables)["embedding"].to_pylist())


def test_every_row_gets_its_vector(
    corpus: Path, texts: list[str], model: SentenceTransformer, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    report = run(corpus, model, output)
    np.testing.assert_allclose(vectors_in(output), model.encode(texts), atol=1e-5)
    ids = [pq.read_table(path)["id"].to_pylist() for path in sorted(output.glob("*.parquet"))]
    assert ids == [list(range(40)), list(range(40, 80)), list(range(80, 110))]
    assert (report.texts, report.shards, report.missing) == (110, 3, [])
    assert (report.encoded, report.empty) == (110, 1)
    assert json.loads((output / "complete.json").read_text()) == {"shards": 3, "texts": 110}
    before = contents(output)
    assert run(corpus, model, output).encoded == 0
    assert contents(output) == before


def test_shards_are_on_the_disk_before_the_index_is_complete(
    corpus: Path, model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A power cut leaves no folder that says it is complete and is not."""
    complete = tmp_path / "complete.json"
    fsync, flushed = os.fsync, dict[str, bool]()

    def note(descriptor: int) -> None:
        fsync(descriptor)
        name = Path(f"/proc/self/fd/{descriptor}").readlink().name
        flushed.setdefault(name, complete.exists())

    monkeypatch.setattr(os, "fsync", note)
    run(corpus, model, tmp_path)
    assert [flushed[f"shard-{number:05d}.parquet"] for number in range(3)] == [False] * 3
    assert flushed["complete.json"]


def test_normalized(
    corpus: Path, texts: list[str], model: SentenceTransformer, tmp_path: Path
) -> None:
    run(corpus, model, tmp_path, normalize=True)
    expected = model.encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(vectors_in(tmp_path), expected, atol=1e-5)


def test_texts_get_the_document_prompt_and_queries_theirs(
    corpus: Path, texts: list[str], tiny_bert: Path, tmp_path: Path
) -> None:
    model = load_model(str(tiny_bert), "mean", device="cpu")
    model.prompts = {"query": "find: ", "document": "passage: ", "title": "a title: "}
    run(corpus, model, tmp_path / "a")
    expected = model.encode([f"passage: {text}" for text in texts])
    np.testing.assert_allclose(vectors_in(tmp_path / "a"), expected, atol=1e-5)
    model.save(str(tmp_path / "model"))
    chosen = load_model(str(tmp_path / "model"), prompt_name="title", device="cpu")
    run(corpus, chosen, tmp_path / "b")
    expected = model.encode([f"a title: {text}" for text in texts])
    np.testing.assert_allclose(vectors_in(tmp_path / "b"), expected, atol=1e-5)


def test_own_ids(model: SentenceTransformer, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("key,body\nx7,river\nx9,town\n")
    run(tmp_path / "a.csv", model, tmp_path / "out", id_column="key", shard_size=1)
    rows, vector = Store.open(tmp_path / "out").read(1)
    assert rows["id"].to_pylist() == ["x9"]
    np.testing.assert_allclose(vector, model.encode(["town"]), atol=1e-5)


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary"])
def test_fewer_bits(
    corpus: Path, texts: list[str], model: SentenceTransformer, tmp_path: Path, precision: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr(run_module, "CALIBRATION", 50)
    run(corpus, model, tmp_path / "one", precision=precision)
    expected = model.encode(texts)
    few = {"calibration_embeddings": expected[:50]} if "int" in precision else {}
    expected = quantize_embeddings(expected, precision, **few)
    found = vectors_in(tmp_path / "one")
    assert found.shape == expected.shape
    # A float that differs in its last digit can fall on the other side of a step.
    assert np.mean(found != expected) < 0.01
    # The second half is made alone, from the same ranges.
    for index in (1, 0):
        run(corpus, model, tmp_path / "two", precision=precision, partition=Partition(index, 2))
    assert contents(tmp_path / "two") == contents(tmp_path / "one")


def test_partitions_in_one_folder(corpus: Path, model: SentenceTransformer, tmp_path: Path) -> None:
    run(corpus, model, tmp_path / "whole")
    first = run(corpus, model, tmp_path / "parts", partition=Partition(1, 2))
    assert (first.encoded, first.missing) == (40, [0, 2])
    assert sorted(contents(tmp_path / "parts")) == ["manifest.json", "shard-00001.parquet"]
    second = run(corpus, model, tmp_path / "parts", partition=Partition(0, 2))
    assert (second.encoded, second.missing) == (70, [])
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_partition_is_made_by_one_process_at_a_time(
    corpus: Path, model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "WAIT", 0.1)
    writes: list[int] = []

    def meanwhile(store: Store, number: int, *arguments: Any) -> None:
        monkeypatch.setattr(Store, "write", write)
        with pytest.raises(UserError, match="part 1 of 2 is in use by process"):
            run(corpus, model, tmp_path / "out", partition=Partition(1, 2))
        run(corpus, model, tmp_path / "out", partition=Partition(0, 2))  # another may go on
        writes.append(number)
        write(store, number, *arguments)

    write = Store.write
    monkeypatch.setattr(Store, "write", meanwhile)
    assert run(corpus, model, tmp_path / "out", partition=Partition(1, 2)).missing == []
    assert writes == [1]


KILLED = """
import os, signal, sys
from pathlib import Path
from clusterns.vectors import store
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.settings import EncodeSettings
from clusterns.encoder.load import load_model

corpus, model, output = sys.argv[1:]
write, calls = store.pq.write_table, []

def write_or_die(table, path, **options):
    calls.append(path)
    if len(calls) == 2:
        path.write_bytes(b"half")
        os.kill(os.getpid(), signal.SIGKILL)
    write(table, path, **options)

store.pq.write_table = write_or_die
settings = EncodeSettings(shard_size=40)
encode_corpus([corpus], load_model(model, "mean", device="cpu"), Path(output), settings)
"""


def test_killed_and_continued_gives_the_same_bytes(
    corpus: Path, model: SentenceTransformer, tiny_bert: Path, tmp_path: Path
) -> None:
    run(corpus, model, tmp_path / "whole")
    output = tmp_path / "killed"
    command = [sys.executable, "-c", KILLED, str(corpus), str(tiny_bert), str(output)]
    dead = subprocess.run(command, capture_output=True, text=True)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    left = contents(output)
    assert "shard-00000.parquet" in left
    assert [left[name] for name in left if name.endswith(".partial")] == [b"half"]
    assert "shard-00001.parquet" not in left
    for half in output.glob(".*.partial"):
        os.utime(half, (0, 0))  # an old one
    assert run(corpus, model, output).encoded == 70
    assert contents(output) == contents(tmp_path / "whole")


def test_others_are_refused_and_nothing_changes(
    corpus: Path, model: SentenceTransformer, tiny_bert: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run(corpus, model, output, partition=Partition(0, 2))
    before = contents(output)
    other = load_model(str(tiny_bert), "cls", device="cpu")
    with pytest.raises(UserError, match="holds vectors of another model"):
        run(corpus, other, output)
    for change in (
        {"precision": "int8"},
        {"normalize": True},
        {"shard_size": 7},
        {"column": "1"},
    ):
        with pytest.raises(UserError, match="was begun with"):
            run(corpus, model, output, **change)
    corpus.write_text(corpus.read_text() + "one more\n")
    with pytest.raises(UserError, match="holds vectors of another corpus"):
        run(corpus, model, output)
    assert contents(output) == before


def test_a_shard_of_another_model_does_not_pass(
    corpus: Path, model: SentenceTransformer, tiny_bert: Path, tmp_path: Path
) -> None:
    run(corpus, model, tmp_path / "ours")
    run(corpus, load_model(str(tiny_bert), "cls", device="cpu"), tmp_path / "theirs")
    right = contents(tmp_path / "ours")
    shard = "shard-00001.parquet"
    (tmp_path / "ours" / shard).write_bytes((tmp_path / "theirs" / shard).read_bytes())
    (tmp_path / "ours" / "complete.json").unlink()
    first = run(corpus, model, tmp_path / "ours", partition=Partition(0, 2))
    assert first.missing == [1]
    assert not (tmp_path / "ours" / "complete.json").exists()
    assert run(corpus, model, tmp_path / "ours").encoded == 40
    assert contents(tmp_path / "ours") == right


def test_texts_are_kept_beside_their_vectors(
    corpus: Path, texts: list[str], model: SentenceTransformer, tmp_path: Path
) -> None:
    for name, options in {"a": {}, "c": {"text": False}}.items():
        run(corpus, model, tmp_path / name, **options)
        read = [rows for rows, _ in Store.open(tmp_path / name).blocks()]
        kept = pa.concat_tables(read).to_pydict()
        assert kept["id"] == list(range(110))
        assert kept.get("text") == (None if name == "c" else texts)


def test_another_prompt_by_default_is_another_model(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    model = load_model(str(tiny_bert), "mean", device="cpu")
    model.prompts = {"title": "title: "}
    run(corpus, model, tmp_path / "out")
    model.default_prompt_name = "title"
    with pytest.raises(UserError, match="holds vectors of another model"):
        run(corpus, model, tmp_path / "out")


def test_a_shard_that_is_damaged_or_half_written_is_made_again(
    corpus: Path, model: SentenceTransformer, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run(corpus, model, output)
    before = contents(output)
    (output / "shard-00001.parquet").write_bytes(b"")
    half = output / ".shard-00002.parquet.17.partial"
    (output / "shard-00002.parquet").rename(half)
    os.utime(half, (0, 0))
    assert run(corpus, model, output).encoded == 70
    assert contents(output) == before


def test_a_corpus_that_changes_meanwhile(
    corpus: Path, model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Store.write

    def edited(*arguments: Any) -> None:
        write(*arguments)
        corpus.write_text("other text\n")

    monkeypatch.setattr(Store, "write", edited)
    with pytest.raises(UserError, match="changed while it was encoded. Delete"):
        run(corpus, model, tmp_path / "out")
    assert not (tmp_path / "out" / "complete.json").exists()


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "there is no text in"),
        ("one", {"id_column": "id"}, "is plain text: it has no tabs, and so no column of id"),
        ("one", {"precision": "int8"}, "at least two texts"),
    ],
)
def test_what_cannot_be_encoded_leaves_nothing(
    content: str, options: Any, message: str, model: SentenceTransformer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(UserError, match=message):
        run(tmp_path / "a.txt", model, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_inside_the_corpus(
    corpus: Path, model: SentenceTransformer, tmp_path: Path
) -> None:
    with pytest.raises(UserError, match="lies in the corpus"):
        run(tmp_path, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_word_vectors_and_empty_texts(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text("cat 1 0 0.5\ndog 0 1 0\n")
    (tmp_path / "a.txt").write_text("cat dog\n\nunknown\n")
    run(tmp_path / "a.txt", load_model(str(tmp_path / "vectors.txt")), tmp_path / "out")
    assert vectors_in(tmp_path / "out").tolist() == [[0.5, 0.5, 0.25], [0, 0, 0], [0, 0, 0]]


UPDATED = """
import os, signal, sys
from pathlib import Path
import clusterns.files as files
from clusterns.encoder.load import load_model
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.settings import EncodeSettings

corpus, model, output, step = sys.argv[1:]
rename, calls = Path.rename, []

def rename_or_die(path, target):
    calls.append(path)
    if len(calls) == int(step):
        os.kill(os.getpid(), signal.SIGKILL)
    return rename(path, target)

Path.rename = rename_or_die
settings = EncodeSettings(shard_size=40)
loaded = load_model(model, "mean", device="cpu")
encode_corpus([corpus], loaded, Path(output), settings, update=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_killed_update_leaves_the_old_folder_or_the_new(
    step: int, corpus: Path, model: SentenceTransformer, tiny_bert: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run(corpus, model, output)
    corpus.write_text("a new line\n" + corpus.read_text())
    command = [sys.executable, "-c", UPDATED, str(corpus), str(tiny_bert), str(output), str(step)]
    dead = subprocess.run(command, capture_output=True, text=True)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    assert Store.open(output).texts in (110, 111)
    assert run(corpus, model, output, update=True).texts == 111
    assert Store.open(output).read(0)[0]["text"][0].as_py() == "a new line"
