"""Search by words and vectors: three ways to join them, on three classic collections; and its time.

    CLUSTERNS_DATA=... CLUSTERNS_MODELS=... python -m benchmarks search

Cranfield, CISI and CACM (documents are title and abstract, all judged queries) with
all-MiniLM-L6-v2: nDCG@10 and recall@100 of vectors, words, reciprocal rank fusion (k = 60) and
min-max fusion, both over the first 100 of each side. Differences are paired over queries, with the
95 % interval of 10,000 bootstrap samples in which each collection counts the same.

Time: 175,000 lines of Wikipedia, 200 of Cranfield's questions, encoding of the question included; each
question is searched by vectors and by both in turn. The vectors of the lines lie between two of 2,000
real ones each, since only their number and length matter here.
"""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from benchmarks.harness import description, wikipedia
from clusterns.encoder.load import load_model
from clusterns.files import cache_folder
from clusterns.vectors.embed import Embedder
from clusterns.vectors.index import Index
from clusterns.vectors.lance import write_table
from clusterns.vectors.nearest import unit
from clusterns.vectors.ranking import DEPTH, fuse, largest_first
from clusterns.vectors.store import Store
from clusterns.vectors.words import WordIndex

MODEL = "all-MiniLM-L6-v2"
# Folder: documents, queries, judgments; the columns of query and document; whether query numbers
# count the queries in their order; the codes of judgments that are not relevant.
COLLECTIONS = {
    "Cranfield": ("cran", "cran.all.1400", "cran.qry", "cranqrel", True, {"-1"}),
    "CISI": ("cisi", "CISI.ALL", "CISI.QRY", "CISI.REL", False, set()),
    "CACM": ("cacm", "cacm.all", "query.text", "qrels.text", False, set()),
}
SYSTEMS = ("vectors", "words", "RRF", "min-max")
METRICS = ("nDCG@10", "recall@100")
RRF_K, BOOTSTRAPS = 60, 10_000
LINES, REAL, QUESTIONS, WARM_UP = 175_000, 2_000, 200, 20


class Collection(NamedTuple):
    """Documents, queries, and the rows of the relevant documents of each query."""

    documents: list[str]
    queries: list[str]
    relevant: list[set[int]]


def records(path: Path) -> Iterator[dict[str, str]]:
    """The records of a file in SMART's format, by field."""
    for block in re.split(r"^\.I ", path.read_text("latin-1"), flags=re.MULTILINE)[1:]:
        number, *fields = re.split(r"^\.([A-Z])\s*$", block, flags=re.MULTILINE)
        values = dict(zip(fields[::2], fields[1::2], strict=True))
        yield {"I": number.strip(), **{key: " ".join(v.split()) for key, v in values.items()}}


def collection(name: str) -> Collection:
    """Read one collection; queries without judgments are left out."""
    folder, documents, queries, judgments, by_order, irrelevant = COLLECTIONS[name]
    place = Path(os.environ["CLUSTERNS_DATA"]) / "ir" / folder
    texts = list(records(place / documents))
    rows = {record["I"]: row for row, record in enumerate(texts)}
    relevant: dict[str, set[int]] = {}
    for line in (place / judgments).read_text().splitlines():
        fields = line.split()
        if len(fields) >= 2 and (len(fields) < 3 or fields[2] not in irrelevant):
            relevant.setdefault(str(int(fields[0])), set()).add(rows[str(int(fields[1]))])
    asked = [
        (str(number) if by_order else record["I"], record.get("W", ""))
        for number, record in enumerate(records(place / queries), start=1)
    ]
    return Collection(
        [f"{text.get('T', '')} {text.get('W', '')}".strip() for text in texts],
        [query for key, query in asked if key in relevant],
        [relevant[key] for key, _ in asked if key in relevant],
    )


def rankings(
    cosines: NDArray[np.float32], scores: NDArray[np.float32]
) -> dict[str, NDArray[np.int64]]:
    """The rows that each system finds, best first."""
    by_vectors, by_words = largest_first(cosines, DEPTH), largest_first(scores, DEPTH)
    by_words = by_words[scores[by_words] > 0]
    reciprocal = np.zeros(len(cosines), dtype=np.float32)
    for rows in (by_vectors, by_words):
        reciprocal[rows] += 1 / (RRF_K + 1 + np.arange(len(rows), dtype=np.float32))
    either = np.union1d(by_vectors, by_words)
    joint = fuse(cosines[either], scores[either])
    return {
        "vectors": by_vectors,
        "words": by_words,
        "RRF": largest_first(reciprocal, DEPTH),
        "min-max": either[largest_first(joint, DEPTH)],
    }


