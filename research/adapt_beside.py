"""A good model beside static vectors learned from the same text: does the pair beat both parts, and `adapt`?

    CLUSTERNS_DATA=... python research/adapt_beside.py MODEL runs/beside

The vectors of the pair are [base, weight x static], so its cosine is a weighted mean of both cosines. The static
vectors come from the text that `adapt` learns from, with the quickstart's settings (``own``), or with the base's
word pieces and fewer dimensions, divided by the square root of the number of pieces rather than to length 1, which
built-in modules can save (``saved``). Topics are judged by kNN and AMI on lines that nothing was learned
from, search by nDCG@10 and recall@100 over all queries, by vectors and by words and vectors, docstrings by the
quickstart's measures. Beside each weight stands what `adapt` would know without labels. A collection has one record
in results/adapt/beside/MODEL; one that is there is left alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerModelCardData

from adapt_runs import LINES, RESULTS, command, extract_map, parted
from adapt_search import FILES, collection
from clusterns import adapt, load_base
from clusterns.adaptation.general_text import GeneralText, general_text
from clusterns.adaptation.run import read_text
from clusterns.adaptation.scores import HeldOut, choose, gain_interval, refusal
from clusterns.adaptation.settings import AdaptSettings, load_settings
from clusterns.data.corpus import prepare_corpus
from clusterns.data.documents import documents_of
from clusterns.data.split import split_rows
from clusterns.encoder.load import tokenizer_of
from clusterns.errors import UserError
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.clustering import adjusted_mutual_information, cluster_seeds
from clusterns.evaluation.datasets import Retrieval
from clusterns.evaluation.retrieval import measures, rank, word_index
from clusterns.evaluation.sts import spearman
from clusterns.record import make_record
from clusterns.static.learn import learn
from clusterns.static.settings import StaticSettings
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import Vectors, all_nearest, unit

SEED = 1
KINDS = ("own", "saved")
WEIGHTS = (0.25, 0.5, 1.0)
ALONE = "static alone"
OWN = {"vocabulary_size": 8_000, "dimensions": 512, "contrast_steps": 300}
SHARED = {"dimensions": 384, "contrast_steps": 300}
STARTS = 10
# What `adapt` itself reads, to be quick; static vectors read everything.
MOST, HELDOUT = 4_000, 1_000

Encode = Callable[[Sequence[str]], Vectors]
Scores = dict[str, Any]


@dataclass(frozen=True)
class Collection:
    """Rows to learn from, and a judge of embeddings on other text."""

    purpose: str
    rows: list[tuple[str, str, str]]
    """Document, title and text."""
    titles: bool
    split: bool
    judge: Callable[[Encode], Scores]
    """Measures: a number, or one for each query."""


def topics(name: str) -> Collection:
    import adapt_runs

    adapt_runs.LINES = 10_000
    learned, judged, classes = parted(name, SEED)
    judged, classes = judged[:LINES], np.unique(classes[:LINES], return_inverse=True)[1]

    def judge(encode: Encode) -> Scores:
        vectors = encode(judged)
        near = all_nearest(vectors, 10, progress=False)[1]
        found = cluster_seeds(vectors, int(classes.max()) + 1, range(STARTS))
        ami = [adjusted_mutual_information(classes, each) for each in found]
        return {"kNN": (classes[near] == classes[:, None]).mean(1), "AMI": float(np.mean(ami))}

    return Collection("topics", [("", "", text) for text in learned], False, False, judge)


def search(name: str) -> Collection:
    documents, queries, relevant = collection(name)
    numbers = list(documents)
    place = {number: row for row, number in enumerate(numbers)}
    data = Retrieval(
        list(queries.values()),
        [f"{title} {body}".strip() for title, body in documents.values()],
        [frozenset(place[number] for number in relevant[key]) for key in queries],
        by="both",
    )
    words = word_index(data)

    def judge(encode: Encode) -> Scores:
        cosines = encode(data.queries) @ encode(data.texts).T
        found: dict[str, list[float]] = {}
        for row, query in enumerate(data.queries):
            for by, scores in (("vectors", None), ("both", words.scores(query))):
                hits = np.isin(rank(cosines[row], scores), list(data.relevant[row]))
                each = measures(hits, len(data.relevant[row]))
                for key in ("ndcg@10", "recall@100"):
                    found.setdefault(f"{key} {by}", []).append(each[key])
        return {key: np.array(values) for key, values in found.items()}

    rows = [(str(key), title, body) for key, (title, body) in documents.items() if body]
    return Collection("search", rows, True, True, judge)


class Stored:
    """What the quickstart's benchmark takes for a model."""

    def __init__(self, encode: Encode) -> None:
        self.vectors, self.model_card_data = encode, SentenceTransformerModelCardData()

    def encode(self, texts: list[str], **_: Any) -> torch.Tensor:
        return torch.from_numpy(self.vectors(texts))


