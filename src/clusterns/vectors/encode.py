"""Encode a corpus into a folder of shards; only missing shards are encoded."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from sentence_transformers import SentenceTransformer

from clusterns.console import bar, log
from clusterns.data.columns import Columns
from clusterns.data.in_memory import InMemorySource
from clusterns.data.sources import Source, describe_columns, find_sources
from clusterns.encoder.load import length_limit
from clusterns.errors import UserError
from clusterns.files import flush_all, replace_folder
from clusterns.locks import locked
from clusterns.record import library_versions
from clusterns.vectors.embed import DocumentEncoder, all_devices, document_encoder
from clusterns.vectors.fingerprint import fingerprint
from clusterns.vectors.quantize import Ranges, quantize
from clusterns.vectors.reuse import KnownVectors
from clusterns.vectors.rows import max_words, tables
from clusterns.vectors.settings import EncodeSettings, Loading, Partition
from clusterns.vectors.store import (
    COMPLETE,
    WORDS,
    CorpusFacts,
    Manifest,
    ModelFacts,
    Store,
    read_manifest,
    write_once,
)

IN_MEMORY = "texts in memory"
CALIBRATION = 10_000  # texts that determine the ranges of int8 and uint8


@dataclass(frozen=True)
class EncodeReport:
    """Counts of an encoding run.

    ``texts`` and ``shards`` count the entire corpus, and ``missing`` lists the shards that other
    processes have yet to encode; ``encoded``, ``truncated`` and ``empty`` count the texts that this
    process encoded, and ``max_length`` is the model's limit in tokens per text.
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
    update: bool = False,
    reuse: Sequence[Path] = (),
    progress: bool = True,
) -> EncodeReport:
    """Encode every row of ``corpus`` into the folder ``output``, shard by shard.

    Args:
        corpus: files, folders and Hub datasets, as ``prepare_corpus`` takes them, or texts in
            memory; nothing is cleaned or skipped, and a row without text gets the vector of the
            empty text.
        model: the encoder.
        output: a new folder, or one that was begun with the same model, corpus and settings;
            existing shards are kept.
        settings: settings that determine the shards.
        name: name of the model in the manifest.
        loading: how the model was loaded, for the manifest: a search loads it in the same way.
        partition: which shards to encode. Default: all.
        batch_size: batch size.
        devices: devices to encode on, one process each. Default: all accelerators, or the CPU.
        update: whether to replace a folder of another corpus, reusing its vectors.
        reuse: other folders of the same model whose vectors to reuse for identical texts.
        progress: whether to show a progress bar.
    """
    settings, partition = settings or EncodeSettings(), partition or Partition()
    if isinstance(corpus, InMemorySource):
        sources: Sequence[Source] = [corpus]
        settings = settings.model_copy(
            update={"column": corpus.columns.text, "id_column": corpus.columns.id}
        )
        names = [IN_MEMORY]
    else:
        sources, names = find_sources(corpus), list(corpus)
        _refuse_inside(corpus, output)
    columns = Columns(settings.column, settings.id_column, keep=settings.keep)
    for line in describe_columns(sources, columns) if progress else ():
        log(line)
    read = partial(tables, sources, columns, unit=settings.unit, max_words=max_words(model))
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
    existing, target = read_manifest(output), output
    if update and existing is not None and existing.corpus != requested.corpus:
        existing.model_copy(update={"corpus": requested.corpus}).check(requested, output)
        target, reuse = output.with_name(f".{output.name}.update"), [*reuse, output]
        existing = read_manifest(target)
        if existing is not None and existing.digest != requested.digest:
            shutil.rmtree(target)  # an update that was never finished
            existing = None
    if existing is not None:
        existing.check(requested, target)
    first = next(read(CALIBRATION), None)
    if first is None:
        raise UserError(f"there is no text in {', '.join(names)}.")
    devices = devices or all_devices()
    with (
        locked(_lock_name(output, partition)),
        document_encoder(model, devices, batch_size, settings.normalize) as encode,
    ):
        manifest = existing or _with_ranges(requested, first, encode).begin(target)
        manifest.check(requested, target)
        store, known = Store(target, manifest), KnownVectors(reuse, manifest)
        sizes = [source.size for source in sources]
        total = None if None in sizes else sum(size or 0 for size in sizes)
        report = _encode_partition(read, total, store, known, partition, encode, progress)
    if content_of(sources) != requested.corpus.fingerprint:
        raise UserError(
            f"{', '.join(names)} changed while it was encoded. Delete {output} and start again."
        )
    if not report.missing:
        flush_all(target)  # before the file that marks it as complete
        write_once(target / COMPLETE, {"shards": report.shards, "texts": report.texts})
        if target != output:
            with suppress(OSError):  # reuse the word counts of unchanged shards
                (output / WORDS).rename(target / WORDS)
            replace_folder(output, target)
        else:
            flush_all(target)
    return report


