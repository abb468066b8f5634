"""What an evaluation found: numbers a person reads, and answers a test compares."""

from __future__ import annotations

import zipfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.files import read_json, whole_file, write_json

FORMAT = 1
RUN_FILE = "evaluation.json"  # in a run folder
LOWER_IS_BETTER = ("geometry",)


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

    def write(self, path: Path) -> None:
        """Write the JSON file, and the answers beside it."""
        plain = {key: value for key, value in asdict(self).items() if key != "items"}
        if self.items:
            with whole_file(items_file(path)) as temporary, temporary.open("wb") as file:
                np.savez_compressed(file, allow_pickle=False, **self.items)
        write_json(path, {"format": FORMAT} | plain)

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read what ``write`` wrote; a run folder stands for the file of that name in it."""
        if path.is_dir():
            if not (path / RUN_FILE).is_file():
                raise UserError(
                    f"{path} has no {RUN_FILE}: make it with `clusterns evaluate {path}`."
                )
            path = path / RUN_FILE
        try:
            plain = read_json(path)
            if plain.pop("format") != FORMAT:
                raise UserError(f"{path} was written by another version of clusterns.")
            suites = {
                name: SuiteResult(
                    **suite | {"sets": {k: SetResult(**v) for k, v in suite["sets"].items()}}
                )
                for name, suite in plain.pop("suites").items()
            }
            return cls(**plain, suites=suites, items=_read_items(items_file(path)))
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}.") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path} holds no results of clusterns evaluate.") from error

    def add(self, earlier: Results) -> None:
        """Take over the suites that only an earlier evaluation of the same model has."""
        for name, suite in earlier.suites.items():
            if name not in self.suites:
                self.suites[name] = suite
                own = {k: v for k, v in earlier.items.items() if k.startswith(f"{name}/")}
                self.items |= own


def items_file(path: Path) -> Path:
    """Where the row-by-row answers of a results file lie."""
    return path.with_suffix(".npz")


def _read_items(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            return dict(stored)
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} is broken: evaluate the model again.") from error
