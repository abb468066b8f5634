"""What an evaluation found: numbers that a person reads, and predictions that a test compares."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, CATALOG, SUITES
from clusterns.evaluation.datasets import label_of
from clusterns.files import atomic_file, read_json, write_json
from clusterns.vectors.settings import Loading

FORMAT, STORED_FORMAT = 1, 2
LOWER_IS_BETTER = ("geometry",)
FOLDER = "evaluation"  # in a run folder, and in the cache
# How a model was read; together with its fingerprint it decides the vectors.
READING = tuple(Loading.model_fields)
SUITE_ORDER = (*SUITES, "own", "retrieval", "mteb")
OLD_LABEL = re.compile(r"(.+?)(?: \((Hub|[\d,]+ rows)\))?")
Predictions = dict[str, NDArray[Any]]


def averaged_sets(suite: str, names: Iterable[str]) -> tuple[str, ...]:
    """The sets that the average of a suite is over; none where one of them is not among ``names``.

    Collections have no list: their average is over all of them.
    """
    names = tuple(names)
    if suite == "retrieval":
        return names if len(names) > 1 else ()
    averaged = AVERAGED.get(suite, ())
    return averaged if set(averaged) <= set(names) else ()


def average(suite: str, values: Mapping[str, float]) -> float | None:
    """The average of a suite from the values of its sets; None where a set is missing."""
    names = averaged_sets(suite, values)
    return float(np.mean([values[name] for name in names])) if names else None


@dataclass
class SetResult:
    """One number on one set.

    Attributes:
        value: x100, except for geometry.
        metric: what the number is.
        rows: pairs, texts or queries it stands on.
        truncated: the share of distinct sentences that are longer than the model reads.
        source: the file or Hub set it was computed from.
        spread: standard deviation over K-means seeds, where there are several.
        details: further numbers, such as one for each subset.
        digest: of the examples it stands on; models are compared on them where it is equal.
        name: of the set.
        variant: how the set differs from the one of that name, such as "Hub".
    """

    value: float
    metric: str
    rows: int
    truncated: float
    source: str = ""
    spread: float | None = None
    details: dict[str, float] = field(default_factory=dict)
    digest: str = ""
    name: str = ""
    variant: str = ""


def identified(sets: Mapping[str, SetResult]) -> dict[str, SetResult]:
    """Sets by their labels. Records from before a set had a name and a variant have labels only, and
    in early ones a sample of DBpedia is called as the whole."""
    for label, one in sets.items():
        if not one.name:
            match = OLD_LABEL.fullmatch(label)
            one.name, one.variant = match.groups("") if match else (label, "")
            entry = CATALOG.sets.get(one.name)
            if entry and entry.sampled and not one.variant and one.rows < sum(entry.rows):
                one.variant = f"{one.rows:,} rows"
    return {
        label_of(one.name, one.variant) if one.name in CATALOG.sets else label: one
        for label, one in sets.items()
    }


def read_sets(plain: Mapping[str, Mapping[str, Any]]) -> dict[str, SetResult]:
    """The sets of a suite from their JSON."""
    return identified({label: SetResult(**one) for label, one in plain.items()})


@dataclass
class SuiteResult:
    """The sets of a suite by label; ``average`` is None where one that belongs to it is missing."""

    sets: dict[str, SetResult]
    average: float | None = None
    missing: list[str] = field(default_factory=list)
    settings: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self.sets = identified(self.sets)

    def complete(self, suite: str) -> None:
        """Compute the average, and list the sets that it lacks in any variant."""
        found = {one.name for one in self.sets.values()}
        self.missing = [name for name in AVERAGED.get(suite, ()) if name not in found]
        self.average = average(suite, {label: one.value for label, one in self.sets.items()})


@dataclass
class Results:
    """All that is known of one model, as it goes to JSON.

    ``predictions`` holds what the model said of each example (cosines, right or wrong), by suite and
    label. It lies beside the JSON file, and with it two models can be compared later.
    """

    name: str
    model: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    suites: dict[str, SuiteResult] = field(default_factory=dict)
    predictions: dict[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """All but the predictions, as it goes to JSON."""
        return {"format": FORMAT} | _without_predictions(self)

    def write(self, path: Path) -> None:
        """Write the JSON file, and the predictions beside it."""
        _write(path, self.plain(), self.predictions)

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read what ``write`` wrote."""
        try:
            return _read(path, cls, FORMAT, "suites")
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} holds no results of clusterns evaluate.") from error


