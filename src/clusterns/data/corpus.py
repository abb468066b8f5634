"""Prepare a clean, deduplicated corpus: a memory-mapped Arrow file in the cache."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import Dataset

from clusterns.console import bar, log
from clusterns.data.clean import MAX_CHARS, SeenTexts, clean
from clusterns.data.columns import Columns
from clusterns.data.documents import corpus_documents
from clusterns.data.sentences import split_sentences
from clusterns.data.settings import MIN_WORDS
from clusterns.data.sources import FileSource, HubSource, describe_columns, find_sources
from clusterns.errors import UserError
from clusterns.files import atomic_file, cache_folder, read_json, write_json

# Increment when the same file and settings would give a different corpus.
FORMAT_VERSION = 1


@dataclass(frozen=True)
class CorpusReport:
    """Counts of lines read, kept and dropped.

    ``read`` counts lines or rows, or sentences if paragraphs are split. It is the sum of the others.
    """

    read: int = 0
    empty: int = 0
    not_text: int = 0
    too_short: int = 0
    too_long: int = 0
    duplicates: int = 0
    kept: int = 0
    ragged: int = 0

    def summary(self) -> str:
        """The counts as a sentence."""
        ragged = f"{self.ragged:,} with too many or too few cells, " if self.ragged else ""
        return (
            f"{self.read:,} lines read: {self.kept:,} kept; dropped {ragged}{self.empty:,} empty, "
            f"{self.not_text:,} not text, {self.too_short:,} too short, "
            f"{self.too_long:,} too long and {self.duplicates:,} exact duplicates."
        )


@dataclass(frozen=True)
class Corpus:
    """A prepared corpus: one sentence per row in the column ``text``.

    If documents were requested, the column ``document`` holds their numbers.
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
    """Read, clean and deduplicate ``sources`` in order. Memory use does not grow with their size.

    Args:
        sources: files (text, markup, JSON lines, csv, tsv or parquet, compressed or not), folders of such files, or
            Hub datasets (``owner/name[:config[:split]]``).
        column: column of the text: a name, or a number from 1 if a table has no header. A text file is then read as
            tab-separated columns.
        document: column whose values identify documents; for plain text ``paragraph`` (between blank lines),
            ``line`` or ``file``. A row without a value is its own document. A duplicate stays in its first document.
        split_sentences: split paragraphs into sentences, after joining hard-wrapped lines.
        min_words: drop lines with fewer words.
        max_chars: drop lines with more characters.
        cache: folder of prepared corpora. Each is stored under a hash of its sources' content and its settings, so
            an edited file is read again.
        progress: show a progress bar and log which columns are read.
    """
    sources = [sources] if isinstance(sources, str) else sources
    # If each line is a document, each line is a complete paragraph.
    unwrap = split_sentences and document != "line"
    columns = Columns(column, document=document, unwrap=unwrap)
    found = find_sources(sources)
    settings: dict[str, Any] = {
        "column": column, "split_sentences": split_sentences, "min_words": min_words,
        "max_chars": max_chars, **({} if document is None else {"document": document}),
    }  # fmt: skip
    if progress:
        for line in describe_columns(found, columns):
            log(line)
    fingerprint = _fingerprint(found, columns, settings)
    path = (cache or cache_folder("corpus")) / f"{fingerprint}.arrow"
    corpus = _load(path, fingerprint)
    if corpus is None:
        with atomic_file(path) as temporary:
            report = _write(temporary, found, columns, settings, progress)
            if report.kept == 0:
                raise UserError(f"no usable sentence in {', '.join(sources)}: {report.summary()}")
            if _fingerprint(found, columns, settings) != fingerprint:
                raise UserError(
                    f"{', '.join(sources)} changed while it was being read. Start again."
                )
            # Written before the corpus file, so that a corpus always has its report.
            write_json(path.with_suffix(".json"), asdict(report))
        corpus = _load(path, fingerprint)
    if corpus is None:
        raise UserError(f"cannot read back {path}: is the disk full or damaged?")
    return corpus


def _write(
    path: Path,
    sources: Sequence[FileSource | HubSource],
    columns: Columns,
    settings: dict[str, Any],
    progress: bool,
) -> CorpusReport:
    counts: Counter[str] = Counter()
    seen, alone = SeenTexts(), 0
    sizes = [source.size for source in sources]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    kinds = {"text": pa.string()} | ({"document": pa.int64()} if columns.document else {})
    with (
        pa.ipc.new_stream(str(path), pa.schema(kinds)) as writer,
        bar(desc="Reading", total=total, unit="B", unit_scale=True, shown=progress) as shown,
    ):
        for number, source in enumerate(sources):
            is_plain = isinstance(source, FileSource) and source.is_plain(columns)
            for rows in source.rows(columns, shown.update, counts):
                batch = {"text": rows["text"]}
                if columns.document:
                    batch["document"], alone = corpus_documents(
                        rows["document"], number if is_plain else None, alone
                    )
                if settings["split_sentences"]:
                    # A row without a sentence remains one row, so that it is counted.
                    split = [
                        split_sentences(text or "") or [""] for text in rows["text"].to_pylist()
                    ]
                    origin = np.repeat(np.arange(len(split)), [len(parts) for parts in split])
                    batch = {key: values.take(pa.array(origin)) for key, values in batch.items()}
                    batch["text"] = pa.array(chain.from_iterable(split), pa.string())
                texts, kept, dropped = clean(
                    batch["text"], min_words=settings["min_words"], max_chars=settings["max_chars"]
                )
                is_new = seen.add(texts)
                kept[kept] = is_new
                new = {key: values.filter(kept) for key, values in batch.items()}
                new["text"] = texts.filter(is_new)
                writer.write_batch(pa.record_batch(new))
                counts += dropped
                counts["duplicates"] += len(texts) - len(new["text"])
                counts["kept"] += len(new["text"])
    counts["empty"] -= counts["ragged"]  # ragged lines arrived as rows without text
    return CorpusReport(**counts)


def _load(path: Path, fingerprint: str) -> Corpus | None:
    """Open a prepared corpus; None if it does not exist or is incomplete after a crash."""
    try:
        report = CorpusReport(**read_json(path.with_suffix(".json")))
        dataset = Dataset.from_file(str(path))
    except (OSError, ValueError, TypeError, pa.ArrowException):
        return None
    return Corpus(dataset, report, fingerprint) if len(dataset) == report.kept else None


def _fingerprint(
    sources: Sequence[FileSource | HubSource], columns: Columns, settings: dict[str, Any]
) -> str:
    content = [FORMAT_VERSION, settings, [source.identity() for source in sources]]
    files = [source for source in sources if isinstance(source, FileSource)]
    content += sorted({source.reading(columns) for source in files} - {""}, key=str)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
