"""Tables of docs/adapt.md: what adapting does, and what a user would do instead."""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any

from clusterns.methods.adapting import told
from tables_of_runs import RESULTS

FIRST, SECOND = "all-MiniLM-L6-v2", "wordllama-256"
ADAPTED = ("StackOverflow", "SearchSnippets", "AG", "G-T", "Tweet", "DBpedia", "docstrings")
RIVALS = {
    "adapt": "clusterns adapt",
    "whole": "clusterns adapt, the whole way",
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
    return indent(told(facts["purpose"], measured, refused, facts["share"]), "    ")


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