def measure(found: NDArray[np.int64], relevant: set[int]) -> tuple[float, float]:
    """nDCG@10 and recall@100 of one ranking, in percent."""
    discounts = 1 / np.log2(np.arange(2, 12))
    gains = np.array([row in relevant for row in found[:10].tolist()], dtype=float)
    best = discounts[: min(10, len(relevant))].sum()
    recall = len(relevant.intersection(found[:DEPTH].tolist())) / len(relevant)
    return 100 * float(gains @ discounts[: len(gains)]) / best, 100 * recall


def per_query(name: str, embed: Embedder) -> NDArray[np.float64]:
    """(systems, metrics, queries) of a collection."""
    data = collection(name)
    vectors = unit(embed(data.documents, "document"))
    queries = unit(embed(data.queries, "query"))
    texts = pa.chunked_array([data.documents])
    words = WordIndex.open(cache_folder("benchmarks") / name, texts, name, progress=False)
    table = np.empty((len(SYSTEMS), len(METRICS), len(queries)))
    for number, query in enumerate(data.queries):
        found = rankings(vectors @ queries[number], words.scores(query))
        for place, system in enumerate(SYSTEMS):
            table[place, :, number] = measure(found[system], data.relevant[number])
    return table


def intervals(tables: list[NDArray[np.float64]]) -> dict[str, dict[str, list[float]]]:
    """The mean over collections of min-max minus each other system, and its 95 % interval."""
    random = np.random.default_rng(0)
    drawn = [random.integers(t.shape[2], size=(BOOTSTRAPS, t.shape[2])) for t in tables]
    found: dict[str, dict[str, list[float]]] = {}
    for place, system in enumerate(SYSTEMS[:-1]):
        found[system] = {}
        for number, metric in enumerate(METRICS):
            gains = [table[-1, number] - table[place, number] for table in tables]
            means = np.mean([g[d].mean(1) for g, d in zip(gains, drawn, strict=True)], axis=0)
            mean = float(np.mean([gain.mean() for gain in gains]))
            found[system][metric] = [mean, *np.quantile(means, [0.025, 0.975]).tolist()]
    return found


def fusion() -> dict[str, Any]:
    """Quality of each system on each collection."""
    model = load_model(str(Path(os.environ["CLUSTERNS_MODELS"]) / MODEL), device="cpu")
    embed = Embedder(model, progress=True, cache=cache_folder("benchmarks"))
    tables = [per_query(name, embed) for name in COLLECTIONS]
    return {
        "queries": {name: t.shape[2] for name, t in zip(COLLECTIONS, tables, strict=True)},
        "means": {
            name: {
                system: dict(zip(METRICS, table[place].mean(1).tolist(), strict=True))
                for place, system in enumerate(SYSTEMS)
            }
            for name, table in zip(COLLECTIONS, tables, strict=True)
        },
        "min-max minus": intervals(tables),
    }


def index_of_lines(folder: str) -> tuple[Index, SentenceTransformer]:
    """The index of many lines, and the model that searches it."""
    model = load_model(str(Path(os.environ["CLUSTERNS_MODELS"]) / MODEL), device="cpu")
    lines = wikipedia(LINES)
    real = Embedder(model, cache=cache_folder("benchmarks"))(lines[:REAL], "document")
    random = np.random.default_rng(0)

    def between(texts: list[str], **_: Any) -> NDArray[np.float32]:
        one, other = random.integers(REAL, size=(2, len(texts)))
        return 0.7 * real[one] + 0.3 * real[other]

    model.encode_document = between
    return Index.build(Path(folder) / "index", model, lines, progress=False), model


