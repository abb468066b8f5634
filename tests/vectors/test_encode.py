from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import quantize_embeddings

from clusterns import locks
from clusterns.console import bar
from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.vectors import encode as run_module
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.settings import EncodeSettings, Partition
from clusterns.vectors.store import Store
from tests.helpers.commands import run_apart
from tests.helpers.killing import die_at

from .conftest import contents


def run(corpus: Path, model: SentenceTransformer, output: Path, **options: Any) -> Any:
    more = {key: options.pop(key) for key in ("partition", "update") if key in options}
    settings = EncodeSettings(**{"shard_size": 40, **options})
    return encode_corpus([str(corpus)], model, output, settings, progress=False, **more)


def vectors_in(folder: Path) -> Any:
    tables = [pq.read_table(path) for path in sorted(folder.glob("shard-*.parquet"))]
    return np.array(pa.concat_tables(tables)["embedding"].to_pylist())


@pytest.mark.parametrize("normalize", [False, True])
def test_every_row_gets_its_vector(normalize, corpus, texts, model, tmp_path):
    output = tmp_path / "out"
    report = run(corpus, model, output, normalize=normalize)
    expected = model.encode(texts, normalize_embeddings=normalize)
    np.testing.assert_allclose(vectors_in(output), expected, atol=1e-5)
    ids = [pq.read_table(path)["id"].to_pylist() for path in sorted(output.glob("*.parquet"))]
    assert ids == [list(range(40)), list(range(40, 80)), list(range(80, 110))]
    assert (report.texts, report.shards, report.missing) == (110, 3, [])
    assert (report.encoded, report.empty) == (110, 1)
    assert json.loads((output / "complete.json").read_text()) == {"shards": 3, "texts": 110}
    before = contents(output)
    assert run(corpus, model, output, normalize=normalize).encoded == 0
    assert contents(output) == before


def test_shards_are_on_the_disk_before_the_index_is_complete(corpus, model, tmp_path, monkeypatch):
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


def test_texts_get_the_document_prompt_and_queries_theirs(corpus, texts, tiny_bert, tmp_path):
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


@pytest.mark.parametrize("precision", ["int8", "uint8", "binary", "ubinary"])
def test_fewer_bits(corpus, texts, model, tmp_path, precision, monkeypatch):
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


def test_partitions_in_one_folder(corpus, model, tmp_path):
    run(corpus, model, tmp_path / "whole")
    first = run(corpus, model, tmp_path / "parts", partition=Partition(1, 2))
    assert (first.encoded, first.missing) == (40, [0, 2])
    assert sorted(contents(tmp_path / "parts")) == ["manifest.json", "shard-00001.parquet"]
    second = run(corpus, model, tmp_path / "parts", partition=Partition(0, 2))
    assert (second.encoded, second.missing) == (70, [])
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


def test_a_partition_is_made_by_one_process_at_a_time(corpus, model, tmp_path, monkeypatch):
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


def encode_and_die(corpus, model, output, name, step, update):
    loaded = load_model(str(model), "mean", device="cpu")
    die_at(step, (Path, name))
    run(corpus, loaded, output, update=update)


def killed(name, step, corpus, model, output, update=False):
    """Encode in a process that kills itself at the ``step``-th ``replace`` or ``rename`` of a file."""
    arguments = [corpus, model, output, name, step, update]
    ran = run_apart(encode_and_die, *arguments, folder=output.with_name("streams"))
    assert ran.code == -signal.SIGKILL, ran.err


