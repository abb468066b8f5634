"""The scripts of docs/encoding.md, run as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusterns import encode

PAGE = Path(__file__).parents[2] / "docs" / "encoding.md"
SCRIPTS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)


@pytest.fixture
def place(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model.save("runs/first/model")
    (tmp_path / "corpus.txt").write_text("a river\na town\na song\n")
    return tmp_path


def run(words: str) -> dict[str, Any]:
    (script,) = (each for each in SCRIPTS if words in each)
    names: dict[str, Any] = {}
    exec(script, names)
    return names


def test_an_index_of_one_s_own(place):
    names = run("Index.build")
    assert names["index"].ids.to_pylist() == ["first", "second", "third"]
    assert names["rows"].shape == (3, 2)


def test_all_vectors_at_once(place):
    encode("runs/first", "corpus.txt", "vectors", quiet=True)
    assert run("load_dataset")["vectors"]["text"][:] == ["a river", "a town", "a song"]


def test_a_query_in_eight_bits(place):
    encode("runs/first", "corpus.txt", "vectors", precision="int8", quiet=True)
    query = run("quantize_embeddings")["query"]
    assert (query.dtype, query.shape) == (np.dtype(np.int8), (1, 32))
