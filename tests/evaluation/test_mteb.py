"""Tasks of the mteb package by name, on local copies of their data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.evaluation.datasets import Retrieval, ScoredPairs
from clusterns.evaluation.mteb import run_mteb
from clusterns.evaluation.retrieval import retrieval_of
from clusterns.evaluation.validators import ScoredPairsEvaluator
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder
from tests.helpers.texts import sentences

mteb = pytest.importorskip("mteb", reason="needs the extra mteb")
README = """---
configs:
- {config_name: corpus, data_files: [{split: corpus, path: corpus.jsonl}]}
- {config_name: queries, data_files: [{split: queries, path: queries.jsonl}]}
- {config_name: default, data_files: [{split: test, path: test.jsonl}]}
---
"""


@pytest.fixture(scope="module")
def model() -> SentenceTransformer:
    return load_model("minibert", "mean")


def local_copy(
    folder: Path,
    task: str,
    files: Mapping[str, Sequence[Mapping[str, Any]]],
    patch: pytest.MonkeyPatch,
) -> None:
    """Write a task's data to a folder, and let the task look there."""
    for name, rows in files.items():
        lines = (json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    patch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
    patch.setitem(mteb.get_tasks(tasks=[task])[0].metadata.dataset, "path", str(folder))


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("clusterns.evaluation.mteb.version", missing)
    with pytest.raises(UserError, match=r"pip install 'clusterns\[mteb\]'"):
        run_mteb(HashEncoder())


def test_an_unknown_task_is_one_sentence() -> None:
    with pytest.raises(UserError, match="NoSuchTask"):
        run_mteb(HashEncoder(), ["NoSuchTask"])


def test_an_sts_task_by_name_gives_our_number(
    model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sentences(40)
    scores = [float(i % 6) for i in range(20)]
    pairs = ScoredPairs(texts[:20], texts[20:], np.array(scores))
    rows = [
        {"sentence1": first, "sentence2": second, "score": score}
        for first, second, score in zip(texts[:20], texts[20:], scores, strict=True)
    ]
    local_copy(tmp_path, "STSBenchmark", {"test": rows}, monkeypatch)
    found = run_mteb(model, ["STSBenchmark"]).sets["STSBenchmark"].value
    assert found == pytest.approx(100 * ScoredPairsEvaluator(pairs)(model)["pairs_spearman"])


def test_a_retrieval_task_by_name_gives_our_ndcg(
    model: SentenceTransformer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = sentences(60)
    queries, documents = texts[:10], texts[10:]
    relevant = [frozenset(range(i, 50, 7 + i)) for i in range(10)]
    files = {
        "corpus": [{"_id": f"d{i}", "title": "", "text": text} for i, text in enumerate(documents)],
        "queries": [{"_id": f"q{i}", "text": text} for i, text in enumerate(queries)],
        "test": [
            {"query-id": f"q{query}", "corpus-id": f"d{document}", "score": 1}
            for query, each in enumerate(relevant)
            for document in each
        ],
    }
    (tmp_path / "README.md").write_text(README)
    local_copy(tmp_path, "SciFact", files, monkeypatch)
    ours = retrieval_of(Embedder(model), Retrieval(queries, documents, relevant))["ndcg@10"].mean()
    found = run_mteb(model, ["SciFact"]).sets["SciFact"].value
    assert found == pytest.approx(100 * ours, abs=0.01)
