"""Sources to a clean corpus without duplicates: an Arrow file in the cache, mapped into memory."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.console import bar, log
from clusterns.data.clean import MAX_CHARS, SeenTexts, clean
from clusterns.data.columns import Columns
from clusterns.data.documents import Documents
from clusterns.data.formats import DOCUMENT
from clusterns.data.sentences import split_sentences
from clusterns.data.settings import MIN_WORDS
from clusterns.data.sources import RULES, FileSource, HubSource, describe_columns, find_sources
from clusterns.errors import UserError
from clusterns.files import atomic_file, cache_folder, read_json, write_json

# Raise this number whenever the same file and settings would give another corpus.
FORMAT_VERSION = 1
SCHEMA = pa.schema([("text", pa.string())])


@dataclass(frozen=True)
class CorpusReport:
    """What became of every line that was read.

    ``read`` counts lines or rows; where paragraphs are split, the sentences in them. It is always
    the sum of the others.
    """

    read: int = 0
    empty: int = 0
    not_text: int = 0
    too_short: int = 0
    too_long: int = 0
    duplicates: int = 0
    kept: int = 0
    ragged: int = 0

    def as_dict(self) -> dict[str, int]:
        """Give the counts by name."""
        return asdict(self)

    def summary(self) -> str:
        """Say it in one paragraph."""
        ragged = f"{self.ragged:,} with too many or too few cells, " if self.ragged else ""
        return (
            f"{self.read:,} lines read: {self.kept:,} kept; dropped {ragged}{self.empty:,} empty, "
            f"{self.not_text:,} not text, {self.too_short:,} too short, "
            f"{self.too_long:,} too long and {self.duplicates:,} exact duplicates."
        )


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus: one sentence a row in the column ``text``.

    Where documents were asked for, the column ``document`` holds a number for the document of each.
    """

    dataset: Dataset
    report: CorpusReport
    fingerprint: str


def prepare_corpus(
    sources: Sequence[str],
    *,
    column: str | None = None,
    document: str | None = None,
    split_sentences: bool = False,
    min_words: int = MIN_WORDS,
    max_chars: int = MAX_CHARS,
    cache: Path | None = None,
    progress: bool = True,
) -> Corpus:
    """Read, clean and deduplicate ``sources`` in their order, in little memory, whatever their size.

    A source is a file (text, JSON lines, csv, tsv or parquet, plain or packed), a folder of such
    files, or a Hub dataset written ``owner/name[:config[:split]]``. ``column`` names the column of
    text, or numbers it from 1 where a table has no header; in plain text it makes a table of what
    stands between tabs. ``document`` names or numbers the column that says which rows belong to one
    document; for plain text it is ``paragraph`` (between blank lines), ``line`` or ``file``. A row
    without such a value is a document of its own, and duplicates stay with their first document.
    ``split_sentences`` splits paragraphs, in plain text after joining hard-wrapped lines; lines of
    fewer than ``min_words`` words or more than ``max_chars`` characters are dropped. The result stays
    in the folder ``cache`` under a hash of the sources' content and the settings, so that an edited
    file is read again.
    """
    sources = [sources] if isinstance(sources, str) else sources
    # Where each line is a document, each holds a whole paragraph.
    unwrap = split_sentences and document != "line"
    columns = Columns(column, document=document, unwrap=unwrap)
    found = find_sources(sources)
    settings = {
        "column": column,
        "split_sentences": split_sentences,
        "min_words": min_words,
        "max_chars": max_chars,
    }
    if document is not None:
        settings["document"] = document
    if progress:
        for told in describe_columns(found, columns):
            log(told)
    fingerprint = _fingerprint(found, columns, settings)
    path = (cache or cache_folder("corpus")) / f"{fingerprint}.arrow"
    corpus = _load(path, fingerprint)
    if corpus is None:
        with atomic_file(path) as temporary:
            report = _write(temporary, found, columns, settings, progress)
            if report.kept == 0:
                raise UserError(f"no usable sentence in {', '.join(sources)}: {report.summary()}")
            if _fingerprint(found, columns, settings) != fingerprint:
                raise UserError(f"{', '.join(sources)} changed while it was read; start again.")
            # The report comes first: where the corpus is, its report is.
            write_json(_report_path(path), report.as_dict())
        corpus = _load(path, fingerprint)
    if corpus is None:
        raise UserError(f"{path} cannot be read back: is the disk full or damaged?")
    return corpus


def _write(
    path: Path,
    sources: Sequence[FileSource | HubSource],
    columns: Columns,
    settings: dict[str, Any],
    progress: bool,
) -> CorpusReport:
    counts: Counter[str] = Counter()
    seen = SeenTexts()
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    schema = SCHEMA if columns.document is None else SCHEMA.append(DOCUMENT)
    with (
        pa.ipc.new_stream(str(path), schema) as writer,
        bar(desc="Reading", total=total, unit="B", unit_scale=True, shown=progress) as shown,
    ):
        documents = Documents()
        for source in sources:
            documents.next_source(isinstance(source, FileSource) and source.is_plain(columns))
            for rows in source.rows(columns, shown.update, counts):
                texts = rows["text"]
                others = [] if columns.document is None else [documents.of(rows["document"])]
                if settings["split_sentences"]:
                    texts, split_from = split_all(texts)
                    others = [values.take(pa.array(split_from)) for values in others]
                texts, kept, dropped = clean(
                    texts, min_words=settings["min_words"], max_chars=settings["max_chars"]
                )
                is_new = seen.add(texts)
                new = [texts.filter(is_new), *(o.filter(kept).filter(is_new) for o in others)]
                writer.write_batch(pa.record_batch(new, schema=schema))
                counts += dropped
                counts["duplicates"] += len(texts) - len(new[0])
                counts["kept"] += len(new[0])
    counts["empty"] -= counts["ragged"]  # they came as rows without text
    return CorpusReport(**counts)


def split_all(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Split every row into sentences; an empty row stays one empty row, so that it is counted.

    Returns the sentences, and for each the row that it comes from.
    """
    split = [split_sentences(text or "") or [""] for text in texts.to_pylist()]
    rows = np.repeat(np.arange(len(split)), [len(sentences) for sentences in split])
    return pa.array([one for sentences in split for one in sentences], pa.string()), rows


def _load(path: Path, fingerprint: str) -> Corpus | None:
    """Open a prepared corpus; None where there is none, or where a crash left half of one."""
    try:
        report = CorpusReport(**read_json(_report_path(path)))
        dataset = Dataset.from_file(str(path))
    except (OSError, ValueError, TypeError, pa.ArrowException):
        return None
    return Corpus(dataset, report, fingerprint) if len(dataset) == report.kept else None


def _fingerprint(
    sources: Sequence[FileSource | HubSource], columns: Columns, settings: dict[str, Any]
) -> str:
    content = [FORMAT_VERSION, settings, [source.identity() for source in sources]]
    if any(isinstance(source, FileSource) and source.is_tabbed(columns) for source in sources):
        content.append(RULES)  # those of .csv and .tsv are in their identity
    if any(isinstance(source, FileSource) and source.is_wrapped(columns) for source in sources):
        content.append("unwrapped")
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]


def _report_path(path: Path) -> Path:
    return path.with_suffix(".json")
