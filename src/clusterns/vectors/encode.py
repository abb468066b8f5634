"""A corpus and a model to a folder of shards, of which only the missing ones are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from sentence_transformers import SentenceTransformer

from clusterns.console import bar, log
from clusterns.data.columns import Columns
from clusterns.data.in_memory import InMemorySource
from clusterns.data.passages import MAX_WORDS, PLACE, located_rows
from clusterns.data.sources import Source, describe_columns, find_sources
from clusterns.encoder.load import length_limit
from clusterns.errors import UserError
from clusterns.locks import locked
from clusterns.record import library_versions
from clusterns.vectors.embed import DocumentEncoder, all_devices, document_encoder
from clusterns.vectors.fingerprint import fingerprint
from clusterns.vectors.quantize import Ranges, quantize
from clusterns.vectors.settings import EncodeSettings, Loading, Partition, Unit
from clusterns.vectors.store import (
    COMPLETE,
    CorpusFacts,
    Manifest,
    ModelFacts,
    Store,
    read_manifest,
    write_once,
)

CALIBRATION = 10_000  # texts that decide the ranges of int8 and uint8
TOKENS_PER_WORD = 1.4  # of English, in a passage
MAX_ID_LENGTH = 1000  # characters; more is the text itself, named as the id by mistake


@dataclass(frozen=True)
class EncodeReport:
    """What was encoded.

    ``texts`` and ``shards`` count the whole corpus, ``missing`` lists the shards that other
    processes have yet to make; ``encoded``, ``truncated`` and ``empty`` count the texts that this
    process encoded, and ``max_length`` is the number of tokens that the model reads of each.
    """

    texts: int
    shards: int
    missing: list[int]
    encoded: int
    truncated: int
    empty: int
    max_length: int | None


def encode_corpus(
    corpus: Sequence[str] | InMemorySource,
    model: SentenceTransformer,
    output: Path,
    settings: EncodeSettings | None = None,
    *,
    name: str = "a model",
    loading: Loading | None = None,
    partition: Partition | None = None,
    batch_size: int = 32,
    devices: Sequence[str] | None = None,
    progress: bool = True,
) -> EncodeReport:
    """Encode every row of ``corpus`` into the folder ``output``, shard by shard.

    Args:
        corpus: files, folders and Hub datasets, as ``prepare_corpus`` takes them, or texts in
            memory; nothing is cleaned or left out, and a row without text gets the vector of the
            empty text.
        model: what encodes.
        output: a new folder, or one that was begun with the same model, corpus and settings:
            shards that exist stay as they are.
        settings: what decides the files.
        name: what to call the model in the manifest.
        loading: how it was opened, for the manifest: a search opens it in the same way.
        partition: which shards to make. Default: all.
        batch_size: batch size.
        devices: where to encode, a process each. Default: all accelerators, or the CPU.
        progress: whether to show a progress bar.
    """
    settings, partition = settings or EncodeSettings(), partition or Partition()
    if isinstance(corpus, InMemorySource):
        sources: Sequence[Source] = [corpus]
        settings = settings.model_copy(
            update={"column": corpus.columns.text, "id_column": corpus.columns.id}
        )
        names = ["texts in memory"]
    else:
        sources, names = find_sources(corpus), list(corpus)
        _refuse_inside(corpus, output)
    columns = Columns(settings.column, settings.id_column, keep=settings.keep)
    for line in describe_columns(sources, columns) if progress else ():
        log(line)
    requested = Manifest(
        model=ModelFacts(
            name=name,
            fingerprint=fingerprint(model),
            dimension=model.get_embedding_dimension(),
            loading=loading or Loading(),
        ),
        corpus=CorpusFacts(sources=names, fingerprint=content_of(sources)),
        settings=settings,
        versions=library_versions(),
    )
    existing = read_manifest(output)
    if existing is not None:
        existing.check(requested, output)
    words = max_words(model)
    first = next(tables(sources, columns, CALIBRATION, unit=settings.unit, max_words=words), None)
    if first is None:
        raise UserError(f"there is no text in {', '.join(names)}.")
    devices = devices or all_devices()
    with (
        locked(_lock_name(output, partition)),
        document_encoder(model, devices, batch_size, settings.normalize) as encode,
    ):
        manifest = existing or _with_ranges(requested, first, encode).begin(output)
        manifest.check(requested, output)
        store = Store(output, manifest)
        report = _encode_partition(sources, columns, store, partition, encode, progress)
    if content_of(sources) != requested.corpus.fingerprint:
        raise UserError(
            f"{', '.join(names)} changed while it was encoded. Delete {output} and start again."
        )
    if not report.missing:
        write_once(output / COMPLETE, {"shards": report.shards, "texts": report.texts})
    return report


def _encode_partition(
    sources: Sequence[Source],
    columns: Columns,
    store: Store,
    partition: Partition,
    encode: DocumentEncoder,
    shown: bool,
) -> EncodeReport:
    settings, ranges = store.manifest.settings, store.manifest.ranges
    size = settings.shard_size
    store.remove_leftovers(partition)
    count = rows = encoded = empty = 0
    with _Progress(sources, partition, shown) as progress:
        rows_of_shards = tables(
            sources, columns, size, progress.read_bytes, settings.unit, max_words(encode.model)
        )
        for number, table in enumerate(rows_of_shards):
            count, rows = count + 1, rows + len(table)
            progress.expect(rows)
            if number not in partition:
                continue
            if store.is_done(number, len(table)):
                progress.skip(len(table))
                continue
            texts = table["text"].to_pylist()
            vectors = encode(texts, progress.bar.update)
            store.write(number, table, quantize(vectors, settings.precision, ranges))
            encoded += len(texts)
            empty += sum(not text.strip() for text in texts)
    missing = [
        number
        for number in range(count)
        if number not in partition and not store.is_done(number, min(size, rows - number * size))
    ]
    return EncodeReport(
        rows, count, missing, encoded, encode.truncated, empty, length_limit(encode.model)
    )


class _Progress:
    """A bar over the texts of one process; their total is estimated from the bytes read so far."""

    def __init__(self, sources: Sequence[Source], partition: Partition, shown: bool) -> None:
        sizes = [source.size for source in sources]
        self.size = None if None in sizes else sum(size or 0 for size in sizes)
        self.parts = partition.count
        self.bytes = 0
        self.bar = bar(desc="Encode", unit=" texts", shown=shown)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        self.bar.close()

    def read_bytes(self, count: int) -> None:
        self.bytes += count

    def expect(self, rows: int) -> None:
        """Estimate the total, given how many rows were read, ours or not."""
        if not self.bar.disable and self.size and self.bytes:
            estimate = rows * self.size / self.bytes / self.parts
            self.bar.total = max(self.bar.n, round(estimate))

    def skip(self, count: int) -> None:
        """Count texts that an earlier process encoded; the rate leaves them out."""
        if not self.bar.disable:
            self.bar.initial += count
            self.bar.n += count
            self.bar.refresh()


def tables(
    sources: Sequence[Source],
    columns: Columns,
    size: int,
    advance: Callable[[int], object] = lambda _: None,
    unit: Unit = "row",
    max_words: int = MAX_WORDS,
) -> Iterator[pa.Table]:
    """Yield every unit of the sources, ``size`` rows per table; the last one may be shorter.

    A table has the columns ``id`` (int64: the number of the row; or string), ``text`` (never null),
    those of its place, if the sources are files or datasets, and those that are kept. ``advance`` is
    told how many more bytes were read.
    """
    pending: list[pa.RecordBatch] = []
    rows = start = 0
    for batch in _batches(sources, columns, advance, unit, max_words):
        while rows + batch.num_rows >= size:
            table = pa.Table.from_batches([*pending, batch.slice(0, size - rows)])
            yield _with_ids(table, columns, start)
            batch = batch.slice(size - rows)
            start += size
            pending, rows = [], 0
        if batch.num_rows:
            pending.append(batch)
            rows += batch.num_rows
    if pending:
        yield _with_ids(pa.Table.from_batches(pending), columns, start)


def _batches(
    sources: Sequence[Source],
    columns: Columns,
    advance: Callable[[int], object],
    unit: Unit,
    max_words: int,
) -> Iterator[pa.RecordBatch]:
    in_memory = any(isinstance(source, InMemorySource) for source in sources)
    unused = ["number", *(PLACE if in_memory else () if unit == "passage" else ("heading",))]
    for batch in located_rows(sources, columns, advance, unit, max_words):
        batch = batch.drop_columns(unused)
        if columns.id is None:
            yield batch
        else:
            # An empty line between two records is no record.
            blank = pc.and_(pc.is_null(batch["text"]), pc.is_null(batch["id"]))
            yield batch.filter(pc.invert(blank))


def max_words(model: SentenceTransformer) -> int:
    """How many words of a passage a model reads, about."""
    limit = length_limit(model)
    return MAX_WORDS if limit is None else min(MAX_WORDS, int(limit / TOKENS_PER_WORD))


def _with_ids(table: pa.Table, columns: Columns, start: int) -> pa.Table:
    texts = pc.fill_null(table["text"], "")
    others = {name: table[name] for name in table.column_names if name not in ("id", "text")}
    if columns.id is None:
        return pa.table({"id": np.arange(start, start + len(texts)), "text": texts} | others)
    ids = table["id"]
    too_long = pc.greater(pc.utf8_length(pc.fill_null(ids, "")), MAX_ID_LENGTH)
    bad = pc.or_(pc.is_null(ids), too_long)
    if pc.any(bad).as_py():
        row = pc.index(bad, True).as_py()
        what = "no id" if ids[row].as_py() is None else f"an id of over {MAX_ID_LENGTH} characters"
        raise UserError(f"row {start + row:,} has {what} in the column {columns.id!r}.")
    return pa.table({"id": ids, "text": texts} | others)


def _with_ranges(requested: Manifest, first: pa.Table, encode: DocumentEncoder) -> Manifest:
    """Add the ranges of 8-bit values, found from the first texts: the same for every process."""
    if requested.settings.precision not in ("int8", "uint8"):
        return requested
    log(f"Finding the range of {requested.settings.precision} in the first {len(first):,} texts.")
    vectors = encode(first["text"].to_pylist(), lambda _: None)
    encode.truncated = 0
    return requested.model_copy(update={"ranges": Ranges.of(vectors)})


def content_of(sources: Sequence[Source]) -> str:
    """A digest of the whole content of sources."""
    identities = [source.identity() for source in sources]
    return hashlib.sha256(json.dumps(identities).encode()).hexdigest()[:32]


def _lock_name(output: Path, partition: Partition) -> Path:
    """What is locked: processes may share a folder, but not make the same partition of it."""
    if partition.count == 1:
        return output
    return output.with_name(f"{output.name}, part {partition.index} of {partition.count}")


def _refuse_inside(corpus: Sequence[str], output: Path) -> None:
    """Shards in a folder of the corpus would be part of the corpus the next time."""
    for name in corpus:
        if Path(name).is_dir() and output.resolve().is_relative_to(Path(name).resolve()):
            raise UserError(f"--output {output} lies in the corpus {name}. Choose another folder.")
