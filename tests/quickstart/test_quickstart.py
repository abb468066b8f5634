from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from datasets import Dataset

from clusterns.corpus import Corpus, CorpusReport, DocstringCorpus, DocstringReport
from clusterns.encoder import load_base
from clusterns.errors import UserError
from clusterns.quickstart import run as quickstart_module
from clusterns.quickstart.proof import FIGURES, SUBPACKAGES, Proof
from clusterns.quickstart.queries import QUERIES
from clusterns.search import Index

WORDS = (
    "array sort axis table column row file parse token vector matrix graph node edge signal".split()
)


def documentation() -> DocstringCorpus:
    """Made-up docstrings of as many subpackages as the proof clusters, with one real answer."""
    generator = random.Random(0)

    def sentence() -> str:
        return " ".join(generator.choices(WORDS, k=8))

    objects = [
        {
            "name": f"package{i % SUBPACKAGES}.module.thing{i}", "kind": "function",
            "package": f"package{i % SUBPACKAGES}", "subpackage": f"package{i % SUBPACKAGES}.module",
            "summary": sentence(), "rest": [sentence(), sentence()], "held_out": i % 3 == 0,
        }
        for i in range(180)
    ]  # fmt: skip
    objects.append(
        {**objects[1], "name": "numpy.sort", "package": "numpy", "subpackage": "numpy",
         "summary": "Return a sorted copy of an array."}
    )  # fmt: skip
    texts = [sentence() for _ in range(150)]
    corpus = Corpus(
        Dataset.from_dict({"text": texts, "name": ["x"] * 150}), CorpusReport(kept=150), "f"
    )
    report = DocstringReport(20, 1, 0, len(objects), 60, len(texts))
    return DocstringCorpus(corpus, Dataset.from_list(objects), report)


def test_there_are_enough_questions_and_few_spell_out_their_answer() -> None:
    assert len(QUERIES) >= 40
    assert all(QUERIES.values())
    spelled_out = [
        question
        for question, names in QUERIES.items()
        if all(name.split(".")[-1].lower() in question.split() for name in names)
    ]
    assert len(spelled_out) <= 0.1 * len(QUERIES)


def test_the_proof_measures_everything_and_a_perfect_answer_is_rank_one(tiny_bert: Path) -> None:
    proof = Proof(documentation().objects)
    assert list(proof.queries) == ["sort an array along an axis"]
    found = proof(load_base(str(tiny_bert)))
    assert found.keys() == FIGURES.keys()
    assert 0 < found["retrieval"] <= 1
    assert found["queries_mrr"] == 1  # the only candidate
    assert found["uniformity"] < 0


def test_the_quickstart_trains_proves_and_can_be_searched(
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(quickstart_module, "docstring_corpus", documentation)
    output = tmp_path / "run"
    changes = {
        "base": str(tiny_bert),
        "max_steps": 2,
        "eval_steps": 2,
        "batch_size": 16,
        "clusters": 4,
    }
    results = quickstart_module.quickstart(output, changes)
    assert set(results) == {"untrained", "ClusterNS", "SimCSE"}
    assert json.loads((output / "proof.json").read_text()) == results
    assert "clusters against subpackages" in capsys.readouterr().out
    index = Index(output / "index")
    assert len(index.texts) == 181
    (hit,) = index.search(load_base(str(tiny_bert)), "Return a sorted copy of an array.", top=1)
    assert hit.name is not None


def test_a_broken_index_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot read the search index"):
        Index(tmp_path)