def speed() -> dict[str, Any]:
    """Seconds of a search by vectors and by both."""
    questions = collection("Cranfield").queries[:QUESTIONS]
    with tempfile.TemporaryDirectory() as folder:
        index, model = index_of_lines(folder)
        begun = time.perf_counter()
        words = index.words
        building = time.perf_counter() - begun
        seconds: dict[str, list[float]] = {"vectors": [], "both": []}
        for number, question in enumerate([*questions[:WARM_UP], *questions]):
            for by, taken in seconds.items():
                begun = time.perf_counter()
                index.search(model, question, by=by)
                if number >= WARM_UP:
                    taken.append(time.perf_counter() - begun)
        size = sum(file.stat().st_size for file in (index.folder / "words" / "index").iterdir())
    return {
        "lines": LINES,
        "distinct words": len(words.words),
        "building words, seconds": building,
        "index of words, MB": size / 1e6,
        "milliseconds": {
            by: {"median": 1000 * float(np.median(t)), "p95": 1000 * float(np.quantile(t, 0.95))}
            for by, t in seconds.items()
        },
    }


def lance() -> dict[str, Any]:
    """The same lines as a table of LanceDB, searched there."""
    import lancedb

    questions = collection("Cranfield").queries[:QUESTIONS]
    with tempfile.TemporaryDirectory() as folder:
        index, model = index_of_lines(folder)
        database = f"{folder}/lance"
        begun = time.perf_counter()
        rows = write_table(Store.open(index.folder), database, "texts")
        writing = time.perf_counter() - begun
        table = lancedb.connect(database).open_table("texts")
        seconds, sample = [], range(0, LINES, LINES // QUESTIONS)
        found = 0
        for question in [*questions[:WARM_UP], *questions]:
            begun = time.perf_counter()
            vector = model.encode_query(question)
            hits = table.search(query_type="hybrid").vector(vector).text(question).limit(10)
            assert len(hits.to_list()) == 10
            seconds.append(time.perf_counter() - begun)
        for row in sample:
            words = re.sub(r"\W+", " ", index.texts[row].as_py())
            hits = table.search(words, query_type="fts").limit(10).to_list()
            found += index.texts[row].as_py() in {hit["text"] for hit in hits}
        size = sum(file.stat().st_size for file in Path(database).rglob("*") if file.is_file())
    return {
        "rows": rows,
        "writing, seconds": writing,
        "MB": size / 1e6,
        "hybrid search, p95 milliseconds": 1000 * float(np.quantile(seconds[WARM_UP:], 0.95)),
        "lines found by their own words": found / len(sample),
    }


def run() -> dict[str, Any]:
    """The record."""
    return {"quality": fusion(), "speed": speed(), "lance": lance()}


def markdown(record: dict[str, Any]) -> str:
    """The part of the page."""
    quality, speed, table = record["quality"], record["speed"], record["lance"]
    means = quality["means"]
    header = ["", *(f"{name} ({n} queries)" for name, n in quality["queries"].items()), "mean"]
    rows = [header, ["---", *["---:"] * (len(header) - 1)]]
    for system in SYSTEMS:
        pairs = [[each[system][metric] for metric in METRICS] for each in means.values()]
        pairs.append(np.mean(pairs, axis=0).tolist())
        rows.append([system, *(f"{gain:.1f} / {recall:.1f}" for gain, recall in pairs)])
    quality_table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    gains = "; ".join(
        f"{system} by "
        + " and ".join(
            f"{mean:+.1f} {metric} ({low:.1f} to {high:.1f})"
            for metric, (mean, low, high) in metrics.items()
        )
        for system, metrics in quality["min-max minus"].items()
    )
    times = speed["milliseconds"]
    ratio = times["both"]["p95"] / times["vectors"]["p95"]
    return f"""## Search by words and vectors

{description(__doc__)}

nDCG@10 / recall@100:

{quality_table}

Min-max fusion beats {gains}.

{speed["lines"]:,} lines: a search by vectors takes {times["vectors"]["p95"]:.0f} ms, by both
{times["both"]["p95"]:.0f} ms (95th percentile), {ratio:.2f} times as long. The index of words is built in
{speed["building words, seconds"]:.0f} s and takes {speed["index of words, MB"]:.0f} MB.

`clusterns lance` writes these lines with their indexes in {table["writing, seconds"]:.0f} s ({table["MB"]:.0f} MB); a
hybrid search of LanceDB takes {table["hybrid search, p95 milliseconds"]:.0f} ms there (95th percentile), and
{table["lines found by their own words"]:.0%} of 200 lines are among the first ten for their own words.
"""
