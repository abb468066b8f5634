"""Tables of docs/adapt.md: what adapting does, and what a user would do instead."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from statistics import mean
from textwrap import indent
from typing import Any

from clusterns.adaptation.scores import refusal, table
from clusterns.adaptation.settings import TopicSettings
from tables_of_runs import RESULTS

Way = Mapping[str, Mapping[str, float]]
FIRST, SECOND = "all-MiniLM-L6-v2", "wordllama-256"
ADAPTED = ("StackOverflow", "SearchSnippets", "AG", "G-T", "Tweet", "DBpedia", "docstrings")
RIVALS = {
    "adapt": "clusterns adapt",
    "linear": "a linear map to the same targets",
    "layers": "two layers trained to the same targets",
    "pairs": "two layers trained with document positives",
    "simcse": "SimCSE, dropout",
    "crops": "SimCSE, crops",
    "clusterns": "ClusterNS, dropout, K = 64",
    "tsdae": "TSDAE",
    "gist": "GISTEmbed",
    "whitening": "whitening, 256",
}


def shares() -> str:
    """The end of one run, as it is shown."""
    file = RESULTS / "adapt" / FIRST / "StackOverflow-adapt-1.json"
    facts = json.loads(file.read_text("utf-8"))["facts"]
    measured = {float(share): found for share, found in facts["measured"].items()}
    refused = {float(share): why for share, why in facts["refused"].items()}
    return indent(table(facts["purpose"], measured, refused, facts["share"]), "    ")


def adaptations(model: str) -> str:
    cells = [cell for cell in adapt_cells(model) if cell["method"] == "adapt"]
    lines = [
        "| text | seeds | share | kNN | AMI | MRR | STS-B |",
        "|---|---:|---:|---|---|---|---|",
    ]
    for domain in ADAPTED:
        of = [cell for cell in cells if cell["domain"] == domain]
        if of:
            shares = ", ".join(sorted({f"{cell['facts']['share']:g}" for cell in of}))
            values = " | ".join(change(of, key) for key in ("kNN", "AMI", "MRR", "STS-B"))
            lines.append(f"| {domain} | {len(of)} | {shares} | {values} |")
    judged = [d for d in ADAPTED[1:6] if any(cell["domain"] == d for cell in cells)]
    gains = {
        key: [
            sum(c["after"][key] - c["before"][key] for c in cells if c["domain"] == d)
            / sum(c["domain"] == d for c in cells)
            for d in judged
        ]
        for key in ("kNN", "AMI", "STS-B")
    }
    told = ", ".join(f"{key} {sum(each) / len(each):+.2f}" for key, each in gains.items())
    return "\n".join([*lines, "", f"*Mean over {', '.join(judged)}: {told}.*"])


def guarded() -> str:
    """Both models with the limits of today."""
    lines = [
        "| model | text | seeds | weight | kNN | AMI | STS-B |",
        "|---|---|---:|---:|---|---|---|",
    ]
    notes = []
    for model in (FIRST, SECOND):
        cells = adapt_cells(f"guarded/{model}")
        for domain in ADAPTED[:-1]:
            of = [cell for cell in cells if cell["domain"] == domain]
            if of:
                weights = ", ".join(sorted({f"{cell['facts']['share']:g}" for cell in of}))
                values = " | ".join(paired_change(of, key) for key in ("kNN", "AMI", "STS-B"))
                lines.append(f"| {model} | {domain} | {len(of)} | {weights} | {values} |")
        gains = [
            f"{key} {mean(cell['after'][key] - cell['before'][key] for cell in cells):+.2f}"
            for key in ("kNN", "AMI", "STS-B")
            if cells
        ]
        if gains:
            notes.append(f"{model} {', '.join(gains)}")
    return "\n".join([*lines, "", f"*Mean of all runs: {'; '.join(notes)}.*"])


def searches() -> str:
    """What adapting for search gains by embeddings alone."""
    lines = [
        "| model | collection | base: nDCG@10, recall@100 | titles | first sentences | STS-B |",
        "|---|---|---|---|---|---|",
    ]
    for model in (FIRST, SECOND):
        for file in sorted((RESULTS / "adapt" / "search" / model).glob("*.json")):
            record = json.loads(file.read_text("utf-8"))
            before, after = record["before"], record["after"]
            told = [
                f"{found['nDCG@10'] - before['nDCG@10']:+.1f} "
                f"({found['intervals']['nDCG@10'][0]:+.1f} to {found['intervals']['nDCG@10'][1]:+.1f}), "
                f"{found['recall@100'] - before['recall@100']:+.1f}"
                for found in (after["titles"], after["first sentences"])
            ]
            stsb = ", ".join(f"{found['STS-B'] - before['STS-B']:+.2f}" for found in after.values())
            lines.append(
                f"| {model} | {record['collection']} | {before['nDCG@10']:.1f}, {before['recall@100']:.1f} | "
                f"{' | '.join(told)} | {stsb} |"
            )
    note = "*Gains by embeddings alone, with 95 % intervals over queries for nDCG@10 (`scripts/adapt_search.py`).*"
    return "\n".join([*lines, "", note])


def rivals() -> str:
    cells = adapt_cells(FIRST)
    domains = [
        domain
        for domain in ADAPTED
        if any(c["domain"] == domain and c["method"] != "adapt" for c in cells)
    ]
    titles = [f"{domain}: MRR, STS-B" if domain == "docstrings" else domain for domain in domains]
    lines = [f"| kNN, AMI, STS-B | {' | '.join(titles)} |", "|---|" + "---|" * len(domains)]
    start = {c["domain"]: c["before"] for c in cells}
    rows = {"the start": {d: start[d] for d in domains}}
    for method in RIVALS:
        rows[RIVALS[method]] = {
            c["domain"]: c["after"] for c in cells if c["method"] == method and c["seed"] == 1
        }
    for name, found in rows.items():
        if any(domain in found for domain in domains):
            cells_of = [
                ", ".join(f"{value:.1f}" for value in found[d].values()) if d in found else ""
                for d in domains
            ]
            lines.append(f"| {name} | {' | '.join(cells_of)} |")
    return "\n".join([*lines, "", "*Seed 1: differences under a point or so are noise.*"])


# What chooses a share of the way: the scores of adapt_scores.py, and what `clusterns adapt` does.
GOOD, BEST, HARM = "adapt", "common_neighbours", 0.5
CANDIDATES = {
    BEST: "neighbours that both halves have in common",
    "halves": "a half finds the other one",
    "clusters_of_halves": "both halves in one cluster",
    "stable_clusters": "K-means finds the same again",
    "silhouette": "silhouette of the clusters",
}


def candidates(model: str) -> str:
    """Which score without labels would choose right, over all domains and ways."""
    files = sorted((RESULTS / "adapt" / "scores" / model).glob("*.json"))
    ways = [json.loads(file.read_text("utf-8"))["ways"] for file in files]
    rules: dict[str, Callable[[Way], str]] = {
        "**the limits, then common neighbours**": lambda way: within_limits(way, BEST),
        "the limits alone": lambda way: max(share for share in way if not refused(way)[share]),
    }
    for key, title in CANDIDATES.items():
        rules[title] = lambda way, key=key: max(way, key=lambda share: way[share][key])
    good = [each[GOOD] for each in ways]
    bad = [way for each in ways for title, way in each.items() if title != GOOD]
    # Where the limits leave a choice, and one of what they allow would do harm.
    free = [
        way
        for way in bad
        if any(not why and gain(way, share) < -HARM for share, why in refused(way).items())
    ]
    lines = [
        "| chosen by | way of adapt: kNN | within a point of the best | AMI | ways to harm: kNN | worst | harmed |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for title, rule in rules.items():
        gains = [gain(way, rule(way)) for way in good]
        best = [max(gain(way, share) for share in way) for way in good]
        near = sum(most - got <= 1 for got, most in zip(gains, best, strict=True))
        ami = [gain(way, rule(way), "AMI") for way in good]
        lost = [gain(way, rule(way)) for way in bad]
        lines.append(
            f"| {title} | {mean(gains):+.1f} | {near} of {len(good)} | {mean(ami):+.1f} | {mean(lost):+.1f} | "
            f"{min(lost):+.1f} | {sum(each < -HARM for each in lost)} of {len(bad)} |"
        )
    saved = sum(gain(way, within_limits(way, BEST)) >= -HARM for way in free)
    note = (
        f"*On {len(free)} of the {len(bad)} ways to harm, the limits allow a share that does; common neighbours choose "
        f"one that does not on {saved} of these.*"
    )
    return "\n".join([*lines, "", note])


def within_limits(way: Way, key: str) -> str:
    """The best allowed weight by this score."""
    why = refused(way)
    allowed = [share for share in way if float(share) == 0 or not why[share]]
    return max(allowed, key=lambda share: (way[share][key], -float(share)))


def refused(way: Way) -> dict[str, str]:
    # The limits of the time when these were recorded.
    settings = TopicSettings(base="", min_agreement_general=0.99)
    return {share: refusal(settings, found) for share, found in way.items()}


def gain(way: Way, share: str, key: str = "kNN") -> float:
    return way[share][key] - way["0.0"][key]


def adapt_cells(model: str) -> list[dict[str, Any]]:
    files = sorted((RESULTS / "adapt" / model).glob("*.json"))
    return [json.loads(file.read_text("utf-8")) for file in files]


def change(cells: list[dict[str, Any]], key: str) -> str:
    """From the start to the mean over seeds, with the lowest and highest where there are several."""
    after = [cell["after"][key] for cell in cells if key in cell["after"]]
    if not after:
        return ""
    before, mean = cells[0]["before"][key], sum(after) / len(after)
    spread = f" ({min(after):.1f} to {max(after):.1f})" if len(after) > 1 else ""
    return f"{before:.1f} -> {mean:.1f}{spread}"


def paired_change(cells: list[dict[str, Any]], key: str) -> str:
    """From the mean before to the mean after, with the lowest and highest gain: each seed has its own lines."""
    before, after = ([cell[when][key] for cell in cells] for when in ("before", "after"))
    gains = [now - then for now, then in zip(after, before, strict=True)]
    spread = f" ({min(gains):+.1f} to {max(gains):+.1f})" if len(gains) > 1 else ""
    return f"{mean(before):.1f} -> {mean(after):.1f}{spread}"