def docstrings() -> Collection:
    from clusterns.data.docstrings import docstring_corpus
    from clusterns.quickstart.benchmark import DocstringBenchmark

    text = docstring_corpus(progress=False)
    benchmark = DocstringBenchmark(text.objects)
    rows = text.corpus.dataset

    def judge(encode: Encode) -> Scores:
        return benchmark(Stored(encode))  # type: ignore[arg-type]

    pairs = zip(documents_of(rows), rows["text"], strict=True)
    return Collection("search", [(str(d), "", text) for d, text in pairs], False, False, judge)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the good model")
    parser.add_argument("output", type=Path, help="folder of the runs")
    names = ["StackOverflow", "SearchSnippets", *FILES, "docstrings"]
    parser.add_argument("--collections", nargs="+", default=names, choices=names)
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    parser.add_argument(
        "--no-adapt", action="store_true", help="leave `adapt` out, which takes longest"
    )
    given = parser.parse_args()
    model = load_base(given.model)
    base = remembered(Embedder(model, 64))
    for name in given.collections:
        file = RESULTS / "beside" / Path(given.model).name / f"{name}.json"
        if not file.exists():
            found = (
                docstrings()
                if name == "docstrings"
                else search(name)
                if name in FILES
                else topics(name)
            )
            values = {
                "collection": name,
                **measured(found, given, model, base),
            }
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
            print(name, json.dumps(values["gains"]), flush=True)


def measured(
    found: Collection, given: argparse.Namespace, model: SentenceTransformer, base: Encode
) -> dict[str, Any]:
    """Every weight of every kind of static vectors, and `adapt`."""
    began = time.process_time()
    name, output = given.model, given.output / "run"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir(parents=True)
    corpus = output / "corpus.csv"
    with corpus.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "title", "text"])
        writer.writerows(found.rows)
    reading: dict[str, Any] = {"column": "text", "split_sentences": found.split}
    if found.purpose == "search":
        reading["document"] = "id"
    changes = {
        "base": name,
        "seed": SEED,
        "heldout": HELDOUT,
        **({"title": "title"} if found.titles else {}),
    }
    settings = load_settings(found.purpose, {**changes, "max_sentences": None})  # type: ignore[arg-type]
    reading_all = {"sources": [str(corpus)], **reading}
    text = read_text(settings, reading_all)
    text_rows = split_rows(
        prepare_corpus(**reading_all).dataset, settings.heldout, SEED, settings.heldout_fraction
    )[0]

    general = general_text("", tokenizer_of(model), SEED)
    judged = {"base": judge(found, base)}
    chosen: dict[str, Any] = {}
    seconds: dict[str, float] = {"reading and base": time.process_time() - began}
    for kind, static in statics(text_rows, given, model, seconds):
        judged[f"{kind}: {ALONE}"] = judge(found, lambda texts, s=static: unit(s(texts)))
        for weight in WEIGHTS:
            judged[f"{kind}: {weight:g}"] = judge(found, beside(base, static, weight))
        chosen[kind] = label_free(text.held_out, general, settings, base, static)
    begun = time.process_time()
    facts: dict[str, Any] = {}
    try:
        run = None if given.no_adapt else adapt(
            corpus, output / "run", purpose=found.purpose, quiet=True, **reading,
            base=name, seed=SEED,
            settings={"heldout": HELDOUT, "max_sentences": MOST, **({"title": "title"} if found.titles else {})},
        )  # fmt: skip
    except UserError as error:
        facts["refused"], run = str(error), None
    if run is not None:
        facts = run.result.facts
        adapted = SentenceTransformer(str(run.model))
        if facts["share"]:
            local = extract_map(adapted)
            judged["adapt"] = judge(found, lambda texts: unit(local(base(texts))))
        else:
            judged["adapt"] = judged["base"]
    seconds["adapt"] = time.process_time() - begun
    shutil.rmtree(output)
    start = judged["base"]
    return {
        "base": Path(name).name,
        "seed": SEED,
        "learned_from": len(text_rows),
        "scores": {
            key: {k: float(np.mean(v)) for k, v in each.items()} for key, each in judged.items()
        },
        "gains": {
            key: {
                k: [float(np.mean(v - start[k])), *gain_interval(v, start[k])]
                for k, v in each.items()
                if isinstance(v, np.ndarray)
            }
            for key, each in judged.items()
        },
        "label_free": chosen,
        "adapt": facts,
        "processor_seconds": {key: round(value) for key, value in seconds.items()},
        "record": {**make_record(), "command": command()},
    }


