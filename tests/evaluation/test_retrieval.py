from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.util import cos_sim

from clusterns.errors import UserError
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.collection import read_collection
from clusterns.evaluation.datasets import Retrieval
from clusterns.evaluation.plan import find_jobs
from clusterns.evaluation.retrieval import rank, retrieval_of
from clusterns.evaluation.runner import EvaluationContext, run_job
from clusterns.vectors.embed import Embedder
from tests.helpers.hash_encoder import HashEncoder
from tests.helpers.texts import write

# The first query equals its text. The second equals another's: its own has rank two.
BY_HAND = Retrieval(["a b", "c e"], ["a b", "c d", "c e"], [frozenset({0}), frozenset({1})], "cran")


def test_by_hand() -> None:
    found = retrieval_of(Embedder(HashEncoder(64)), BY_HAND)
    assert found["accuracy@1"].tolist() == [1, 0]
    assert found["recall@3"].tolist() == [1, 1]
    assert found["mrr@10"].tolist() == [1, 0.5]
    assert found["ndcg@10"] == pytest.approx([1, 1 / math.log2(3)])
    assert found["map@100"].tolist() == [1, 0.5]


def test_equals_the_evaluator_of_sentence_transformers() -> None:
    random = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    queries, texts = (
        [" ".join(random.choice(words, size)) for _ in range(count)]
        for count, size in ((30, 3), (300, 8))
    )
    relevant = [frozenset(random.choice(300, random.integers(1, 30)).tolist()) for _ in queries]
    encoder = HashEncoder(64)
    found = retrieval_of(Embedder(encoder), Retrieval(queries, texts, relevant))
    library = InformationRetrievalEvaluator(
        {str(i): text for i, text in enumerate(queries)},
        {str(i): text for i, text in enumerate(texts)},
        {str(i): {str(text) for text in each} for i, each in enumerate(relevant)},
        accuracy_at_k=[1, 3, 5, 10],
        precision_recall_at_k=[1, 3, 5, 10, 100],
        score_functions={"cosine": cos_sim},
    )
    library.embed_inputs = lambda model, sentences, *_, **__: model.encode(sentences)
    expected = {
        name.replace("@k", f"@{cutoff}"): value
        for name, values in library.compute_all_metrics(encoder)["cosine"].items()
        for cutoff, value in values.items()
        if name != "precision@k"
    }
    assert {name: float(each.mean()) for name, each in found.items()} == pytest.approx(expected)


def test_words_find_words_and_both_fuse_them() -> None:
    by_words = retrieval_of(Embedder(HashEncoder()), replace(BY_HAND, by="words"))
    assert by_words["mrr@10"].tolist() == [1, 0.5]
    cosines = np.array([0.9, 0.5, 0.1, 0.0], dtype=np.float32)
    words = np.array([0.0, 8.0, 2.0, 0.0], dtype=np.float32)
    assert rank(cosines, None).tolist() == [0, 1, 2, 3]
    assert rank(None, words).tolist() == [1, 2]  # no word of the query is no answer
    # Means of 1 and 0, 0.5 / 0.9 and 1, 0.1 / 0.9 and 2 / 8.
    assert rank(cosines, words).tolist() == [1, 0, 2, 3]


def test_a_collection_is_three_jobs_with_predictions_per_query(tmp_path: Path) -> None:
    encoder = HashEncoder(64)
    context = EvaluationContext(Embedder(encoder))
    jobs = find_jobs([], EvaluationData(tmp_path), collections=[BY_HAND]).jobs
    assert [job.name for job in jobs] == ["cran (vectors)", "cran (words)", "cran (both)"]
    outcomes = [run_job(context, job) for job in jobs]
    for job, (sets, predictions) in zip(jobs, outcomes, strict=True):
        (result,) = sets.values()
        assert (result.name, result.variant) == ("cran", job.name.split("(")[1].rstrip(")"))
        assert 100 * predictions["retrieval"].mean() == pytest.approx(result.value)
        assert {"mrr@10", "recall@100"} <= result.details.keys()
    assert sum(map(len, encoder.calls)) == len({*BY_HAND.sentences}) + 2  # as query and as document
    with pytest.raises(UserError, match="Duplicate dataset name cran"):
        find_jobs([], EvaluationData(tmp_path), collections=[BY_HAND, BY_HAND])


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        write(folder / name, text)
    return folder


