from __future__ import annotations

import json
import random
from functools import partial
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformerModelCardData

from clusterns.data.corpus import Corpus, CorpusReport
from clusterns.data.docstrings import DocstringCorpus, DocstringReport
from clusterns.errors import UserError
from clusterns.quickstart import benchmark as benchmark_module
from clusterns.quickstart import run as quickstart_module
from clusterns.quickstart.benchmark import MEASURES, QUERIES, SUBPACKAGES, DocstringBenchmark
from clusterns.quickstart.folder import check_folder, remove_earlier
from clusterns.vectors.index import Index
from tests.helpers.models import open_plain

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
        Dataset.from_dict(
            {"text": texts, "name": ["x"] * 150, "document": [i // 3 for i in range(150)]}
        ),
        CorpusReport(kept=150),
        "f",
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


class Told:
    """A model whose vectors the test writes; the same vector for every other text."""

    def __init__(self, **angles: float) -> None:
        self.model_card_data = SentenceTransformerModelCardData()
        self.angles = {text.replace("_", " "): angle for text, angle in angles.items()}

    def encode(self, texts: list[str], **_: object) -> torch.Tensor:
        angles = torch.tensor([self.angles.get(text, 90.0) for text in texts]).deg2rad()
        return torch.stack([angles.cos(), angles.sin()], 1)


@pytest.fixture(scope="module")
def several_candidates() -> DocstringBenchmark:
    """One question, two right answers and three wrong ones among the candidates."""
    names = ["numpy.sort", "torch.sort", "numpy.one", "numpy.two", "torch.three"]
    summaries = ["first right", "second right", "one", "two", "three"]
    made_up = documentation().objects.to_list()[:180]
    rows = [
        {**made_up[1], "name": name, "package": name.split(".")[0], "summary": summary}
        for name, summary in zip(names, summaries, strict=True)
    ]
    return DocstringBenchmark(Dataset.from_list([*made_up, *rows]))


@pytest.mark.parametrize(
    ("angles", "rank"),
    [
        # One wrong answer is nearer than the better one of the right answers.
        ({"one": 5, "second_right": 10, "two": 20, "three": 30, "first_right": 80}, 2),
        ({"one": 5, "two": 10, "three": 20, "second_right": 30, "first_right": 80}, 4),
        ({"first_right": 1, "second_right": 2, "one": 3, "two": 4, "three": 5}, 1),
        # A wrong one at the same place counts half.
        ({"one": 5, "second_right": 10, "two": 10, "three": 30, "first_right": 80}, 2.5),
        # All at the same place: the middle of them.
        ({}, 2.5),
    ],
)
def test_a_question_is_ranked_among_all_candidates(
    angles: dict,
    rank: float,
    several_candidates: DocstringBenchmark,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(benchmark_module, "TOP", 2)
    assert list(several_candidates.queries) == ["sort an array along an axis"]
    found = several_candidates(Told(**angles, sort_an_array_along_an_axis=0.0))
    assert found["queries_mrr"] == pytest.approx(1 / rank)
    assert found["queries_found"] == (rank <= 2)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """What an earlier quickstart has left, or what a kill has left of it."""
    output = tmp_path / "run"
    for name in ("checkpoints", "model", "index", "clusterns/model"):
        (output / name).mkdir(parents=True)
        (output / name / "file.bin").write_bytes(b"x")
    for name in ("recipe.yaml", "metrics.jsonl", "results.json", "proof.json", "clusterns/run.json",
                 ".clusterns.lock", ".index.lock", ".model.0123456789ab.partial"):  # fmt: skip
        (output / name).write_text("x")
    (output / "run.json").write_text(json.dumps({"corpus": {"docstrings": {}}}))
    return output


def test_again_removes_its_own_run_and_keeps_the_folder(output: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--overwrite"):
        check_folder(output, overwrite=False)
    (tmp_path / "link").symlink_to(output)
    remove_earlier(tmp_path / "link")
    assert list(output.iterdir()) == []
    check_folder(tmp_path / "link", overwrite=True)


@pytest.mark.parametrize(
    ("name", "text", "refusal"),
    [
        ("notes.txt", "mine", "notes.txt was not made by the quickstart"),
        ("clusterns/notes.txt", "mine", "notes.txt was not made by the quickstart"),
        ("run.json", '{"corpus": {"reading": {}}}', "not a quickstart"),
        ("run.json", None, "not empty"),
    ],
)
def test_again_removes_nothing_where_there_is_something_else(
    output: Path, name: str, text: str | None, refusal: str
) -> None:
    (output / name).unlink() if text is None else (output / name).write_text(text)
    before = sorted(output.rglob("*"))
    for refused in (partial(check_folder, overwrite=True), remove_earlier):
        with pytest.raises(UserError, match=refusal):
            refused(output)
    assert set(before) <= set(output.rglob("*"))


def test_the_quickstart_trains_proves_and_can_be_searched(
    tiny_bert: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(quickstart_module, "docstring_corpus", documentation)
    output = tmp_path / "run"
    changes = {"max_steps": 2, "eval_steps": 2, "batch_size": 16, "clusters": 4}
    results = quickstart_module.quickstart(output, {"base": str(tiny_bert), **changes})
    assert set(results) == {"untrained", "ClusterNS", "static"}
    assert all(set(MEASURES) <= found.keys() for found in results.values())
    assert 0 < results["untrained"]["retrieval"] <= 1
    assert results["untrained"]["queries_mrr"] == 1  # the only candidate
    assert results["untrained"]["uniformity"] < 0
    assert json.loads((output / "proof.json").read_text()) == results
    printed = capsys.readouterr()
    assert "clusters against subpackages" in printed.out
    assert '"sort an array along an axis": numpy.sort' in printed.out
    assert "100% by words and vectors" in printed.err
    index = Index.open(output / "index")
    assert len(index.texts) == 181
    model = open_plain(output / "model")
    (hit,) = index.search(model, "Return a sorted copy of an array.", top=1)
    assert hit.name == "numpy.sort"

    # Nothing that it makes itself stands in the way of another one.
    check_folder(output, overwrite=True)
    remove_earlier(output)
    assert list(output.iterdir()) == []