def judge(found: Collection, encode: Encode) -> Scores:
    pairs = EvaluationData().pairs("STS-B")
    cosines = np.sum(encode(pairs.sentences1) * encode(pairs.sentences2), axis=1)
    return {**found.judge(encode), "STS-B": spearman(cosines, pairs.scores)}


def beside(base: Encode, static: Encode, weight: float) -> Encode:
    """Both vectors of a text in one."""
    return lambda texts: unit(np.concatenate([base(texts), weight * static(texts)], 1))


def label_free(
    held_out: HeldOut, general: GeneralText, settings: AdaptSettings, base: Encode, static: Encode
) -> dict[str, Any]:
    """What `adapt` knows of each weight, and what it would take with its limits and without."""
    texts = [*held_out.everything, *general.measured]
    v = base(texts)
    scores = {
        w: held_out.score(beside(base, static, w)(texts) if w else v, v, general)
        for w in (0.0, *WEIGHTS)
    }
    measured = {w: score.measured for w, score in scores.items()}
    refused = {w: why for w, each in measured.items() if (why := refusal(settings, each))}
    samples = {w: score.choosing for w, score in scores.items()}
    return {
        "measured": {str(w): each for w, each in measured.items()},
        "refused": {str(w): why for w, why in refused.items()},
        "chosen": choose(samples, refused),
        "chosen_without_limits": choose(samples, {}),
        "best": max(samples, key=lambda w: float(samples[w].mean())),
    }


def statics(
    rows: Dataset, given: argparse.Namespace, model: SentenceTransformer, seconds: dict[str, float]
) -> Iterator[tuple[str, Encode]]:
    """Static vectors by their kind."""
    texts, documents = rows["text"][:], documents_of(rows)
    for kind in given.kinds:
        began = time.process_time()
        settings, tokenizer = StaticSettings(**OWN), None
        if kind == "saved":
            settings = StaticSettings(**SHARED)
            tokenizer = tokenizer_of(load_base(given.model)).backend_tokenizer
        with tempfile.TemporaryDirectory() as folder:
            static = learn(
                texts, settings, documents=documents, seed=SEED, folder=Path(folder), tokenizer=tokenizer, quiet=True
            )  # fmt: skip
        seconds[kind] = time.process_time() - began
        encode = Embedder(static) if kind == "own" else by_pieces_of(model, static, texts)
        yield kind, remembered(encode)


def by_pieces_of(
    model: SentenceTransformer, static: SentenceTransformer, texts: Sequence[str]
) -> Callable[[list[str]], Vectors]:
    """The sum of a text's static vectors over the square root of its number of pieces, with a mean length of 1."""
    table, tokenizer = static[0].embedding.weight.detach().numpy(), tokenizer_of(model)
    scale = 1.0

    def encode(texts: list[str]) -> Vectors:
        pieces = tokenizer(texts, truncation=True, max_length=model.max_seq_length)["input_ids"]
        return np.stack([table[ids].sum(0) / np.sqrt(len(ids)) for ids in pieces]) / scale

    scale = float(np.linalg.norm(encode(list(texts[:1000])), axis=1).mean())
    return encode


def remembered(encode: Callable[[list[str]], Any]) -> Encode:
    """Each text is encoded once."""
    known: dict[str, Vectors] = {}

    def vectors(texts: Sequence[str]) -> Vectors:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, np.asarray(encode(new), np.float32), strict=True))
        return np.stack([known[text] for text in texts])

    return vectors


if __name__ == "__main__":
    main()
