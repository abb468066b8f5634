"""What an evaluation found: numbers a person reads, and answers a test compares."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.evaluation.catalog import (
    DBPEDIA_ROWS,
    SHORT_TEXTS,
    STS,
    SUITES,
    TRANSFER,
    hub_name,
    sample_name,
)
from clusterns.files import atomic_file, read_json, write_json
from clusterns.vectors.settings import Loading

FORMAT = 1
# The average of a suite is the mean over these sets, which share one metric, and over no others.
AVERAGED = {"sts": STS, "transfer": TRANSFER, "clustering": SHORT_TEXTS}
LOWER_IS_BETTER = ("geometry",)


def average(suite: str, values: Mapping[str, float]) -> float | None:
    """The average of a suite from the values of its sets; None where a set is missing."""
    names = AVERAGED.get(suite, ())
    if not names or not set(names) <= values.keys():
        return None
    return float(np.mean([values[name] for name in names]))


@dataclass
class SetResult:
    """One number on one set.

    Attributes:
        value: x100, except for geometry.
        metric: what the number is.
        rows: pairs, texts or queries it stands on.
        truncated: the share of distinct sentences that the model could not read whole.
        source: the file or Hub set it was computed from.
        spread: standard deviation over K-means seeds, where there are several.
        details: further numbers, such as one for each subset.
        digest: of the rows it stands on; models are compared row by row where it is equal.
    """

    value: float
    metric: str
    rows: int
    truncated: float
    source: str = ""
    spread: float | None = None
    details: dict[str, float] = field(default_factory=dict)
    digest: str = ""


@dataclass
class SuiteResult:
    """The sets of a suite; ``average`` is None where one that belongs to it is missing."""

    sets: dict[str, SetResult]
    average: float | None = None
    missing: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def complete(self, suite: str) -> None:
        """Compute the average, and list the sets that it lacks."""
        names = AVERAGED.get(suite, ())
        self.missing = [n for n in names if not {n, hub_name(n)} & set(self.sets)]
        self.average = average(suite, {name: one.value for name, one in self.sets.items()})


@dataclass
class Results:
    """All that is known of one model, as it goes to JSON.

    ``items`` holds what the model answered row by row (cosines, right or wrong), by suite and
    set. It lies beside the JSON file and lets two models be compared row by row later.
    """

    name: str
    model: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    suites: dict[str, SuiteResult] = field(default_factory=dict)
    items: dict[str, NDArray[Any]] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """All but the answers, as it goes to JSON."""
        return {"format": FORMAT} | {k: v for k, v in asdict(self).items() if k != "items"}

    def write(self, path: Path) -> None:
        """Write the JSON file, and the answers beside it."""
        if self.items:
            write_items(items_file(path), self.items)
        write_json(path, self.plain())

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read what ``write`` wrote."""
        try:
            plain = read_json(path)
            if plain.pop("format") != FORMAT:
                raise UserError(f"{path} was written by another version of clusterns.")
            suites = {
                name: SuiteResult(**suite | {"sets": read_sets(suite["sets"])})
                for name, suite in plain.pop("suites").items()
            }
            return cls(**plain, suites=suites, items=read_items(items_file(path)))
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} holds no results of clusterns evaluate.") from error


def read_sets(plain: dict[str, dict[str, Any]]) -> dict[str, SetResult]:
    """The sets of a suite from their JSON."""
    sets = {name: SetResult(**one) for name, one in plain.items()}
    # Records from before a sample of DBpedia had a name of its own.
    return {_name(name, one): one for name, one in sets.items()}


def _name(name: str, one: SetResult) -> str:
    sampled = name == "DBpedia" and one.rows < DBPEDIA_ROWS
    return sample_name(name, one.rows) if sampled else name


def items_file(path: Path) -> Path:
    """Where the row-by-row answers of a results file lie."""
    return path.with_suffix(".npz")


def write_items(path: Path, items: dict[str, NDArray[Any]]) -> None:
    """Write row-by-row answers, whole or not at all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **items)


def read_items(path: Path) -> dict[str, NDArray[Any]]:
    """Read row-by-row answers; none where there is no file."""
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is broken: evaluate the model again.") from error


FOLDER = "evaluation"  # in a run folder, and in the cache
LEGACY_FILE = "evaluation.json"  # a run's results in one file, as they were written once
STORED_FORMAT = 2
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
        write_json(path, {"format": STORED_FORMAT} | plain)

    @classmethod
    def read(cls, path: Path) -> Kept:
        """Read what ``write`` wrote."""
        try:
            plain = read_json(path)
            if plain.pop("format") != STORED_FORMAT:
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
