"""Stored results: a file for each set; together they are the results of a model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.evaluation.catalog import SUITES
from clusterns.evaluation.results import Recorded, Results, SetResult, SuiteResult, identified
from clusterns.vectors.settings import Loading

FOLDER = "evaluation"  # subfolder of a run folder, and of the cache
# How a model was loaded; with its fingerprint, this determines the vectors.
READING = tuple(Loading.model_fields)
SUITE_ORDER = (*SUITES, "own", "retrieval", "mteb")


@dataclass
class StoredResult(Recorded):
    """The result of one set, with everything that determines it."""

    FORMAT = 2
    suite: str
    set: str
    digest: str
    name: str
    model: dict[str, Any]
    settings: dict[str, Any]
    record: dict[str, Any]
    sets: dict[str, SetResult]
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.sets = identified(self.sets)

    @property
    def reading(self) -> dict[str, Any]:
        """How the model was loaded."""
        return {"dtype": "float32"} | {
            key: self.model[key] for key in READING if self.model.get(key) is not None
        }

    @property
    def key(self) -> str:
        """Ten hexadecimal digits that identify everything that determines the result."""
        versions = self.record.get("versions")
        fingerprint = self.model.get("fingerprint")
        decides = [fingerprint, self.reading, self.digest, self.settings, versions]
        text = json.dumps(decides, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()

    @property
    def date(self) -> str:
        """The time at which it was computed."""
        return str(self.record.get("date", ""))

    def file(self, folder: Path) -> Path:
        """Its file in a folder of results."""
        called = re.sub(r"[^\w.-]+", "_", self.set)[:80]
        return folder / self.suite / f"{called}.{self.key}.json"

    def store(self, folder: Path) -> None:
        """Write it into a folder of results."""
        self.write(self.file(folder))


def find_stored(folder: Path, request: StoredResult) -> StoredResult | None:
    """The stored result that computing ``request`` would reproduce, with the same versions."""
    path = request.file(folder)
    try:
        return StoredResult.read(path) if path.is_file() else None
    except UserError:
        return None  # damaged: it is computed again and replaced


def read_results(path: Path) -> list[Results]:
    """The results in a file or a run folder; a run folder has one for each way of loading its model."""
    if not path.is_dir():
        return [Results.read(path)]
    stored = [StoredResult.read(each) for each in sorted((path / FOLDER).glob("*/*.json"))]
    if not stored:
        raise UserError(f"{path} has no results: compute them with `clusterns evaluate {path}`.")
    return gather(stored)


def gather(stored: Iterable[StoredResult]) -> list[Results]:
    """Join stored results: one for each way of loading the model, for its newest weights only."""
    groups: dict[str, list[StoredResult]] = {}
    for one in sorted(stored, key=lambda one: one.date):
        groups.setdefault(json.dumps(one.reading), []).append(one)
    readings = [group[-1].reading for group in groups.values()]
    differ = [key for key in READING if len({str(each.get(key)) for each in readings}) > 1]
    found = []
    for group in groups.values():
        newest = group[-1]
        weights = newest.model.get("fingerprint")
        same = [one for one in group if one.model.get("fingerprint") == weights]
        if len(same) < len(group):
            log(f"{newest.name}: {len(group) - len(same)} results of earlier weights are ignored.")
        results = join(same)
        if differ:
            settings = ", ".join(f"{key} {newest.reading.get(key, 'default')}" for key in differ)
            results.name = f"{results.name} ({settings})"
        found.append(results)
    return found


def join(stored: Iterable[StoredResult]) -> Results:
    """Join the results of one model's sets, given oldest first.

    If there are several results on the same examples, the one with the most K-means runs is used, then
    the newest.
    """
    same: dict[tuple[str, str, str], list[StoredResult]] = {}
    for one in stored:
        same.setdefault((one.suite, one.set, one.digest), []).append(one)
    parts = [
        max(group, key=lambda one: (one.settings.get("kmeans_seeds", 1), one.date))
        for group in same.values()
    ]
    last = max(parts, key=lambda one: one.date)
    results = Results(last.name, dict(last.model), dict(last.record))
    names = [(one.suite, one.set) for one in parts]
    for one in sorted(parts, key=_place):
        # Two files of the user may have the same name; the digests of their rows distinguish them.
        twice = names.count((one.suite, one.set)) > 1
        suite = results.suites.setdefault(one.suite, SuiteResult({}))
        for label, value in one.sets.items():
            called = f"{label} ({one.digest[:8]})" if twice else label
            suite.sets[called] = value
            for key, predictions in one.predictions.items():
                results.predictions[f"{key}/{called}"] = predictions
        suite.settings |= one.settings
        suite.seconds = round(suite.seconds + one.seconds, 1)
    for name, suite in results.suites.items():
        suite.complete(name)
    return results


def _place(one: StoredResult) -> tuple[int, int]:
    """A sort key: suites and sets in the order of the paper's tables, then all others."""
    name = next((each.name for each in one.sets.values()), "")
    return SUITE_ORDER.index(one.suite), (*SUITES.get(one.suite, ()), name).index(name)