@dataclass
class StoredResult:
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
    predictions: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.sets = identified(self.sets)

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
        fingerprint = self.model.get("fingerprint")
        decides = [fingerprint, self.reading, self.digest, self.settings, versions]
        text = json.dumps(decides, sort_keys=True, default=str)
        return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()

    @property
    def kmeans_runs(self) -> int:
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
        """Write it; the numbers come last, so that they never stand without the predictions."""
        plain = {"format": STORED_FORMAT} | _without_predictions(self)
        _write(self.file(folder), plain, self.predictions)

    @classmethod
    def read(cls, path: Path) -> StoredResult:
        """Read what ``write`` wrote."""
        try:
            return _read(path, cls, STORED_FORMAT, "sets")
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} is broken: delete it and evaluate again.") from error


def _without_predictions(one: Results | StoredResult) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if key != "predictions"}


def _write(path: Path, plain: dict[str, Any], predictions: Predictions) -> None:
    if predictions:
        write_predictions(predictions_file(path), predictions)
    write_json(path, plain)


def _read(path: Path, kind: Any, form: int, needed: str) -> Any:
    plain = read_json(path)
    if plain.pop("format") != form:
        raise UserError(f"{path} was written by another version of clusterns.")
    if needed not in plain:
        raise KeyError(needed)
    found = _adapter(kind).validate_python(plain)
    found.predictions = read_predictions(predictions_file(path))
    return found


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def predictions_file(path: Path) -> Path:
    """Where the predictions of a results file lie."""
    return path.with_suffix(".npz")


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write predictions, whole or not at all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **predictions)


def read_predictions(path: Path) -> Predictions:
    """Read predictions; none where there is no file."""
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is broken: evaluate the model again.") from error


def find_stored(folder: Path, wanted: StoredResult) -> StoredResult | None:
    """The earlier result that ``wanted`` would be again, made with the same versions."""
    path = wanted.file(folder)
    try:
        return StoredResult.read(path) if path.is_file() else None
    except UserError:
        return None  # damaged: computed again, which mends it


def read_results(path: Path) -> list[Results]:
    """The results of a file, or of a run folder: there one for each way its model was read."""
    if not path.is_dir():
        return [Results.read(path)]
    stored = [StoredResult.read(each) for each in sorted((path / FOLDER).glob("*/*.json"))]
    if not stored:
        raise UserError(f"{path} has no results: make them with `clusterns evaluate {path}`.")
    return gather(stored)


def gather(stored: Iterable[StoredResult]) -> list[Results]:
    """Results from their parts: one for each way that a model was read, of its newest weights."""
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
            log(f"{newest.name}: {len(group) - len(same)} results of earlier weights are left out.")
        results = join(same)
        if differ:
            told = ", ".join(f"{key} {newest.reading.get(key, 'default')}" for key in differ)
            results.name = f"{results.name} ({told})"
        found.append(results)
    return found


def join(stored: Iterable[StoredResult]) -> Results:
    """One model's results from its sets, oldest first.

    Of several results on the same examples, the one with the most K-means runs counts, then the
    newest.
    """
    same: dict[tuple[str, str, str], list[StoredResult]] = {}
    for one in stored:
        same.setdefault((one.suite, one.set, one.digest), []).append(one)
    parts = [max(group, key=lambda one: (one.kmeans_runs, one.date)) for group in same.values()]
    last = max(parts, key=lambda one: one.date)
    results = Results(last.name, dict(last.model), dict(last.record))
    names = [(one.suite, one.set) for one in parts]
    for one in sorted(parts, key=_place):
        # Two files of one's own may have the same name: their rows tell them apart.
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


def searches(models: Iterable[Results]) -> list[Results]:
    """The retrieval results of models as rows of their own: by vectors, by words, by both.

    Words alone are the same for all models.
    """
    found: dict[str, Results] = {}
    for model in models:
        suite = model.suites.get("retrieval", SuiteResult({}))
        for label, one in suite.sets.items():
            row = "words (BM25)" if one.variant == "words" else f"{model.name} ({one.variant})"
            results = found.setdefault(row, Results(row, suites={"retrieval": SuiteResult({})}))
            results.suites["retrieval"].sets[one.name] = one
            predictions = model.predictions.get(f"retrieval/{label}")
            if predictions is not None:
                results.predictions[f"retrieval/{one.name}"] = predictions
    return [*found.values()]


def _place(one: StoredResult) -> tuple[int, int]:
    """Suites and sets in the order of the paper's tables, others as they came."""
    name = next((each.name for each in one.sets.values()), "")
    sets = SUITES.get(one.suite, ())
    return (
        SUITE_ORDER.index(one.suite) if one.suite in SUITE_ORDER else len(SUITE_ORDER),
        sets.index(name) if name in sets else len(sets),
    )
