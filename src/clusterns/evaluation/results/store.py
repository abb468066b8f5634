"""Results on disk as they come: a file for each set, with the settings it was made with.

    RUN/evaluation/sts/STS-B.1f0c2ab39d.json    the numbers, the settings, versions and machine
    RUN/evaluation/sts/STS-B.1f0c2ab39d.npz     what the model answered, row by row

The digits stand for everything that decides the result: the model and how it is loaded, the
examples, the protocol, the versions of the libraries. So a result never overwrites a different one,
and nothing is computed twice.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import SUITES
from clusterns.evaluation.results.results import (
    Results,
    SetResult,
    SuiteResult,
    items_file,
    read_items,
    read_sets,
    write_items,
)
from clusterns.files import read_json, write_json
from clusterns.vectors.settings import Loading

FOLDER = "evaluation"  # in a run folder, and in the cache
LEGACY_FILE = "evaluation.json"  # a run's results in one file, as they were written once
FORMAT = 2
# How a model was read; together with its fingerprint it decides the vectors.
READING = tuple(Loading.model_fields)
SUITE_ORDER = (*SUITES, "own", "mteb")


@dataclass
class Kept:
    """The result of one set, with all that is needed to make it again."""

    suite: str
    set: str
    digest: str
    name: str
    model: dict[str, Any]
    settings: dict[str, Any]
    record: dict[str, Any]
    sets: dict[str, SetResult]
    seconds: float = 0.0
    items: dict[str, NDArray[Any]] = field(default_factory=dict)

    @property
    def reading(self) -> dict[str, Any]:
        """How the model was read."""
        return {"dtype": "float32"} | {
            key: self.model[key] for key in READING if self.model.get(key) is not None
        }

    @property
    def key(self) -> str:
        """Ten digits that stand for everything that decides the result."""
        versions = self.record.get("versions")
        decides = [
            self.model.get("fingerprint"),
            self.reading,
            self.digest,
            self.settings,
            versions,
        ]
        text = json.dumps(decides, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()

    @property
    def runs(self) -> int:
        """How many K-means runs its score averages."""
        return int(self.settings.get("kmeans_seeds", 1))

    @property
    def date(self) -> str:
        """When it was made."""
        return str(self.record.get("date", ""))

    def file(self, folder: Path) -> Path:
        """Where it lies in a folder of results."""
        called = re.sub(r"[^\w.-]+", "_", self.set)[:80]
        return folder / self.suite / f"{called}.{self.key}.json"

    def write(self, folder: Path) -> None:
        """Write it; the numbers come last, so that they never stand without the answers."""
        path = self.file(folder)
        if self.items:
            write_items(items_file(path), self.items)
        plain = {key: value for key, value in asdict(self).items() if key != "items"}
        write_json(path, {"format": FORMAT} | plain)

    @classmethod
    def read(cls, path: Path) -> Kept:
        """Read what ``write`` wrote."""
        try:
            plain = read_json(path)
            if plain.pop("format") != FORMAT:
                raise UserError(f"{path} was written by another version of clusterns.")
            sets = read_sets(plain.pop("sets"))
            return cls(**plain, sets=sets, items=read_items(items_file(path)))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is broken: delete it and evaluate again.") from error


def find_kept(folder: Path, wanted: Kept) -> Kept | None:
    """The earlier result that ``wanted`` would be again, made with the same versions."""
    path = wanted.file(folder)
    if not path.is_file():
        return None
    try:
        return Kept.read(path)
    except UserError:
        return None  # damaged: computed again, which mends it


def read_results(path: Path) -> list[Results]:
    """The results of a file, or of a run folder: there one for each way its model was read."""
    if not path.is_dir():
        return [Results.read(path)]
    folder, legacy = path / FOLDER, path / LEGACY_FILE
    kept = [Kept.read(each) for each in sorted(folder.glob("*/*.json"))]
    if legacy.is_file():
        kept += _split(Results.read(legacy))
    if not kept:
        raise UserError(f"{path} has no results: make them with `clusterns evaluate {path}`.")
    return gather(kept)


def gather(kept: Iterable[Kept]) -> list[Results]:
    """Results from their parts: one for each way that a model was read, of its newest weights."""
    groups: dict[str, list[Kept]] = {}
    for one in sorted(kept, key=lambda one: one.date):
        groups.setdefault(json.dumps(one.reading), []).append(one)
    readings = [group[-1].reading for group in groups.values()]
    differ = [key for key in READING if len({str(each.get(key)) for each in readings}) > 1]
    found = []
    for group in groups.values():
        newest = group[-1]
        weights = newest.model.get("fingerprint")
        same = [one for one in group if one.model.get("fingerprint") == weights]
        if len(same) < len(group):
            log(f"{newest.name}: {len(group) - len(same)} results of earlier weights are left out.")
        results = join(same)
        if differ:
            told = ", ".join(f"{key} {newest.reading.get(key, 'as is')}" for key in differ)
            results.name = f"{results.name} ({told})"
        found.append(results)
    return found


def join(kept: Iterable[Kept]) -> Results:
    """One model's results from its sets, oldest first.

    Of several results on the same examples, the one with the most K-means runs counts, then the
    newest.
    """
    same: dict[tuple[str, str, str], list[Kept]] = {}
    for one in kept:
        same.setdefault((one.suite, one.set, one.digest), []).append(one)
    parts = [max(group, key=lambda one: (one.runs, one.date)) for group in same.values()]
    last = max(parts, key=lambda one: one.date)
    results = Results(last.name, dict(last.model), dict(last.record))
    names = [(one.suite, one.set) for one in parts]
    for one in sorted(parts, key=_place):
        # Two files of one's own may have the same name: their rows tell them apart.
        twice = names.count((one.suite, one.set)) > 1
        suite = results.suites.setdefault(one.suite, SuiteResult({}))
        for name, value in one.sets.items():
            called = f"{name} ({one.digest[:8]})" if twice else name
            suite.sets[called] = value
            for key, answers in one.items.items():
                results.items[f"{key}/{called}"] = answers
        suite.settings |= one.settings
        suite.seconds = round(suite.seconds + one.seconds, 1)
    for name, suite in results.suites.items():
        suite.complete(name)
    return results


def _place(one: Kept) -> tuple[int, int]:
    """Suites and sets in the order of the paper's tables, others as they came."""
    sets = SUITES.get(one.suite, ())
    base = one.set.split(" (")[0]
    suites = SUITE_ORDER
    return (
        suites.index(one.suite) if one.suite in suites else len(suites),
        sets.index(base) if base in sets else len(sets),
    )


def _split(results: Results) -> list[Kept]:
    """The sets of results that lie in one file."""
    found = []
    for suite, result in results.suites.items():
        for name, one in result.sets.items():
            items = {
                key.rpartition(f"/{name}")[0]: answers
                for key, answers in results.items.items()
                if key in (f"{suite}/{name}", f"gold/{suite}/{name}")
            }
            found.append(
                Kept(
                    suite,
                    name,
                    one.digest,
                    results.name,
                    results.model,
                    result.settings,
                    results.record,
                    {name: one},
                    items=items,
                )
            )
    return found
