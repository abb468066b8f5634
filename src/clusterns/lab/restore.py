"""Continue a lab from records: their trials are restored as if they had run here.

A trial's name identifies everything that determines its numbers, except for versions, which are recorded.
So you can compare your rows with those that somebody else has run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from clusterns.errors import UserError
from clusterns.evaluation.results import Results, SuiteResult, read_predictions
from clusterns.files import read_json, write_json
from clusterns.lab.identity import superseded
from clusterns.lab.outcomes import Outcome
from clusterns.lab.records import Record, predictions_file, recorded_name
from clusterns.lab.trial import PREDICTIONS, TRIALS, is_restored
from clusterns.locks import locked


@dataclass(frozen=True)
class Restored:
    """The numbers of trials that were restored, that existed already, and that lack predictions per example; and
    the trials of an earlier revision of their method or of a part."""

    trials: int
    there: int
    without_predictions: int
    superseded: tuple[str, ...] = ()


class _Whole(BaseModel):
    """The data of a trial that a lab reads."""

    suites: dict[str, SuiteResult]
    values: dict[str, float]
    curves: dict[str, Any]
    record: dict[str, Any]
    run: dict[str, Any]
    settings: dict[str, Any]
    corpus: str
    metric: str
    processor_seconds: float


@dataclass(frozen=True)
class _Recorded:
    """A trial of a record; if two records have it, the one with more data is preferred."""

    name: str
    result: Mapping[str, Any]
    predictions: Path

    @property
    def has(self) -> tuple[int, bool]:
        return len(self.result["suites"]), self.predictions.is_file()

    def results(self) -> Results:
        """Its results with the predictions."""
        suites = _Whole.model_validate(self.result).suites
        predictions = read_predictions(self.predictions)
        for suite, one in suites.items():
            for label, found in one.sets.items():
                rows = len(predictions.get(f"{suite}/{label}", range(found.rows)))
                if rows != found.rows:
                    raise UserError(
                        f"{self.predictions} has {rows} predictions for the {found.rows} rows of {label}."
                    )
        record = dict(self.result["record"])
        return Results(self.name, {}, record, suites, predictions=predictions)


def restore(records: Sequence[Path], lab: Path) -> Restored:
    """Restore the trials of records (files, or folders of them) into ``lab``; trials that ran there are unchanged.

    All records are read and checked before anything is written.
    """
    kept: dict[str, _Recorded] = {}
    for path in _files(records):
        for one in _trials(path):
            if one.name not in kept or one.has > kept[one.name].has:
                kept[one.name] = one
    new = [one for one in kept.values() if _is_new(one, lab / TRIALS / one.name)]
    read = [(one, one.results()) for one in new]
    for one, results in read:
        folder = lab / TRIALS / one.name
        with locked(folder):
            if results.predictions:
                results.write(folder / PREDICTIONS)
            write_json(folder / "result.json", one.result)
    without = sum(bool(one.result["suites"]) and not found.predictions for one, found in read)
    old = [
        f"{one.name}: {', '.join(of)}" for one in kept.values() if (of := superseded(one.result))
    ]
    return Restored(len(new), len(kept) - len(new), without, tuple(old))


def _files(records: Sequence[Path]) -> Iterator[Path]:
    for path in records:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise UserError(f"{path} does not contain records of experiments (.jsonl).")
        yield from files


def _trials(path: Path) -> Iterator[_Recorded]:
    """The trials of a record, each with the data that a lab reads."""
    for line in Record.read(path).lines:
        for one in line.outcomes:
            try:
                yield _recorded(one, path.parent)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                why: object = error
                if isinstance(error, ValidationError):
                    first = error.errors()[0]
                    why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
                raise UserError(
                    f"{path}: the trial of {line.label}, seed {one.seed}, is incomplete: {why}."
                ) from error


def _recorded(one: Outcome, folder: Path) -> _Recorded:
    _Whole.model_validate(one.result)
    name = recorded_name(one.result)
    own = {key: value for key, value in one.result.items() if key not in ("line", "seed")}
    return _Recorded(name, {**own, "name": name}, predictions_file(folder, one.result))


def _is_new(one: _Recorded, folder: Path) -> bool:
    """Whether the lab lacks it, or has less data of it from an earlier record."""
    if not (folder / "result.json").is_file():
        return True
    there = read_json(folder / "result.json")
    before = _Recorded(one.name, there, (folder / PREDICTIONS).with_suffix(".npz"))
    return is_restored(there) and one.has > before.has