def _encode_partition(
    read: Callable[[int, Callable[[int], object]], Iterator[pa.Table]],
    total_bytes: int | None,
    store: Store,
    known: KnownVectors,
    partition: Partition,
    encode: DocumentEncoder,
    shown: bool,
) -> EncodeReport:
    settings = store.manifest.settings
    size = settings.shard_size
    store.remove_leftovers(partition)
    count = rows = encoded = empty = bytes_read = 0

    def advance(more: int) -> None:
        nonlocal bytes_read
        bytes_read += more

    with bar(desc="Encode", unit=" texts", shown=shown) as progress:
        for number, table in enumerate(read(size, advance)):
            count, rows = count + 1, rows + len(table)
            if total_bytes and bytes_read:  # estimate the number of texts from what was read
                estimate = rows * total_bytes / bytes_read / partition.count
                progress.total = max(progress.n, round(estimate))
            if number not in partition:
                continue
            if store.is_done(number, len(table)):
                progress.update(len(table))
                continue
            texts = table["text"].to_pylist()
            vectors, new = known.complete(texts, lambda some: encode(some, progress.update))
            progress.update(len(texts) - new)
            store.write(number, table, quantize(vectors, settings.precision, store.manifest.ranges))
            encoded += new
            empty += sum(not text.strip() for text in texts)
    missing = [
        number
        for number in range(count)
        if number not in partition and not store.is_done(number, min(size, rows - number * size))
    ]
    return EncodeReport(
        rows, count, missing, encoded, encode.truncated, empty, length_limit(encode.model)
    )


def _with_ranges(requested: Manifest, first: pa.Table, encode: DocumentEncoder) -> Manifest:
    """Add the ranges of 8-bit values, computed from the first texts so that all processes agree."""
    if requested.settings.precision not in ("int8", "uint8"):
        return requested
    log(f"Finding the range of {requested.settings.precision} in the first {len(first):,} texts.")
    vectors = encode(first["text"].to_pylist(), lambda _: None)
    encode.truncated = 0
    return requested.model_copy(update={"ranges": Ranges.of(vectors)})


def content_of(sources: Sequence[Source]) -> str:
    """Compute a digest of the entire content of sources."""
    identities = [source.identity() for source in sources]
    return hashlib.sha256(json.dumps(identities).encode()).hexdigest()[:32]


def _lock_name(output: Path, partition: Partition) -> Path:
    """The path to lock: processes may share a folder, but not a partition."""
    if partition.count == 1:
        return output
    return output.with_name(f"{output.name}, part {partition.index} of {partition.count}")


def _refuse_inside(corpus: Sequence[str], output: Path) -> None:
    """Refuse an output folder inside the corpus: the next call would read its shards as text."""
    for name in corpus:
        if Path(name).is_dir() and output.resolve().is_relative_to(Path(name).resolve()):
            raise UserError(
                f"--output {output} is inside the corpus {name}. Choose another folder."
            )
