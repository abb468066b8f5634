"""One resolver for all evaluation data: a folder, the Hub, or one clear message."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from clusterns.errors import UserError
from clusterns.evaluation.data.catalogue import CATALOGUE, VARIABLE, Entry, EvaluationSet
from clusterns.evaluation.data.hub import NotAtHandError
from clusterns.evaluation.data.sets import LabelledTexts, ScoredPairs, TransferTask

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
    """Finds sets by name, such as ``STS12``, ``STS-B dev``, ``MR``, ``AG`` or ``DBpedia``."""

    def __init__(self, folder: Path | None = None) -> None:
        named = folder or (Path(os.environ[VARIABLE]) if os.environ.get(VARIABLE) else None)
        if named is not None and not named.is_dir():
            asked = "--data" if folder else VARIABLE
            raise UserError(f"{named}, named by {asked}, is not a folder.")
        self.folder = named

    def pairs(self, name: str) -> ScoredPairs:
        """Find a set of scored pairs."""
        return self._find(name, ScoredPairs)

    def texts(self, name: str) -> LabelledTexts:
        """Find a set of labelled texts."""
        return self._find(name, LabelledTexts)

    def task(self, name: str) -> TransferTask:
        """Find a transfer task."""
        return self._find(name, TransferTask)

    def _find(self, name: str, kind: type[Kind]) -> Kind:
        source = CATALOGUE[name]
        looked = []
        for root in source.roots if self.folder else ():
            assert self.folder is not None
            base = self.folder / root
            looked.append(str(base))
            missing = [file for file in source.files if not (base / file).is_file()]
            if not missing:
                return _checked(name, source, source.read(base), kind)
            if len(missing) < len(source.files):
                raise UserError(f"{name} in {base} is not whole: {missing[0]} is missing.")
        if not self.folder:
            looked.append(f"no folder (none is named with --data or {VARIABLE})")
        if source.hub:
            try:
                return _checked(name, source, source.hub(name), kind)
            except NotAtHandError as error:
                looked.append(f"the Hugging Face Hub ({error})")
        raise MissingData(name, source.files[0], looked, source.remedy)


def find_stsb_dev(data: Path | None = None) -> ScoredPairs | None:
    """STS-B's development pairs where they are at hand, else None, within seconds."""
    try:
        return EvaluationData(data).pairs("STS-B dev")
    except MissingData:
        return None


def _checked(name: str, source: Entry, found: EvaluationSet, kind: type[Kind]) -> Kind:
    if not isinstance(found, kind):
        raise TypeError(f"{name} is a {type(found).__name__}, not a {kind.__name__}")
    parts = found.parts if isinstance(found, TransferTask) else [found]
    rows = tuple(len(p.scores) if isinstance(p, ScoredPairs) else len(p.labels) for p in parts)
    if source.rows and rows != source.rows:
        raise UserError(
            f"{found.source} has {_count(rows)} rows where {name} has {_count(source.rows)}: "
            "it is truncated, or not the original."
        )
    if source.classes and isinstance(found, LabelledTexts) and found.classes != source.classes:
        raise UserError(
            f"{found.source} has {found.classes} classes where {name} has {source.classes}: "
            "it is truncated, or not the original."
        )
    return found


def _count(rows: tuple[int, ...]) -> str:
    return " + ".join(map(str, rows))
