"""Adapt a good model for search in three collections with judged queries: does it find more by embeddings alone?

    CLUSTERNS_DATA=... python research/adapt_search.py MODEL runs/search

Each collection is adapted to as a user would: a table of documents with and without their titles, no query seen.
nDCG@10 and recall@100 over all queries, before and after, with the 95 % interval of the gain; STS-B test beside them.
A collection has one record in results/adapt/search/MODEL; one that is there is left alone.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sentence_transformers import SentenceTransformer

from adapt_runs import DATA, RESULTS, command, remembering
from clusterns import adapt, load_base
from clusterns.adaptation.scores import gain_interval
from clusterns.errors import UserError
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.sts import spearman
from clusterns.record import make_record

FILES = {
    "Cranfield": ("cran", "cran.all.1400", "cran.qry", "cranqrel"),
    "CISI": ("cisi", "CISI.ALL", "CISI.QRY", "CISI.REL"),
    "CACM": ("cacm", "cacm.all", "query.text", "qrels.text"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", help="the good model")
    parser.add_argument("output", type=Path, help="folder of the runs")
    parser.add_argument("--collections", nargs="+", default=list(FILES), choices=FILES)
    given = parser.parse_args()
    for name in given.collections:
        file = RESULTS / "search" / Path(given.model).name / f"{name}.json"
        if not file.exists():
            values = measured(name, given.model, given.output / name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values, indent=1) + "\n", "utf-8")
            print(name, json.dumps(values["after"]), flush=True)


def measured(name: str, base: str, output: Path) -> dict[str, Any]:
    documents, queries, relevant = collection(name)
    before = scores(load_base(base), documents, queries, relevant)
    after = {}
    for titles in (True, False):
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        corpus = output / "corpus.csv"
        with corpus.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "title", "text"])
            writer.writerows(
                (number, title, body if titles else f"{title} {body}")
                for number, (title, body) in documents.items()
                if body
            )
        try:
            run = adapt(
                corpus, output / "run", base=base, purpose="search", column="text", document="id",
                split_sentences=True, settings={"title": "title"} if titles else {}, quiet=True,
            )  # fmt: skip
        except UserError as error:  # Cranfield is in lower case: no sentences are told apart
            if titles:
                raise
            print(name, error)
            continue
        found = scores(SentenceTransformer(str(run.model)), documents, queries, relevant)
        gains = {key: gain_interval(found[key], before[key]) for key in ("nDCG@10", "recall@100")}
        after["titles" if titles else "first sentences"] = {
            **{key: float(np.mean(values)) for key, values in found.items()},
            "intervals": gains,
            "facts": run.result.facts,
        }
    shutil.rmtree(output)
    return {
        "collection": name,
        "base": Path(base).name,
        "queries": len(queries),
        "before": {key: float(np.mean(values)) for key, values in before.items()},
        "after": after,
        "record": {**make_record(), "command": command()},
    }


def scores(
    model: SentenceTransformer,
    documents: dict[int, tuple[str, str]],
    queries: dict[int, str],
    relevant: dict[int, set[int]],
) -> dict[str, Any]:
    """nDCG@10 and recall@100 of each query, and STS-B."""
    encode = remembering(model)
    numbers = list(documents)
    texts = [f"{title} {body}".strip() for title, body in documents.values()]
    order = np.argsort(-(encode(list(queries.values())) @ encode(texts).T), axis=1, kind="stable")
    ndcg, recall = [], []
    for row, query in enumerate(queries):
        wanted = relevant[query]
        hits = np.array([numbers[place] in wanted for place in order[row, :100]])
        discounts = 1 / np.log2(np.arange(2, 12))
        ndcg.append(100 * (hits[:10] * discounts).sum() / discounts[: len(wanted)].sum())
        recall.append(100 * hits.sum() / len(wanted))
    pairs = EvaluationData().pairs("STS-B")
    cosines = np.sum(encode(pairs.sentences1) * encode(pairs.sentences2), axis=1)
    stsb = 100 * spearman(cosines, pairs.scores)
    return {"nDCG@10": np.array(ndcg), "recall@100": np.array(recall), "STS-B": stsb}


def collection(name: str) -> tuple[dict[int, tuple[str, str]], dict[int, str], dict[int, set[int]]]:
    """Documents (title and body), queries and judgements; Cranfield counts its queries by their order."""
    folder, *files = FILES[name]
    documents, queries, judgements = (DATA / "ir" / folder / file for file in files)
    relevant: dict[int, set[int]] = {}
    for line in judgements.read_text("latin-1").splitlines():
        query, document, *rest = line.split()
        if not (name == "Cranfield" and rest[0] == "-1"):
            relevant.setdefault(int(query), set()).add(int(document))
    asked = {
        row if name == "Cranfield" else number: fields.get("W", "")
        for row, (number, fields) in enumerate(records(queries), 1)
    }
    texts = {}
    for number, fields in records(documents):
        title, body = fields.get("T", ""), fields.get("W", "")
        texts[number] = title, body.removeprefix(title).strip()  # Cranfield repeats the title
    return texts, {key: text for key, text in asked.items() if key in relevant}, relevant


def records(file: Path) -> list[tuple[int, dict[str, str]]]:
    """The records of a file with lines like ``.I 1`` and ``.W``."""
    found = []
    for record in re.split(r"^\.I ", file.read_text("latin-1"), flags=re.MULTILINE)[1:]:
        number, *parts = re.split(r"^\.([A-Z])[ \t]*$", record, flags=re.MULTILINE)
        fields: dict[str, str] = {}
        for key, text in zip(parts[::2], parts[1::2], strict=True):
            fields[key] = f"{fields.get(key, '')} {' '.join(text.split())}".strip()
        found.append((int(number), fields))
    return found


if __name__ == "__main__":
    main()
