"""One resolver for all evaluation data: a folder, the Hub, or one clear message."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from clusterns.errors import UserError
from clusterns.evaluation import readers
from clusterns.evaluation.hub import HubSet, NotAtHandError
from clusterns.evaluation.sets import LabelledTexts, ScoredPairs, TransferTask

VARIABLE = "CLUSTERNS_DATA"
SENTEVAL = ("", "senteval", "downstream", "data/downstream")
SHORT_TEXT = ("", "short-text")
DBPEDIA = ("dbpedia14", "dbpedia_14", "dbpedia_csv")

STS = ("STS12", "STS13", "STS14", "STS15", "STS16", "STS-B", "SICK-R")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST-2", "TREC", "MRPC")
SHORT_TEXTS = tuple(readers.SHORT_TEXT_FILES)

EvaluationSet = ScoredPairs | LabelledTexts | TransferTask
Kind = TypeVar("Kind", ScoredPairs, LabelledTexts, TransferTask)


class MissingData(UserError):  # noqa: N818 - it reads as what it is in `except MissingData`
    """A set that is nowhere at hand: says where it was looked for."""

    def __init__(self, name: str, looked: list[str], remedy: str) -> None:
        self.name, self.looked, self.remedy = name, looked, remedy
        super().__init__(f"{name} is not at hand. Looked in {'; '.join(looked)}. {remedy}")


@dataclass(frozen=True)
class Source:
    """Where a set lies, how it is read, and what shows that it is whole.

    ``files`` are relative to one of ``roots``, which are relative to the data folder. ``rows`` are
    the official numbers: a file cut off at a line end can be told by nothing else.
    """

    roots: tuple[str, ...]
    files: tuple[str, ...]
    read: Callable[[Path], EvaluationSet]
    rows: tuple[int, ...] = ()
    classes: int = 0
    hub: Callable[[str], EvaluationSet] | None = None
    hub_name: str = ""

    @property
    def remedy(self) -> str:
        """How to get the set."""
        if self.roots is SENTEVAL:
            return (
                "Make SentEval's data folder with its script get_transfer_data.bash and name it "
                f"with --data or {VARIABLE}."
            )
        if self.roots is SHORT_TEXT:
            return (
                f"Get {self.files[0]} from the GitHub repository rashadulrakib/short-text-"
                f"clustering-enhancement and name its folder with --data or {VARIABLE}."
            )
        return (
            f"Put DBpedia's {self.files[0]} (label,title,content) into a folder dbpedia14 and name "
            f"the folder above it with --data or {VARIABLE}."
        )


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
            looked.append(str(base / Path(source.files[0]).parent))
            missing = [file for file in source.files if not (base / file).is_file()]
            if not missing:
                return _checked(name, source, source.read(base), kind)
            if len(missing) < len(source.files):
                raise UserError(f"{name} in {base} is not whole: {missing[0]} is missing.")
        if not self.folder:
            looked.append(f"no folder (none named with --data or {VARIABLE})")
        if source.hub:
            try:
                return _checked(name, source, source.hub(name), kind)
            except NotAtHandError as error:
                looked.append(f"the Hugging Face Hub, {source.hub_name} ({error})")
        raise MissingData(name, looked, source.remedy)


def missing_message(missing: Iterable[MissingData]) -> str:
    """One message for several missing sets: each place and each remedy once."""
    missing = list(missing)
    looked = dict.fromkeys(place for one in missing for place in one.looked)
    remedies = dict.fromkeys(one.remedy for one in missing)
    names = ", ".join(one.name for one in missing)
    return f"Not at hand: {names}. Looked in {'; '.join(looked)}. {' '.join(remedies)}"


def find_stsb_dev(data: Path | None = None) -> ScoredPairs | None:
    """STS-B's development pairs where they are at hand, else None, within seconds."""
    try:
        return EvaluationData(data).pairs("STS-B dev")
    except MissingData:
        return None


def _checked(name: str, source: Source, found: EvaluationSet, kind: type[Kind]) -> Kind:
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


