"""Numbers of docs/adapt.md and docs/adapt-study.md: what adapting does, and what a user would do instead."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from clusterns.adaptation.scores import refusal, table
from clusterns.adaptation.settings import TopicSettings

RECORDS = Path(__file__).parents[1] / "results" / "adapt"
Way = Mapping[str, Mapping[str, float]]
FIRST, SECOND = "all-MiniLM-L6-v2", "wordllama-256"
DOMAINS = ("StackOverflow", "SearchSnippets", "AG", "G-T", "Tweet", "DBpedia", "docstrings")


def shares() -> dict[str, Any]:
    """The end of one run, as it is printed."""
    facts = _read(RECORDS / "guarded" / FIRST / "Tweet-adapt-1.json")["facts"]
    measured = {float(share): found for share, found in facts["measured"].items()}
    refused = {float(share): why for share, why in facts["refused"].items()}
    return {"table": table(facts["purpose"], measured, refused, facts["share"])}


def adaptations(model: str) -> dict[str, Any]:
    runs = [run for run in _runs(model) if run["method"] == "adapt"]
    by_domain = {name: [run for run in runs if run["domain"] == name] for name in DOMAINS}
    judged = [name for name in DOMAINS[1:6] if by_domain[name]]
    gains = {
        key: statistics.mean(
            statistics.mean(run["after"][key] - run["before"][key] for run in by_domain[name])
            for name in judged
        )
        for key in ("kNN", "AMI", "STS-B")
    }
    domains = {name: runs for name, runs in by_domain.items() if runs}
    return {"domains": domains, "judged": judged, "gains": gains}


def guarded() -> dict[str, Any]:
    """Both models with the limits of today."""
    rows, gains = [], {}
    for model in (FIRST, SECOND):
        runs = _runs(f"guarded/{model}")
        for name in DOMAINS[:-1]:
            own = [run for run in runs if run["domain"] == name]
            if own:
                rows.append((model, name, own))
        if runs:
            gains[model] = {
                key: statistics.mean(run["after"][key] - run["before"][key] for run in runs)
                for key in ("kNN", "AMI", "STS-B")
            }
    return {"rows": rows, "gains": gains}


def search() -> dict[str, Any]:
    """What adapting for search gains by embeddings alone."""
    return {
        "records": [
            (model, _read(file))
            for model in (FIRST, SECOND)
            for file in sorted((RECORDS / "search" / model).glob("*.json"))
        ]
    }


MEASURES = {
    "kNN": "kNN",
    "AMI": "AMI",
    "ndcg@10 vectors": "nDCG@10, vectors",
    "ndcg@10 both": "nDCG@10, words and vectors",
    "retrieval": "MRR",
    "clustering": "AMI",
    "queries_found": "questions answered",
}


def beside() -> dict[str, Any]:
    """A good model beside static vectors learned from the same text."""
    columns = ["base", "own: static alone", "own: 0.5", "own: 1", "adapt"]
    records = [_read(file) for file in sorted((RECORDS / "beside" / FIRST).glob("*.json"))]
    rows = [
        (record, label, key)
        for record in records
        for key, label in MEASURES.items()
        if "own: 1" in record["scores"] and key in record["scores"]["base"]
    ]
    return {"rows": rows, "columns": columns}


def rivals() -> dict[str, Any]:
    runs = _runs(FIRST)
    domains = [
        name
        for name in DOMAINS
        if any(run["domain"] == name and run["method"] != "adapt" for run in runs)
    ]
    scores: dict[str, dict[str, Any]] = {"start": {run["domain"]: run["before"] for run in runs}}
    for run in runs:
        if run["seed"] == 1:
            scores.setdefault(run["method"], {})[run["domain"]] = run["after"]
    return {"domains": domains, "scores": scores}


def _runs(model: str) -> list[dict[str, Any]]:
    return [_read(file) for file in sorted((RECORDS / model).glob("*.json"))]


# What chooses the weight: the scores of research/adapt_scores.py, and what `clusterns adapt` does.
GOOD, BEST, HARM = "adapt", "common_neighbours", 0.5
SCORES = (BEST, "halves", "clusters_of_halves", "stable_clusters", "silhouette")


def candidates() -> dict[str, Any]:
    """Which score without labels would choose right, over all domains and ways."""
    files = sorted((RECORDS / "scores" / FIRST).glob("*.json"))
    ways = [_read(file)["ways"] for file in files]
    rules: dict[str, Callable[[Way], str]] = {
        "limits_then_best": within_limits,
        "limits": lambda way: max(share for share in way if not refused(way)[share]),
    }
    for key in SCORES:
        rules[key] = lambda way, key=key: max(way, key=lambda share: way[share][key])
    good = [each[GOOD] for each in ways]
    bad = [way for each in ways for title, way in each.items() if title != GOOD]
    # Where the limits leave a choice, and one of what they allow would do harm.
    free = [
        way
        for way in bad
        if any(not why and gain(way, share) < -HARM for share, why in refused(way).items())
    ]
    rows = {}
    for name, rule in rules.items():
        gains, lost = [gain(way, rule(way)) for way in good], [gain(way, rule(way)) for way in bad]
        best = [max(gain(way, share) for share in way) for way in good]
        rows[name] = {
            "kNN": statistics.mean(gains),
            "near": sum(most - got <= 1 for got, most in zip(gains, best, strict=True)),
            "AMI": statistics.mean(gain(way, rule(way), "AMI") for way in good),
            "harm": statistics.mean(lost), "worst": min(lost),
            "harmed": sum(each < -HARM for each in lost),
        }  # fmt: skip
    saved = sum(gain(way, within_limits(way)) >= -HARM for way in free)
    return {"rows": rows, "good": len(good), "bad": len(bad), "free": len(free), "saved": saved}


def within_limits(way: Way) -> str:
    """The best allowed weight."""
    why = refused(way)
    allowed = [share for share in way if float(share) == 0 or not why[share]]
    return max(allowed, key=lambda share: (way[share][BEST], -float(share)))


def refused(way: Way) -> dict[str, str]:
    # The limits of the time when these were recorded.
    settings = TopicSettings(base="", min_agreement_general=0.99)
    return {share: refusal(settings, found) for share, found in way.items()}


def gain(way: Way, share: str, key: str = "kNN") -> float:
    return way[share][key] - way["0.0"][key]


def change(runs: list[dict[str, Any]], key: str) -> str:
    """From the start to the mean over seeds, with the lowest and highest where there are several."""
    after = [run["after"][key] for run in runs if key in run["after"]]
    if not after:
        return ""
    mean, several = statistics.mean(after), f" ({min(after):.1f} to {max(after):.1f})"
    return f"{runs[0]['before'][key]:.1f} -> {mean:.1f}{several if len(after) > 1 else ''}"


def paired_change(runs: list[dict[str, Any]], key: str) -> str:
    """From the mean before to the mean after, with the lowest and highest gain: each seed has its own lines."""
    before, after = ([run[when][key] for run in runs] for when in ("before", "after"))
    gains = [now - then for now, then in zip(after, before, strict=True)]
    several = f" ({min(gains):+.1f} to {max(gains):+.1f})" if len(gains) > 1 else ""
    return f"{statistics.mean(before):.1f} -> {statistics.mean(after):.1f}{several}"


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))