def test_killed_and_continued_gives_the_same_bytes(corpus, model, tiny_bert, tmp_path):
    run(corpus, model, tmp_path / "whole")
    output = tmp_path / "killed"
    killed("replace", 1, corpus, tiny_bert, output)
    left = contents(output)
    assert "shard-00000.parquet" in left
    assert len([name for name in left if name.endswith(".partial")]) == 1
    assert "shard-00001.parquet" not in left
    for half in output.glob(".*.partial"):
        os.utime(half, (0, 0))  # an old one
    assert run(corpus, model, output).encoded == 70
    assert contents(output) == contents(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("step", [0, 1, 2])
def test_a_killed_update_leaves_the_old_folder_or_the_new(step, corpus, model, tiny_bert, tmp_path):
    output = tmp_path / "out"
    run(corpus, model, output)
    corpus.write_text("a new line\n" + corpus.read_text())
    killed("rename", step, corpus, tiny_bert, output, update=True)
    assert Store.open(output).texts in (110, 111)
    assert run(corpus, model, output, update=True).texts == 111
    assert Store.open(output).read(0)[0]["text"][0].as_py() == "a new line"


def test_others_are_refused_and_nothing_changes(corpus, model, tiny_bert, tmp_path):
    output = tmp_path / "out"
    run(corpus, model, output, partition=Partition(0, 2))
    before = contents(output)
    other = load_model(str(tiny_bert), "cls", device="cpu")
    with pytest.raises(UserError, match="holds vectors of another model"):
        run(corpus, other, output)
    with pytest.raises(UserError, match="was begun with"):
        run(corpus, model, output, column="1")
    corpus.write_text(corpus.read_text() + "one more\n")
    with pytest.raises(UserError, match="holds vectors of another corpus"):
        run(corpus, model, output)
    assert contents(output) == before


def damaged(folder: Path, shard: Path) -> None:
    shard.write_bytes(b"")


def half_written(folder: Path, shard: Path) -> None:
    half = folder / f".{shard.name}.17.partial"
    shard.rename(half)
    os.utime(half, (0, 0))


def of_another_model(folder: Path, shard: Path) -> None:
    shard.write_bytes((folder.with_name("other") / shard.name).read_bytes())


@pytest.mark.parametrize("spoil", [damaged, half_written, of_another_model])
def test_a_shard_that_is_not_right_is_made_again(spoil, corpus, model, tiny_bert, tmp_path):
    output = tmp_path / "out"
    run(corpus, model, output)
    if spoil is of_another_model:
        run(corpus, load_model(str(tiny_bert), "cls", device="cpu"), tmp_path / "other")
    before = contents(output)
    spoil(output, output / "shard-00001.parquet")
    (output / "complete.json").unlink()
    assert run(corpus, model, output, partition=Partition(0, 2)).missing == [1]
    assert not (output / "complete.json").exists()
    assert run(corpus, model, output).encoded == 40
    assert contents(output) == before


def test_the_number_of_texts_is_estimated_from_the_bytes(corpus, model, tmp_path, monkeypatch):
    bars: list[Any] = []
    monkeypatch.setattr(run_module, "bar", lambda **_: bars.append(bar(shown=False)) or bars[-1])
    run(corpus, model, tmp_path / "out", partition=Partition(0, 2))
    assert bars[0].total == 55  # half of those that are there


def test_a_corpus_that_changes_meanwhile(corpus, model, tmp_path, monkeypatch):
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
        ("one", {"id_column": "id"}, "is plain text without tabs, so it has no column of id"),
        ("one", {"precision": "int8"}, "at least two texts"),
    ],
)
def test_what_cannot_be_encoded_leaves_nothing(content, options, message, model, tmp_path):
    (tmp_path / "a.txt").write_text(content)
    with pytest.raises(UserError, match=message):
        run(tmp_path / "a.txt", model, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_folder_inside_the_corpus(corpus, model, tmp_path):
    with pytest.raises(UserError, match="is inside the corpus"):
        run(tmp_path, model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_word_vectors_and_empty_texts(tmp_path):
    (tmp_path / "vectors.txt").write_text("cat 1 0 0.5\ndog 0 1 0\n")
    (tmp_path / "a.txt").write_text("cat dog\n\nunknown\n")
    run(tmp_path / "a.txt", load_model(str(tmp_path / "vectors.txt")), tmp_path / "out")
    assert vectors_in(tmp_path / "out").tolist() == [[0.5, 0.5, 0.25], [0, 0, 0], [0, 0, 0]]