def _sts_year(name: str, rows: int) -> Source:
    folder = f"STS/{name}-en-test"
    subsets = readers.STS_SUBSETS[name]
    hub = HubSet(f"mteb/{name.lower()}-sts", ("test",), ("sentence1", "sentence2", "score"))
    return Source(
        SENTEVAL,
        tuple(
            f"{folder}/STS.{kind}.{subset}.txt" for subset in subsets for kind in ("input", "gs")
        ),
        lambda base: readers.read_sts_year(base / folder, name, subsets),
        (rows,),
        hub=hub.pairs,
        hub_name=hub.repo,
    )


def _stsb(split: str, hub_split: str, rows: int) -> Source:
    file = f"STS/STSBenchmark/sts-{split}.csv"
    hub = HubSet("mteb/stsbenchmark-sts", (hub_split,), ("sentence1", "sentence2", "score"))
    return Source(
        SENTEVAL,
        (file,),
        lambda base: readers.read_stsb(base / file),
        (rows,),
        hub=hub.pairs,
        hub_name=hub.repo,
    )


def _sick(split: str, rows: int) -> Source:
    file = f"SICK/SICK_{split}.txt"
    return Source(SENTEVAL, (file,), lambda base: readers.read_sick(base / file), (rows,))


def _two_classes(name: str, ones: str, zeros: str, rows: int, hub: HubSet | None = None) -> Source:
    files = (f"{name}/{ones}", f"{name}/{zeros}")
    return Source(
        SENTEVAL,
        files,
        lambda base: readers.read_two_classes(name, base / files[0], base / files[1]),
        (rows,),
        hub=hub.task if hub else None,
        hub_name=hub.repo if hub else "",
    )


def _task(
    folder: str,
    files: tuple[str, ...],
    read: Callable[[Path], TransferTask],
    rows: tuple[int, ...],
    hub: HubSet | None = None,
) -> Source:
    return Source(
        SENTEVAL,
        tuple(f"{folder}/{file}" for file in files),
        lambda base: read(base / folder),
        rows,
        hub=hub.task if hub else None,
        hub_name=hub.repo if hub else "",
    )


def _short_text(name: str, classes: int, rows: int | None = None) -> Source:
    file = readers.SHORT_TEXT_FILES[name]
    read = partial(readers.read_short_text, name=name)
    return Source(
        SHORT_TEXT, (file,), lambda base: read(base / file), (rows,) if rows else (), classes
    )


_WHOLE = "train+validation+test"
_DBPEDIA = HubSet("fancyzhx/dbpedia_14", ("test",), ("content", "label"))

CATALOGUE: dict[str, Source] = {
    "STS12": _sts_year("STS12", 3108),
    "STS13": _sts_year("STS13", 1500),
    "STS14": _sts_year("STS14", 3750),
    "STS15": _sts_year("STS15", 3000),
    "STS16": _sts_year("STS16", 1186),
    "STS-B": _stsb("test", "test", 1379),
    "STS-B dev": _stsb("dev", "validation", 1500),
    "STS-B train": _stsb("train", "train", 5749),
    "SICK-R": _sick("test_annotated", 4927),
    "SICK-R dev": _sick("trial", 500),
    "SICK-R train": _sick("train", 4500),
    "MR": _two_classes(
        "MR",
        "rt-polarity.pos",
        "rt-polarity.neg",
        10662,
        HubSet("cornell-movie-review-data/rotten_tomatoes", (_WHOLE,), ("text", "label")),
    ),
    "CR": _two_classes("CR", "custrev.pos", "custrev.neg", 3775),
    "SUBJ": _two_classes(
        "SUBJ",
        "subj.objective",
        "subj.subjective",
        10000,
        HubSet("SetFit/subj", ("train+test",), ("text", "label")),
    ),
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
        HubSet(
            "CogComp/trec",
            ("train", "test"),
            ("text", "coarse_label"),
            revision="refs/convert/parquet",
        ),
    ),
    "MRPC": _task(
        "MRPC",
        ("msr_paraphrase_train.txt", "msr_paraphrase_test.txt"),
        readers.read_mrpc,
        (4076, 1725),
        HubSet(
            "nyu-mll/glue",
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
    "DBpedia": Source(
        DBPEDIA,
        ("test.csv",),
        lambda base: readers.read_dbpedia(base / "test.csv"),
        classes=14,
        hub=_DBPEDIA.texts,
        hub_name=_DBPEDIA.repo,
    ),
}