CORPUS = "".join(
    json.dumps({"_id": f"d{i}", "title": title, "text": text}) + "\n"
    for i, (title, text) in enumerate([("A", "cat"), ("", "dog"), ("C", "sun")])
)
QUERIES = (
    '{"_id": "q1", "text": "Who?"}\n{"_id": "q2", "text": "What?"}\n{"_id": "q3", "text": "x"}\n'
)


def beir(folder: Path, judgments: str) -> Path:
    files = {"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES, "qrels/test.tsv": judgments}
    return written(folder, files)


@pytest.mark.parametrize("head", ["query-id\tcorpus-id\tscore\n", ""])
def test_beirs_layout(tmp_path: Path, head: str) -> None:
    rows = "q2\td0\t1\nq2\td2\t2\nq1\td1\t1\nq1\td0\t0\nq3\tnone\t1\n"
    found = read_collection(beir(tmp_path / "scifact", head + rows))
    assert found.texts == ["A cat", "dog", "C sun"]
    assert found.queries == ["Who?", "What?"]  # q3 has no document
    assert found.relevant == [{1}, {0, 2}]
    assert found.name == "scifact"


CLASSIC_TEXTS = ".I 1\n.T\nA title .\n.A\nSomebody\n.W\none\ntwo\n.I 2\n.T\nB\n.X\n1\t2\t3\n"


@pytest.mark.parametrize(
    ("queries", "judgments", "found"),
    [
        # Cranfield: judgments count the queries; -1 is of no interest.
        ("001 004", "1 2 3 \n2 1 2\n2 2 -1\n", [{1}, {0}]),
        # CISI: two more columns without meaning.
        ("1 2", "     1      2\t0\t0.000000\n     2      1\t0\t0.000000\n", [{1}, {0}]),
        # CACM.
        ("1 2", "01 0002  0 0\n02 0001  0 0\n", [{1}, {0}]),
        # TREC: query, 0, document, grade.
        ("1 2", "1 0 2 1\n2 0 1 1\n2 0 2 0\n", [{1}, {0}]),
    ],
)
def test_classic_files(tmp_path: Path, queries: str, judgments: str, found: list[set[int]]) -> None:
    text = "".join(f".I {number}\n.W\nabout {number}\nand so on\n" for number in queries.split())
    files = {"x.all": CLASSIC_TEXTS, "x.qry": text, "xqrel": judgments}
    data = read_collection(written(tmp_path, files))
    assert data.texts == ["A title . one two", "B"]
    assert data.queries == [f"about {number} and so on" for number in queries.split()]
    assert data.relevant == found


@pytest.mark.parametrize(
    ("name", "documents", "queries", "pairs"),
    [("cran", 1400, 225, 1612), ("cisi", 1460, 76, 3114), ("cacm", 3204, 52, 796)],
)
def test_real_collections(
    shared_data: Path, name: str, documents: int, queries: int, pairs: int
) -> None:
    data = read_collection(shared_data / "ir" / name)
    assert (len(data.texts), len(data.queries)) == (documents, queries)
    assert sum(map(len, data.relevant)) == pairs


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "is not a retrieval collection: expected corpus.jsonl"),
        ({"x.all": ".I 1\n.W\na\n", "x.qry": ".I 1\n.W\na\n"}, "0 have rel"),
        ({"corpus.jsonl": '{"id": 1}\n', "queries.jsonl": ""}, "corpus.jsonl, line 1: expected"),
        ({"corpus.jsonl": CORPUS, "queries.jsonl": QUERIES}, "cannot read .*qrels/test.tsv: No such file"),
    ],
)  # fmt: skip
def test_broken_collections(tmp_path: Path, files: dict[str, str], says: str) -> None:
    with pytest.raises(UserError, match=says):
        read_collection(written(tmp_path, files))


def test_broken_judgments(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"test.tsv, line 2: expected query, document and score"):
        read_collection(beir(tmp_path, "q1\td1\t1\nq1 d1 1\n"))
    with pytest.raises(UserError, match="no query has a relevant document"):
        read_collection(beir(tmp_path, "q1\tnone\t1\n"))
    with pytest.raises(UserError, match="is not a folder"):
        read_collection(tmp_path / "none")
    texts = {"x.all": CLASSIC_TEXTS, "x.qry": ".I 1\n.W\na\n", "x.rel": "1\n"}
    with pytest.raises(UserError, match=r"x.rel, line 1: expected numbers"):
        read_collection(written(tmp_path / "classic", texts))
