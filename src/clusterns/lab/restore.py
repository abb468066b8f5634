"""A lab that goes on from records: their trials are put back as if they had run here.

A trial's name stands for everything that decides its numbers, except for versions, which are recorded.
So you can compare your rows with those that somebody else has run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results import Results, SuiteResult, read_predictions, read_sets
from clusterns.files import read_json, write_json
from clusterns.lab.identity import superseded
from clusterns.lab.records import Record, predictions_file, recorded_name
from clusterns.lab.trial import PREDICTIONS, TRIALS, is_restored
from clusterns.locks import locked

# Where a trial stands in the table of a record.
PLACE = ("line", "seed")
# What a lab reads of a trial, and of a suite of it.
TRIAL: dict[str, type | tuple[type, ...]] = {
    "suites": dict, "values": dict, "curves": dict, "record": dict, "run": dict, "settings": dict,
    "corpus": str, "metric": str, "processor_seconds": (int, float),
}  # fmt: skip
SUITE: dict[str, type | tuple[type, ...]] = {
    "sets": dict, "settings": dict, "seconds": (int, float),
}  # fmt: skip


@dataclass(frozen=True)
class Restored:
    """How many trials were put into the lab, were there already, and lack predictions per example; and those
    of an earlier revision of their method or of a part."""

    trials: int
    there: int
    without_predictions: int
    superseded: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Recorded:
    """A trial of a record; of two records that have it, the one with more is better."""

    result: Mapping[str, Any]
    predictions: Path

    @property
    def has(self) -> tuple[int, bool]:
        return len(self.result["suites"]), self.predictions.is_file()


def restore(records: Sequence[Path], lab: Path) -> Restored:
    """Put the trials of records (files, or folders of them) into ``lab``; trials that ran there are left alone.

    All records are read and checked before anything is written.
    """
    kept: dict[str, _Recorded] = {}
    for path in _files(records):
        for name, one in _trials(path).items():
            if name not in kept or one.has > kept[name].has:
                kept[name] = one
    put = {name: one for name, one in kept.items() if _is_new(one, lab / TRIALS / name)}
    read = {name: (one.result, _results(name, one)) for name, one in put.items()}
    for name, (result, results) in read.items():
        folder = lab / TRIALS / name
        with locked(folder):
            if results.predictions:
                results.write(folder / PREDICTIONS)
            write_json(folder / "result.json", result)
    without = sum(
        bool(result["suites"]) and not results.predictions for result, results in read.values()
    )
    old = [
        f"{name}: {', '.join(of)}" for name, one in kept.items() if (of := superseded(one.result))
    ]
    return Restored(len(put), len(kept) - len(put), without, tuple(old))


def _trials(path: Path) -> dict[str, _Recorded]:
    """The trials of a record by their names, each with all that a lab reads of it."""
    found = {}
    for line in Record.read(path).lines:
        for one in line.outcomes:
            try:
                _check(one.result, TRIAL)
                for suite in one.result["suites"].values():
                    _check(suite, SUITE)
                    read_sets(suite["sets"])
                _check(one.result["values"], dict.fromkeys(one.result["values"], (int, float)))
                name = recorded_name(one.result)
                predictions = predictions_file(path.parent, one.result)
            except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
                raise UserError(
                    f"{path}: the trial of {line.label}, seed {one.seed}, is not whole: {error}."
                ) from error
            result = {key: value for key, value in one.result.items() if key not in PLACE}
            found[name] = _Recorded({**result, "name": name}, predictions)
    return found


def _check(found: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]) -> None:
    for key, kind in kinds.items():
        if not isinstance(found[key], kind):
            raise TypeError(f"{key} is {found[key]!r}")


def _is_new(one: _Recorded, folder: Path) -> bool:
    """Whether the lab has nothing of it, or less from an earlier record."""
    if not (folder / "result.json").is_file():
        return True
    there = read_json(folder / "result.json")
    return (
        is_restored(there)
        and one.has > _Recorded(there, (folder / PREDICTIONS).with_suffix(".npz")).has
    )


def _files(records: Sequence[Path]) -> list[Path]:
    found: list[Path] = []
    for path in records:
        files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
        if not files:
            raise UserError(f"{path} holds no records of experiments (.jsonl).")
        found += files
    return found


def _results(name: str, one: _Recorded) -> Results:
    suites = {
        suite: SuiteResult(
            read_sets(each["sets"]), settings=each["settings"], seconds=each["seconds"]
        )
        for suite, each in one.result["suites"].items()
    }
    kept = read_predictions(one.predictions)
    results = Results(name, {}, dict(one.result["record"]), suites, predictions=kept)
    for suite, each in suites.items():
        for label, found in each.sets.items():
            predictions = results.predictions.get(f"{suite}/{label}")
            if predictions is not None and len(predictions) != found.rows:
                raise UserError(
                    f"{one.predictions} has {len(predictions)} predictions for the {found.rows} rows of {label}."
                )
    return results
