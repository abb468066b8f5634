"""The results of an evaluation: numbers for people, and predictions per example for comparisons."""

from __future__ import annotations

import re
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import TypeAdapter

from clusterns.errors import UserError
from clusterns.evaluation.catalog import AVERAGED, CATALOG
from clusterns.evaluation.datasets import label_of
from clusterns.files import atomic_file, read_json, write_json

LOWER_IS_BETTER = ("geometry",)
OLD_LABEL = re.compile(r"(.+?)(?: \((Hub|[\d,]+ rows)\))?")
Predictions = dict[str, Any]  # arrays
_adapter: Any = cache(TypeAdapter)


def averaged_sets(suite: str, names: Iterable[str]) -> tuple[str, ...]:
    """The sets in the average of a suite; empty if any of them is missing from ``names``.

    Retrieval has no fixed list: its average covers all given collections.
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
        metric: name of the metric.
        rows: number of pairs, texts or queries.
        truncated: the fraction of distinct sentences that the model truncates.
        source: the file or Hub set of the examples.
        spread: standard deviation over K-means seeds, if there are several.
        details: further numbers, such as those of the subsets.
        digest: digest of the examples; models can be compared if it is equal.
        name: name of the set.
        variant: how the set differs from the standard one of that name, such as "Hub".
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
    """Fill in the name and variant of sets from old records, which only have a label. The earliest also
    labeled a sample of DBpedia as the full set."""
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
    """The sets of a suite by label; ``average`` is None if one of its sets is missing."""

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
class Recorded:
    """Base of results that are stored as JSON, with their predictions per example in a second file."""

    FORMAT: ClassVar[int]
    predictions: Predictions = field(default_factory=dict, kw_only=True)

    def plain(self) -> dict[str, Any]:
        """Everything except the predictions, ready for JSON."""
        found = asdict(self)
        del found["predictions"]
        return {"format": self.FORMAT, **found}

    def write(self, path: Path) -> None:
        """Write the predictions and then the JSON file, so that the numbers never exist without them."""
        if self.predictions:
            write_predictions(predictions_file(path), self.predictions)
        write_json(path, self.plain())

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read what ``write`` wrote."""
        try:
            plain = read_json(path)
            if plain.pop("format") != cls.FORMAT:
                raise UserError(f"{path} was written by another version of clusterns.")
            if {each.name for each in fields(cls)} - {"predictions"} - plain.keys():
                raise KeyError("a field")
            one: Self = _adapter(cls).validate_python(plain)
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(
                f"{path} does not contain results of clusterns evaluate, or is broken: evaluate the model again."
            ) from error
        one.predictions = read_predictions(predictions_file(path))
        return one


@dataclass
class Results(Recorded):
    """All results of one model.

    ``predictions`` contains the model's output per example (cosines, right or wrong) by suite and label,
    so that two models can be compared later.
    """

    FORMAT = 1
    name: str
    model: dict[str, Any] = field(default_factory=dict)
    record: dict[str, Any] = field(default_factory=dict)
    suites: dict[str, SuiteResult] = field(default_factory=dict)


def predictions_file(path: Path) -> Path:
    """The file of the predictions of a results file."""
    return path.with_suffix(".npz")


def write_predictions(path: Path, predictions: Predictions) -> None:
    """Write predictions atomically."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **predictions)


def read_predictions(path: Path) -> Predictions:
    """Read predictions; empty without the file."""
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, EOFError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise UserError(f"{path} is broken: evaluate the model again.") from error


def searches(models: Iterable[Results]) -> list[Results]:
    """The retrieval results of models as separate rows: by vectors, by words, by both.

    The results by words are the same for all models.
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
