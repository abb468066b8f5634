"""The catalogue of evaluation sets: where each lies, how it is read, what shows it is whole."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from clusterns.evaluation.data import readers
from clusterns.evaluation.data.hub import HubSet
from clusterns.evaluation.data.sets import LabelledTexts, ScoredPairs, TransferTask

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
