"""A planted domain gets better, a planted general text stays, and a harmful setting ends as the start."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from clusterns import adapt
from clusterns.adaptation import run as run_module
from clusterns.encoder.load import load_base, load_tokenizer
from clusterns.errors import UserError
from clusterns.vectors.nearest import nearest, unit

TOPICS = [
    "goal match player league coach striker penalty stadium",
    "bank market shares profit investor bond dollar economy",
    "guitar album singer concert band melody rhythm piano",
    "planet orbit telescope rocket galaxy comet moon astronomer",
    "flour oven recipe butter sugar kitchen bread cake",
]
COMMON = "the new first great old small today again always people year place time way day".split()
GENERAL = "river winter king harbour protein law village horse letter window school painter".split()


def lines(count: int, seed: int) -> tuple[list[str], np.ndarray]:
    """Titles of three words of their topic and three common ones; and their topics."""
    generator = random.Random(seed)
    topics = [generator.randrange(len(TOPICS)) for _ in range(count)]
    texts = []
    for topic in topics:
        words = generator.sample(TOPICS[topic].split(), 3) + generator.choices(COMMON, k=3)
        generator.shuffle(words)
        texts.append(" ".join(words))
    return texts, np.array(topics)


def same_topic(model: SentenceTransformer) -> float:
    """Of the ten nearest of each title that training never saw, the share with the same topic."""
    texts, topics = lines(200, seed=2)
    vectors = unit(model.encode(texts, show_progress_bar=False))
    _, near = nearest(vectors, vectors, 10, np.arange(len(vectors)))
    return float((topics[near] == topics[:, None]).mean())


def general_similarities(model: SentenceTransformer) -> np.ndarray:
    generator = random.Random(5)
    texts = [" ".join(generator.choices(GENERAL, k=7)) for _ in range(60)]
    vectors = unit(model.encode(texts, show_progress_bar=False))
    return (vectors @ vectors.T)[np.triu_indices(60, 1)]


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of word vectors, in which a word is a little like the others of its topic. It has a prompt, and
    truncates its embeddings."""
    random = np.random.default_rng(0)
    words = sorted({*" ".join(TOPICS).split(), *COMMON, *GENERAL})
    vectors = dict(zip(words, random.standard_normal((len(words), 16)), strict=True))
    for topic in TOPICS:
        shift = 0.5 * random.standard_normal(16)
        vectors.update({word: vectors[word] + shift for word in topic.split()})
    numbers = {word: row for row, word in enumerate(["[UNK]", *words])}
    tokenizer = Tokenizer(WordLevel(numbers, "[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    weights = np.stack([np.zeros(16), *vectors.values()]).astype(np.float32)
    table = StaticEmbedding(tokenizer, embedding_weights=weights)
    model = SentenceTransformer(modules=[table], prompts={"query": "about: "}, truncate_dim=14)
    folder = tmp_path_factory.mktemp("good") / "model"
    model.save_pretrained(str(folder))
    assert load_tokenizer(str(folder)).model_max_length == math.inf  # nothing is cut
    return folder


@pytest.fixture
def corpus(tmp_path: Path, cache: Path) -> Path:
    path = tmp_path / "titles.csv"
    path.write_text("title\n" + "\n".join(lines(2000, seed=1)[0]) + "\n")
    return path


SMALL: dict[str, Any] = {
    "clusters": 5, "interpolation_weights": [0.5, 1.0], "landmarks": 300,
    "min_agreement_general": 0.9, "min_agreement_domain": 0.5, "max_drift": 1.0,
}  # fmt: skip


def test_a_planted_domain_gains_and_general_text_stays(
    good: Path, corpus: Path, tmp_path: Path
) -> None:
    call: dict[str, Any] = {"base": good, "column": "title", "quiet": True}
    run, careless = (
        adapt(
            corpus, tmp_path / f"run{weight}", **call, settings={**SMALL, "general_weight": weight}
        )
        for weight in (3, 0)
    )
    start, adapted = load_base(str(good)), SentenceTransformer(str(run.model))
    assert run.result.facts["share"] > 0, run.result.facts
    assert same_topic(adapted) > same_topic(start) + 0.02
    before, after = general_similarities(start), general_similarities(adapted)
    assert np.corrcoef(before, after)[0, 1] > 0.98
    kept, lost = (each.result.facts["measured"]["1.0"]["kept_general"] for each in (run, careless))
    assert kept > lost + 0.005
    # What belongs to the model stays with it, and no weight of the encoder changes.
    assert adapted.prompts["query"] == "about: "
    assert adapted.encode(["a title"]).shape == (1, 14)
    assert [type(module) for module in adapted] == [
        StaticEmbedding,
        Normalize,
        Dense,
        Dense,
        Normalize,
    ]
    assert adapted[0].embedding.weight.equal(start[0].embedding.weight)


def test_a_harmful_setting_ends_as_the_start(good: Path, corpus: Path, tmp_path: Path) -> None:
    run = adapt(
        corpus, tmp_path / "run", base=good, column="title", quiet=True,
        settings={
            "interpolation_weights": [0.5, 1.0], "centroid_weight": 1000.0, "clusters": 2,
            "general_weight": 0.0, "ridge": 1e-6,
        },
    )  # fmt: skip
    assert run.result.facts["share"] == 0
    assert set(run.result.facts["refused"]) == {"0.5", "1.0"}
    texts = lines(20, seed=3)[0]
    start, ended = load_base(str(good)), SentenceTransformer(str(run.model))
    np.testing.assert_array_equal(start.encode(texts), ended.encode(texts))


def documents(path: Path, titles: bool) -> Path:
    """Documents of three sentences about a thing of their own; as paragraphs, or a table with titles."""
    generator = random.Random(0)
    found = []
    for number in range(500):
        own = f"{generator.choice(GENERAL)} {generator.choice(TOPICS[number % 5].split())}"
        found.append([f"{' '.join(generator.choices(COMMON, k=5))} {own} {n}." for n in "abc"])
    if titles:
        rows = [f"{n},{head[:-1]},{one} {two}" for n, (head, one, two) in enumerate(found)]
        path.write_text("id,title,text\n" + "\n".join(rows) + "\n")
    else:
        path.write_text("\n\n".join("\n".join(each) for each in found) + "\n")
    return path


@pytest.mark.parametrize("titles", [False, True])
def test_search_learns_from_documents(
    good: Path, tmp_path: Path, cache: Path, titles: bool
) -> None:
    text = documents(tmp_path / ("manual.csv" if titles else "manual.txt"), titles)
    own: dict[str, Any] = {"column": "text", "document": "id"} if titles else {}
    limits = {"min_agreement_general": 0.5, "min_agreement_domain": 0.5, "max_drift": 1.0}
    run = adapt(
        text, tmp_path / "run", base=good, purpose="search", quiet=True, **own,
        settings={**limits, **({"title": "title"} if titles else {})},
    )  # fmt: skip
    facts = run.result.facts
    assert facts["purpose"] == "search"
    assert facts["share"] > 0, facts
    assert facts["after"] > facts["before"] + 0.02
    card = (run.model / "README.md").read_text()
    assert "words and embeddings together" in card
    assert "better (95 % interval" in card


def test_a_resume_is_of_the_same_run(
    good: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    general = tmp_path / "general.txt"
    text = "".join(f"a general sentence about {word} {n}\n" for n, word in enumerate(GENERAL * 4))
    general.write_text(text)
    call: dict[str, Any] = {
        "base": good, "column": "title", "general": general, "settings": SMALL, "quiet": True
    }  # fmt: skip

    def killed(*_: object, **__: object) -> Any:
        raise InterruptedError

    with monkeypatch.context() as patch:
        patch.setattr(run_module, "write_json", killed)
        with pytest.raises(InterruptedError):
            adapt(corpus, tmp_path / "run", **call)
    general.write_text(text + "one more general sentence\n")
    with pytest.raises(UserError, match="not the text"):
        adapt(corpus, tmp_path / "run", **call, resume=True)
    general.write_text(text)
    changes = {**call, "settings": {**SMALL, "clusters": 6}}
    with pytest.raises(UserError, match="the settings differ"):
        adapt(corpus, tmp_path / "run", **changes, resume=True)
    file = tmp_path / "run" / "run.json"
    record = json.loads(file.read_text())
    file.write_text(json.dumps({**record, "base": "another"}))
    with pytest.raises(UserError, match="weights of the base have changed"):
        adapt(None, tmp_path / "run", resume=True, quiet=True)
    file.write_text(json.dumps(record))
    resumed = adapt(None, tmp_path / "run", resume=True, quiet=True)
    assert resumed.result == adapt(corpus, tmp_path / "whole", **call).result
    (tmp_path / "run" / "recipe.yaml").write_text("method: simcse\n")
    with pytest.raises(UserError, match="not started by `clusterns adapt`"):
        adapt(None, tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base": None}, "choose the sentence encoder"),
        ({"purpose": "poems"}, "'topics' or 'search'"),
        ({"base": "minibert"}, "clusterns train"),
        ({"general": "nowhere.txt"}, "--general nowhere.txt"),
        ({"purpose": "search"}, "keep the model as it is"),
        ({"purpose": "search", "settings": {"title": "title"}}, "--document"),
        ({"settings": {"min_agreement_general": 2}}, "min_agreement_general"),
        ({"settings": {"shrinkage": 2}}, "no setting 'shrinkage'"),
        ({"corpus": "few.txt", "column": None}, "held-out sentences .* are too few"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_and_nothing_is_written(
    changes: dict[str, Any], message: str, good: Path, corpus: Path, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("few.txt").write_text("".join(f"{line}\n" for line in lines(9, seed=1)[0]))
    call = {"corpus": corpus, "base": good, "column": "title", "quiet": True, **changes}
    with pytest.raises(UserError, match=message):
        adapt(output=tmp_path / "run", **call)
    assert not (tmp_path / "run").exists()
