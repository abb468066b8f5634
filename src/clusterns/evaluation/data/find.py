"""One resolver for all evaluation data: a folder, the Hub, or one clear message."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import (
    CATALOGUE,
    SENTEVAL,
    VARIABLE,
    Entry,
    EvaluationSet,
    hub_name,
    sample_name,
)
from clusterns.evaluation.data.hub import NotAtHandError
from clusterns.evaluation.data.sets import LabelledTexts, ScoredPairs, TransferTask, row_count
from clusterns.files import cache_folder

FETCHED = "data"  # in the cache
Kind = TypeVar("Kind", ScoredPairs, LabelledTexts, TransferTask)


class MissingData(UserError):  # noqa: N818 - it reads as what it is in `except MissingData`
    """A set that is nowhere at hand: says where it was looked for and how to get it."""

    def __init__(self, name: str, file: str, looked: list[str], remedy: str) -> None:
        self.name, self.file, self.looked, self.remedy = name, file, looked, remedy
        super().__init__(missing_message([self]))


def missing_message(missing: Iterable[MissingData]) -> str:
    """One message for the missing sets: each place and each remedy once."""
    missing = list(missing)
    looked = dict.fromkeys(place for one in missing for place in one.looked)
    remedies = dict.fromkeys(one.remedy for one in missing)
    names = ", ".join(f"{one.name} ({one.file})" for one in missing)
    return f"Not at hand: {names}. Looked in {', '.join(looked)}. {' '.join(remedies)}"


class EvaluationData:
    """Finds sets by name, such as ``STS12``, ``STS-B dev``, ``MR``, ``AG`` or ``DBpedia``.

    In the named folder, in what ``clusterns data fetch`` has fetched, and on the Hub, in that
    order. A set of SentEval that comes from the Hub is called so: it is in other text there.
    """

    def __init__(self, folder: Path | None = None) -> None:
        named = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
        if named is not None and not named.is_dir():
            asked = "--data" if folder else VARIABLE
            raise UserError(f"{named}, named by {asked}, is not a folder.")
        fetched = cache_folder(FETCHED)
        self.folders = [*([named] if named else []), *([fetched] if fetched.is_dir() else [])]

    def pairs(self, name: str) -> ScoredPairs:
        """Find a set of scored pairs."""
        return _as(self.find(name), ScoredPairs)

    def texts(self, name: str) -> LabelledTexts:
        """Find a set of labelled texts."""
        return _as(self.find(name), LabelledTexts)

    def task(self, name: str) -> TransferTask:
        """Find a transfer task."""
        return _as(self.find(name), TransferTask)

    def find(self, name: str) -> EvaluationSet:
        """Find a set of any kind, checked to be whole."""
        entry = CATALOGUE[name]
        looked = []
        for folder in self.folders:
            found = read_from(folder, name)
            if found is not None:
                return found
            looked += [str(folder / root) for root in entry.roots]
        if not self.folders:
            looked.append(f"no folder (none is named with --data or {VARIABLE}, none was fetched)")
        if entry.hub:
            try:
                called = hub_name(name) if entry.roots is SENTEVAL else name
                return _checked(name, entry, entry.hub(called))
            except NotAtHandError as error:
                looked.append(f"the Hugging Face Hub ({error})")
        raise MissingData(name, entry.files[0], looked, entry.remedy)

    def shown(self, source: str) -> str:
        """A source as it goes on record: relative to the data, the same on every machine."""
        for folder in self.folders:
            if Path(source).is_relative_to(folder):
                return Path(source).relative_to(folder).as_posix()
        return source if source.startswith("Hub") else Path(source).name


def read_from(folder: Path, name: str) -> EvaluationSet | None:
    """Read a set from a folder in any of its layouts; None where it is not there."""
    entry = CATALOGUE[name]
    for base in (folder / root for root in entry.roots):
        missing = [file for file in entry.files if not (base / file).is_file()]
        if not missing:
            return _checked(name, entry, entry.read(base))
        if len(missing) < len(entry.files):
            raise UserError(f"{name} in {base} is not whole: {missing[0]} is missing.")
    return None


def _as(found: EvaluationSet, kind: type[Kind]) -> Kind:
    if not isinstance(found, kind):
        raise TypeError(f"{found.name} is a {type(found).__name__}, not a {kind.__name__}")
    return found


def _checked(name: str, entry: Entry, found: EvaluationSet) -> EvaluationSet:
    parts = found.parts if isinstance(found, TransferTask) else [found]
    rows = tuple(map(row_count, parts))
    if entry.sampled and sum(rows) < sum(entry.rows):
        found = replace(found, name=sample_name(name, sum(rows)))
    elif entry.rows and rows != entry.rows:
        raise UserError(
            f"{found.source} has {_count(rows)} rows where {name} has {_count(entry.rows)}: "
            "it is truncated, or not the original."
        )
    if entry.classes and isinstance(found, LabelledTexts) and found.classes != entry.classes:
        raise UserError(
            f"{found.source} has {found.classes} classes where {name} has {entry.classes}: "
            "it is truncated, or not the original."
        )
    return found


def _count(rows: tuple[int, ...]) -> str:
    return " + ".join(map(str, rows))
