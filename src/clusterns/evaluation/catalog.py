"""The catalogue of evaluation sets: where each lies, how it is read, what shows it is whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from clusterns.errors import UserError
from clusterns.evaluation import senteval as readers
from clusterns.evaluation.datasets import LabelledTexts, ScoredPairs, TransferTask, row_count
from clusterns.evaluation.hub import HubSet, NotAtHandError
from clusterns.files import cache_folder

VARIABLE = "CLUSTERNS_DATA"
SENTEVAL = ("", "senteval", "downstream", "data/downstream")
SHORT_TEXT = ("", "short-text")
DBPEDIA = ("dbpedia14", "dbpedia_14", "dbpedia_csv")

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
DBPEDIA_ROWS = 70_000
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")
SHORT_TEXTS = tuple(readers.SHORT_TEXT_FILES)
SUITES = {
    "sts": STS,
    "transfer": TRANSFER,
    "clustering": (*SHORT_TEXTS, "DBpedia"),
    "geometry": ("STS-B",),
}

EvaluationSet = ScoredPairs | LabelledTexts | TransferTask


def hub_name(name: str) -> str:
    """What a set of SentEval is called where it comes from the Hub.

    There its text is cased and not tokenised, or its rows are in another order: its scores are
    not those of the papers, and must not stand under the same name.
    """
    return f"{name} (Hub)"


def sample_name(name: str, rows: int) -> str:
    """What a part of a set is called."""
    return f"{name} ({rows:,} rows)"


@dataclass(frozen=True)
class Entry:
    """Where a set lies, how it is read, and what shows that it is whole.

    ``files`` are relative to one of ``roots``, which are relative to the data folder. ``rows`` are
    the official numbers: a file cut off at a line end can be told by nothing else. Of a set that
    people evaluate samples of, a part goes by another name, with its rows in it (``sampled``).
    """

    roots: tuple[str, ...]
    files: tuple[str, ...]
    read: Callable[[Path], EvaluationSet]
    rows: tuple[int, ...] = ()
    classes: int = 0
    hub: Callable[[str], EvaluationSet] | None = None
    sampled: bool = False

    @property
    def remedy(self) -> str:
        """How to get the set."""
        if self.roots is SENTEVAL:
            return (
                "Fetch SentEval's sets with `clusterns data fetch`, or name a folder that holds "
                f"them with --data or {VARIABLE}."
            )
        if self.roots is SHORT_TEXT:
            return (
                "Get the short-text files from the GitHub repository rashadulrakib/short-text-"
                f"clustering-enhancement and name their folder with --data or {VARIABLE}."
            )
        return (
            f"Put DBpedia's {self.files[0]} (label,title,content) into a folder dbpedia14 and name "
            f"the folder above it with --data or {VARIABLE}."
        )


PAIR_COLUMNS = ("sentence1", "sentence2", "score")
STS_REVISIONS = {
    "STS12": "a0d554a64d88156834ff5ae9920b964011b16384",
    "STS13": "7e90230a92c190f1bf69ae9002b8cea547a64cca",
    "STS14": "6031580fec1f6af667f0bd2da0a551cf4f0b2375",
    "STS15": "ae752c7c21bf194d8b67fd573edf7ae58183cbe3",
    "STS16": "4d8694f8f0e0100860b497b999b3dbed754a0513",
    "STS-B": "b0fddb56ed78048fa8b90373c8a3cfc37b684831",
}


def _sts_year(name: str, rows: int) -> Entry:
    folder = f"STS/{name}-en-test"
    subsets = readers.STS_SUBSETS[name]
    hub = HubSet(f"mteb/{name.lower()}-sts", STS_REVISIONS[name], ("test",), PAIR_COLUMNS)
    return Entry(
        SENTEVAL,
        tuple(
            f"{folder}/STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")
        ),
        lambda base: readers.read_sts_year(base / folder, name, subsets),
        (rows,),
        hub=hub.pairs,
    )


def _stsb(name: str, split: str, hub_split: str, rows: int) -> Entry:
    file = f"STS/STSBenchmark/sts-{split}.csv"
    hub = HubSet("mteb/stsbenchmark-sts", STS_REVISIONS["STS-B"], (hub_split,), PAIR_COLUMNS)
    return Entry(
        SENTEVAL,
        (file,),
        lambda base: readers.read_stsb(base / file, name),
        (rows,),
        hub=hub.pairs,
    )


def _sick(name: str, split: str, rows: int) -> Entry:
    file = f"SICK/SICK_{split}.txt"
    return Entry(SENTEVAL, (file,), lambda base: readers.read_sick(base / file, name), (rows,))


def _two_classes(name: str, ones: str, zeros: str, rows: int, hub: HubSet | None = None) -> Entry:
    files = (f"{name}/{ones}", f"{name}/{zeros}")
    return Entry(
        SENTEVAL,
        files,
        lambda base: readers.read_two_classes(name, base / files[0], base / files[1]),
        (rows,),
        hub=hub.task if hub else None,
    )


def _task(
    folder: str,
    files: tuple[str, ...],
    read: Callable[[Path], TransferTask],
    rows: tuple[int, ...],
    hub: HubSet | None = None,
) -> Entry:
    return Entry(
        SENTEVAL,
        tuple(f"{folder}/{file}" for file in files),
        lambda base: read(base / folder),
        rows,
        hub=hub.task if hub else None,
    )


def _short_text(name: str, classes: int, rows: int | None = None) -> Entry:
    file = readers.SHORT_TEXT_FILES[name]
    read = partial(readers.read_short_text, name=name)
    return Entry(
        SHORT_TEXT, (file,), lambda base: read(base / file), (rows,) if rows else (), classes
    )


_WHOLE = "train+validation+test"
_DBPEDIA = HubSet(
    "fancyzhx/dbpedia_14",
    "9abd46cf7fc8b4c64290f26993c540b92aa145ac",
    ("test",),
    ("content", "label"),
)

CATALOGUE: dict[str, Entry] = {
    "STS12": _sts_year("STS12", 3108),
    "STS13": _sts_year("STS13", 1500),
    "STS14": _sts_year("STS14", 3750),
    "STS15": _sts_year("STS15", 3000),
    "STS16": _sts_year("STS16", 1186),
    "STS-B": _stsb("STS-B", "test", "test", 1379),
    "STS-B dev": _stsb("STS-B dev", "dev", "validation", 1500),
    "STS-B train": _stsb("STS-B train", "train", "train", 5749),
    "SICK-R": _sick("SICK-R", "test_annotated", 4927),
    "SICK-R dev": _sick("SICK-R dev", "trial", 500),
    "SICK-R train": _sick("SICK-R train", "train", 4500),
    "MR": _two_classes(
        "MR",
        "rt-polarity.pos",
        "rt-polarity.neg",
        10662,
        HubSet(
            "cornell-movie-review-data/rotten_tomatoes",
            "aa13bc287fa6fcab6daf52f0dfb9994269ffea28",
            (_WHOLE,),
            ("text", "label"),
        ),
    ),
    "CR": _two_classes("CR", "custrev.pos", "custrev.neg", 3775),
    "SUBJ": _two_classes("SUBJ", "subj.objective", "subj.subjective", 10000),
    "MPQA": _two_classes("MPQA", "mpqa.pos", "mpqa.neg", 10606),
    "SST-2": _task(
        "SST/binary",
        ("sentiment-train", "sentiment-dev", "sentiment-test"),
        readers.read_sst2,
        (67349, 872, 1821),
    ),
    "TREC": _task(
        "TREC",
        ("train_5500.label", "TREC_10.label"),
        readers.read_trec,
        (5452, 500),
    ),
    "MRPC": _task(
        "MRPC",
        ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        readers.read_mrpc,
        (4076, 1725),
        HubSet(
            "nyu-mll/glue",
            "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c",
            ("train+validation", "test"),
            ("sentence1", "sentence2", "label"),
            config="mrpc",
        ),
    ),
    "AG": _short_text("AG", 4, 8000),
    "Bio": _short_text("Bio", 20),
    "Go-S": _short_text("Go-S", 152),
    "G-T": _short_text("G-T", 152, 11108),
    "G-TS": _short_text("G-TS", 152),
    "SS": _short_text("SS", 8, 12340),
    "SO": _short_text("SO", 20, 20000),
    "Tweet": _short_text("Tweet", 89, 2472),
    "DBpedia": Entry(
        DBPEDIA,
        ("test.csv",),
        lambda base: readers.read_dbpedia(base / "test.csv"),
        (DBPEDIA_ROWS,),
        classes=14,
        hub=_DBPEDIA.texts,
        sampled=True,
    ),
}


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
