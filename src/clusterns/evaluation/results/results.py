"""What an evaluation found: numbers a person reads, and answers a test compares."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import (
    DBPEDIA_ROWS,
    SHORT_TEXTS,
    STS,
    TRANSFER,
    hub_name,
    sample_name,
)
from clusterns.files import atomic_file, read_json, write_json

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
