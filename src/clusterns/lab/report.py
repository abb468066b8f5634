"""A page of results from records: a Jinja template contains the words, the records the numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any

from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

from clusterns.console import duration
from clusterns.errors import UserError
from clusterns.files import atomic_file, read_json
from clusterns.lab.compare import Difference, find_differences, seeds_needed
from clusterns.lab.experiment import BUDGETS, experiment_names
from clusterns.lab.figures import draw, draw_differences
from clusterns.lab.outcomes import read_curves
from clusterns.lab.records import SEARCHES, Record, recorded_name
from clusterns.lab.tables import difference_cells, differences_table, scores_table

TEMPLATE, OWN_TEMPLATE = "report.md.jinja", "page.md.jinja"
# Bases of this package, now and earlier, by the digest of their weights.
BASES = {"b153196ae02ef996": "minibert-raw", "2050d5de157c3209": "minibert"}


class Section:
    """An experiment for the template: the words of its file, and tables as Markdown."""

    def __init__(self, record: Record, figures: Path) -> None:
        self.name, self.budget, self.lines = record.name, record.budget, record.lines
        self.experiment, self.results = record.experiment, record.results
        self._figures = figures
        # For word vectors, the base is only the model that they are compared with.
        encoders = [one for one in self.results if one["settings"].get("method") != "glove"]
        self.bases = _joined(base_name(one.get("base")) for one in encoders) or "none"
        self.corpora = _joined(one["corpus"] for one in self.results)
        self.duration = duration(sum(one["processor_seconds"] for one in self.results))
        self.versions = _joined(
            f"{name} {one['record']['versions'][name]}"
            for one in self.results
            for name in ("torch", "sentence-transformers")
        )
        self.scores_table = scores_table(self.experiment, self.lines).markdown()

    @cached_property
    def differences(self) -> list[Difference]:
        """The differences between the pairs of `compare`."""
        return find_differences(self.experiment, self.lines)

    @property
    def differences_table(self) -> str:
        """The differences with their verdicts; empty without `compare`."""
        if not self.experiment.pairs():
            return ""
        return differences_table(self.experiment, self.differences).markdown()

    @property
    def figures(self) -> list[str]:
        """The names of the figures that could be drawn."""
        names = self.experiment.figures
        return [n for n in names if draw(n, self.experiment, self.lines, self._figures, ("svg",))]


def write_report(records: Path, output: Path) -> Path:
    """Write the page of a folder of records, and its figures into a folder next to it.

    A ``page.md.jinja`` among the records replaces the package's ``report.md.jinja``, which it may extend.
    """
    order = experiment_names()
    found = [Record.read(path) for path in sorted(records.glob("*.jsonl"))]
    if not found:
        raise UserError(f"{records} has no records: make them with `clusterns lab record`.")
    found.sort(key=lambda one: order.index(one.name) if one.name in order else len(order))
    figures = output.parent / output.stem
    sections = [Section(record, figures) for record in found]
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(records), PackageLoader("clusterns.lab", ".")]),
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters |= {
        "cells": difference_cells, "mean": _mean, "listed": _listed, "base_name": base_name,
        "seeds_needed": seeds_needed,
    }  # fmt: skip

    def differences_figure(name: str, rows: Mapping[str, Difference], **options: str) -> str:
        """Draws differences and returns the path of the figure, relative to the page."""
        draw_differences(name, rows, figures, ("svg",), **options)
        return f"{output.stem}/{name}.svg"

    page = environment.select_template([OWN_TEMPLATE, TEMPLATE]).render(
        sections=sections,
        by_name={section.name: section for section in sections},
        folder=figures.name,
        searches=[_search(read_json(f)) for f in sorted(records.glob(f"{SEARCHES}/*.json"))],
        same=_on_the_same_trials(sections),
        differences_figure=differences_figure,
        budgets=BUDGETS,
        has=lambda name: (records / name).exists(),
        read=lambda name: read_json(records / name),
        curves=lambda name: {k: dict(curve) for k, curve in read_curves(records / name).items()},
    )
    with atomic_file(output) as temporary:
        temporary.write_text(re.sub(r"\n{3,}", "\n\n", page), "utf-8")
    return output


def base_name(identity: str | None) -> str:
    """The displayed name of a base; the earliest records lack it, and used minibert-raw."""
    if not identity:
        return BASES["b153196ae02ef996"]
    return BASES.get(identity.rpartition(" ")[2], identity)


def _on_the_same_trials(sections: Sequence[Section]) -> list[list[str]]:
    """Groups of comparisons that are based on exactly the same trials."""
    named: dict[object, list[str]] = defaultdict(list)
    for section in sections:
        trials = {
            (line.label, one.seed): recorded_name(one.result)
            for line in section.lines
            for one in line.outcomes
        }
        for one in section.differences:
            rows = (one.first, one.second)
            key = tuple(frozenset(trials[row, seed] for seed in one.by_seed) for row in rows)
            named[key].append(f"{one.name} ({section.name})")
    return [names for names in named.values() if len(names) > 1]


def _search(record: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of a search; ``first`` is the score of its first settings, None if they failed."""
    scored = {one["number"]: one for one in record["trials"] if one["value"] is not None}
    first = record["trials"][0]["settings"]
    base = base_name(record.get("base"))
    known = BUDGETS["raw" if base == "minibert-raw" else "small"] | {"method": ..., "seed": ...}
    changed = {
        key: value
        for key, value in record["settings"].items()
        if known.get(key) not in (value, ...)
    }
    return {
        **record,
        "base_name": base,
        "count": sum(one["value"] is not None or bool(one["reason"]) for one in record["trials"]),
        "values": [one["value"] for one in scored.values()],
        "first": next((one["value"] for one in scored.values() if one["settings"] == first), None),
        "found": scored[record["best"]] if scored else None,
        "changed": changed,
    }


def _mean(values: Sequence[float] | Mapping[Any, float], digits: int = 2) -> str:
    numbers = list(values.values() if isinstance(values, Mapping) else values)
    return f"{mean(numbers):.{digits}f}" if numbers else "-"


def _joined(words: Iterable[object]) -> str:
    return ", ".join(sorted({str(word) for word in words}))


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} {value:.3g}" if isinstance(value, float) else f"{key} {value}"
        for key, value in settings.items()
    )
