"""The catalog of evaluation sets: ``catalog.yaml`` defines where each is and how to read it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import yaml
from pydantic import model_validator

from clusterns.errors import UserError
from clusterns.evaluation import custom, senteval
from clusterns.evaluation.datasets import EvaluationSet, LabeledTexts, ScoredPairs
from clusterns.evaluation.hub import HubSet, UnavailableError
from clusterns.evaluation.senteval import Layout
from clusterns.files import cache_folder
from clusterns.settings import Settings

VARIABLE = "CLUSTERNS_DATA"
FETCHED = "data"  # subfolder of the cache
HUB = "Hub"  # the variant of sets from the Hub: their text differs, so their scores do, too

# By format: the reader of the files, and the method of HubSet that returns the same type of set.
FORMATS: dict[str, tuple[Callable[[str, Sequence[Path], Layout], EvaluationSet], str]] = {
    "sts-year": (senteval.read_sts_year, "pairs"),
    "pairs": (senteval.read_pairs, "pairs"),
    "classes": (senteval.read_classes, "task"),
    "task": (senteval.read_task, "task"),
    "trec": (senteval.read_trec, "task"),
    "texts": (senteval.read_texts, "texts"),
    "own-pairs": (lambda name, paths, _: custom.read_scored_pairs(paths[0]), "pairs"),
    "own-texts": (lambda name, paths, _: custom.read_labeled_texts(paths[0]), "texts"),
}


class Source(Settings):
    """Where to find a group of sets."""

    folders: tuple[str, ...]
    hint: str


class Entry(Layout):
    """A set of the catalog; ``catalog.yaml`` explains the keys."""

    source: str
    format: str
    files: tuple[str, ...]
    suite: tuple[str, ...] = ()
    average: str | None = None
    rows: tuple[int, ...] = ()
    classes: int = 0
    sampled: bool = False
    metric: str | None = None
    hub: HubSet | None = None

    @property
    def paths(self) -> list[str]:
        """Its files, grouped by subset."""
        return [
            file.format(subset=subset) for subset in self.subsets or ("",) for file in self.files
        ]


class Catalog(Settings):
    """All of ``catalog.yaml``."""

    suites: dict[str, str]
    sources: dict[str, Source]
    sets: dict[str, Entry]

    @model_validator(mode="after")
    def _names_are_known(self) -> Catalog:
        known = {*self.suites, *self.sources, *FORMATS}
        for name, entry in self.sets.items():
            if unknown := {*entry.suite, entry.source, entry.format} - known:
                raise ValueError(f"{name}: there is no suite, source or format {min(unknown)!r}.")
            layout = entry.model_fields_set & set(Layout.model_fields)
            if entry.format.startswith("own-") and layout:
                raise ValueError(f"{name}: format {entry.format} does not read {min(layout)}.")
        return self


CATALOG = Catalog.model_validate(
    yaml.safe_load((files("clusterns.evaluation") / "catalog.yaml").read_text("utf-8"))
)
SUITES = {
    suite: tuple(name for name, entry in CATALOG.sets.items() if suite in entry.suite)
    for suite in CATALOG.suites
}
# The average of a suite is the mean over exactly these sets, which share one metric.
AVERAGED = {
    suite: names
    for suite in SUITES
    if (names := tuple(name for name, each in CATALOG.sets.items() if each.average == suite))
}


class MissingData(UserError):  # noqa: N818 - `except MissingData` is clear without the suffix
    """A set that was not found. The message lists the places searched and how to get the set."""

    def __init__(self, name: str, file: str, looked: list[str], hint: str) -> None:
        self.name, self.file, self.looked, self.hint = name, file, looked, hint
        super().__init__(missing_message([self]))


def missing_message(missing: Iterable[MissingData]) -> str:
    """One message for all missing sets, with each place and each hint once."""
    missing = list(missing)
    looked = dict.fromkeys(place for one in missing for place in one.looked)
    hints = dict.fromkeys(one.hint for one in missing)
    names = ", ".join(f"{one.name} ({one.file})" for one in missing)
    return f"Not found: {names}. Looked in {', '.join(looked)}. {' '.join(hints)}"


class EvaluationData:
    """Finds sets by name, such as ``STS12``, ``STS-B dev``, ``MR``, ``AG`` or ``DBpedia``.

    It looks in the named folder, in what ``clusterns data fetch`` has fetched, and on the Hub, in that
    order. SentEval sets from the Hub are variants: their text is cased and not tokenized, or their
    rows are in another order.
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
        found = self.find(name)
        assert isinstance(found, ScoredPairs)
        return found

    def find(self, name: str) -> EvaluationSet:
        """Find a set of any type, and check that it is complete."""
        entry = CATALOG.sets[name]
        source = CATALOG.sources[entry.source]
        looked = []
        for folder in self.folders:
            found = read_from(folder, name)
            if found is not None:
                return found
            looked += [str(folder / each) for each in source.folders]
        if not self.folders:
            looked.append(f"no folder (none is named with --data or {VARIABLE}, none was fetched)")
        if entry.hub:
            try:
                read = getattr(entry.hub, FORMATS[entry.format][1])
                variant = HUB if entry.source == "senteval" else ""
                return _checked(name, replace(read(name), variant=variant))
            except UnavailableError as error:
                looked.append(f"the Hugging Face Hub ({error})")
        raise MissingData(name, entry.paths[0], looked, source.hint)

    def shown(self, source: str) -> str:
        """A source as recorded: relative to the data folder, so that it is the same on every machine."""
        for folder in self.folders:
            if Path(source).is_relative_to(folder):
                return Path(source).relative_to(folder).as_posix()
        return source if source.startswith("Hub") else Path(source).name


def read_from(folder: Path, name: str) -> EvaluationSet | None:
    """Read a set from a folder in any of its layouts; None if it is not there."""
    entry = CATALOG.sets[name]
    for base in (folder / each for each in CATALOG.sources[entry.source].folders):
        missing = [file for file in entry.paths if not (base / file).is_file()]
        if not missing:
            read = FORMATS[entry.format][0]
            return _checked(name, read(name, [base / file for file in entry.paths], entry))
        if len(missing) < len(entry.paths):
            raise UserError(f"{name} in {base} is incomplete: {missing[0]} is missing.")
    return None


def _checked(name: str, found: EvaluationSet) -> EvaluationSet:
    """Give a set its name in the catalog; refuse it unless it has the official numbers of rows and classes."""
    entry, rows = CATALOG.sets[name], found.rows
    found = replace(found, name=name, metric=entry.metric or found.metric)
    if entry.sampled and sum(rows) < sum(entry.rows):
        found = replace(found, variant=f"{sum(rows):,} rows")
    elif entry.rows and rows != entry.rows:
        has, official = (" + ".join(map(str, each)) for each in (rows, entry.rows))
        raise UserError(
            f"{found.source} has {has} rows where {name} has {official}: it is truncated, or not "
            "the original."
        )
    if entry.classes and isinstance(found, LabeledTexts) and found.classes != entry.classes:
        raise UserError(
            f"{found.source} has {found.classes} classes where {name} has {entry.classes}: "
            "it is truncated, or not the original."
        )
    return found
