"""Sections of docs/results.md that are not of one experiment: clusters, loss, budget, searches.

Each takes the folder of the records and that of the docs, and gives nothing where there is no record.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from clusterns.files import read_json
from clusterns.lab.experiment import BUDGETS
from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome, read_curves
from clusterns.lab.records import Record
from clusterns.lab.specs import FigureSpec
from clusterns.tables import Table
from record_run import base_of

SMALL = BUDGETS["small"]

# Written by diagnose_clusters.py.
CLUSTERS = "clusters-of-dbpedia.json"
# Runs that were kept by record_run.py.
BUDGET = "budget"
# Written by record_lab.py.
SEARCHES = "searches"
DEV = "eval_STS-B-dev_spearman"
# Written by seeds_over_rows.py.
SEEDS_OVER_ROWS = "seeds-over-rows.json"
CLUSTERS_HEAD = """## What the clusters are worth

ClusterNS trained on DBpedia's texts, with crops, in the small budget; looked at after the last step with 2,048 texts
that it did not train on, in batches as in training, one seed. *AMI* of the clusters of a batch with the 14 classes.
*Found*: sentences with another member in their cluster, the false negatives; *precision*: of these pairs, how many
are of one class (*by chance*: of all pairs); *recall*: of the pairs of one class, how many are found. *Hard*:
similarity to the second nearest centroid, next to that of the mean and of the hardest sentence of another class in
the batch; *share*: of the denominator without the positive, what the centroids contribute. Percentages, but for the
similarities.
"""
# About the committed record: to be read again when that is made again.
CLUSTERS_SAY = """\
With the paper's gamma the centroids stay almost where they began, and the encoder moves on: within twenty steps they
are far from every sentence ([similarity](#similarity)). With crops and batches of 64 the second nearest one is then
less like a sentence than one of another class that is taken at random, wherever the centroids came from, and all of
them count for next to nothing; with dropout it is a little nearer than a random sentence, but nothing is left to learn
([below](#what-is-left-to-learn)). So ClusterNS can differ little from SimCSE here. A hundred times that gamma lets the
centroids follow: clusters agree with the classes far better, half of the false negatives are found, and the hard
negatives are as hard as the hardest sentence of the batch and count for more than all of it. What that does to STS:
[momentum](#momentum).
"""
SEEN = {
    "AMI": ("ami", 1),
    "found": ("found", 1),
    "precision": ("precision", 1),
    "by chance": ("same_class", 1),
    "recall": ("recall", 1),
    "hard": ("hard_negative", 2),
    "mean other": ("mean_negative", 2),
    "hardest other": ("hardest_negative", 2),
    "share": ("share_of_denominator", 1),
}


def seeds_over_rows(records: Path) -> str:
    """What a test over rows says of two seeds of one method."""
    if not (records / SEEDS_OVER_ROWS).is_file():
        return "and says little of others"
    record = read_json(records / SEEDS_OVER_ROWS)
    told = [
        f"{one['significant']} of {one['pairs']} pairs of seeds of {name}"
        for name, one in record["methods"].items()
    ]
    return (
        f"and says little of others: it finds {' and '.join(told)} different at {record['level']:.0%} "
        f"(`{record['command']}`)"
    )


def clusters(records: Path, docs: Path) -> str:
    """What diagnose_clusters.py saw at the end of each of its runs."""
    if not (records / CLUSTERS).is_file():
        return ""
    record = read_json(records / CLUSTERS)
    table = Table("", ["steps", *SEEN], mark_best=False, corner="ClusterNS")
    for name, one in record["settings"].items():
        step, seen = list(one["looks"].items())[-1]
        table.rows.append(
            (name, [step, *(f"{seen[key]:.{digits}f}" for key, digits in SEEN.values())])
        )
    made = (
        f"*Base {base_of(record)}, seed {record['seed']}, `{record['command']}`. "
        f"Record: `results/lab/{CLUSTERS}`.*\n"
    )
    return "\n".join([CLUSTERS_HEAD, table.markdown(), CLUSTERS_SAY, made])


LOSS_HEAD = """## What is left to learn

The contrastive loss at three steps of training, each of one batch, mean over seeds, of every system that has one (of
several terms this one alone); STS-B dev before training, at step 25 and at best; the mean similarity of positives and
of in-batch negatives at the last step.
"""
# About the committed record, likewise.
LOSS_SAY = """\
With dropout and without prompts the right sentence has about 99 % of the probability after five steps and 99.9 % after
25: hardly a gradient is left, whichever negatives there are, and DCLR, whose noise is among them, ends next to SimCSE.
Only crops leave something to tell apart, and a higher temperature does, too ([temperature](#temperature)): at 0.2 the
loss stays above a half. There the centroids count: with the paper's gamma ClusterNS is below SimCSE with each of three
seeds; where they follow the encoder (gamma 0.1) it is not, and that it would be above is not shown either.
"""
LOSS = "contrastive_loss"
LOSS_STEPS = (5, 25, 125)
EARLY = 25


def loss(records: Path, docs: Path) -> str:
    """How soon the contrastive task of each system of the main table is solved."""
    path = records / "main.jsonl"
    if not path.is_file():
        return ""
    table = Table(
        "",
        [
            *(f"loss at {step}" for step in LOSS_STEPS), "dev before", f"dev at {EARLY}", "dev at best",
            "positives", "negatives", "seeds",
        ],
        mark_best=False, corner="System",
    )  # fmt: skip
    for line in Record.read(path).lines:
        curves = [dict(curve) for curve in line.curves(LOSS)]
        if not curves:
            continue
        at = [[curve[step] for curve in curves if step in curve] for step in LOSS_STEPS]
        shown: list[float | str | None] = [f"{np.mean(v):.4f}" if v else None for v in at]
        early = [dict(curve).get(EARLY) for curve in line.curves(DEV)]
        found: list[tuple[list[Any], int]] = [
            (list(line.values("base").values()), 1),
            ([value for value in early if value is not None], 1),
            (list(line.values("dev").values()), 1),
            (list(line.values("last/positive_similarity").values()), 2),
            (list(line.values("last/negative_similarity").values()), 2),
        ]
        shown += [f"{np.mean(values):.{digits}f}" if values else None for values, digits in found]
        table.rows.append((line.label, [*shown, str(len(curves))]))
    return "\n".join([LOSS_HEAD, table.markdown(), LOSS_SAY])


BUDGET_HEAD = f"""## How long a cell trains

With the small budget {SMALL["max_steps"]} steps of {SMALL["batch_size"]} sentences: by then SimCSE's own curve on STS-B
dev has risen nearly as far as it does. The same over twice as many steps, seed 0, which no table uses:
"""


def budget(records: Path, docs: Path) -> str:
    """SimCSE's own curves over more steps than a cell has."""
    runs = sorted((records / BUDGET).glob("*"))
    if not runs:
        return ""
    lines, found = [], []
    for run in runs:
        curves = read_curves(run / "metrics.jsonl")
        lines.append(Line(run.name, run.name, outcomes=[Outcome(0, {}, curves)]))
        scores = dict(curves[DEV])
        best = max(scores, key=lambda step: scores[step])
        found.append(
            f"{run.name}: {scores[0]:.1f} before, {scores[BUDGETS['small']['max_steps']]:.1f} at step "
            f"{BUDGETS['small']['max_steps']}, at best {scores[best]:.1f} (step {best})"
        )
    drawing = FigureSpec(kind="curves", values=[DEV], label="STS-B dev")
    draw(BUDGET, drawing, lines, docs / "results", ("svg",))
    bases = ", ".join(sorted({base_of(read_json(run / "run.json")) for run in runs}))
    return "\n".join(
        [
            BUDGET_HEAD,
            f"![SimCSE on STS-B dev](results/{BUDGET}.svg)\n",
            f"*{'; '.join(found)}; base {bases}. Records: `results/lab/{BUDGET}`.*\n",
        ]
    )


SEARCHES_HEAD = """## What was searched

Trials of Optuna's sampler on STS-B dev with seed 0, which no table uses. The first trial is the recipe as it is.
Compare methods that were given as many. *Range*: over all trials.
"""


def searches(records: Path, docs: Path) -> str:
    """What `clusterns lab search` found for each method."""
    tried = [read_json(path) for path in sorted((records / SEARCHES).glob("*.json"))]
    if not tried:
        return ""
    columns = ["with", "trials", "recipe as it is", "best", "range", "settings of the best"]
    table = Table("", columns, mark_best=False, corner="Method")
    for record in tried:
        scored = {one["number"]: one for one in record["trials"] if one["value"] is not None}
        if not scored:
            continue
        values, best = [one["value"] for one in scored.values()], scored[record["best"]]
        # The first trial, or its second try where it was killed.
        asked = record["trials"][0]["settings"]
        first = next((one["value"] for one in scored.values() if one["settings"] == asked), None)
        changed = {
            key: value
            for key, value in record["settings"].items()
            if value != SMALL.get(key) and key not in ("method", "seed")
        }
        table.rows.append(
            (
                record["method"],
                [
                    _listed(changed),
                    str(len(record["trials"])),
                    None if first is None else f"{first:.2f}",
                    f"{best['value']:.2f}",
                    f"{min(values):.2f} to {max(values):.2f}",
                    _listed(best["settings"]),
                ],
            )
        )
    commands = "; ".join(f"`{' '.join(one['record']['command'])}`" for one in tried)
    bases = ", ".join(sorted({base_of(one) for one in tried}))
    made = f"*{commands}; base {bases}. Records: `results/lab/{SEARCHES}`.*\n"
    return "\n".join([SEARCHES_HEAD, table.markdown(), made])


def _listed(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings.items()
    )
