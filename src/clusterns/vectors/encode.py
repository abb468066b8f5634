"""A corpus and a model to a folder of shards, of which only those that are missing are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from sentence_transformers import SentenceTransformer

from clusterns.console import log
from clusterns.data.columns import Columns
from clusterns.data.in_memory import InMemorySource
from clusterns.data.sources import Source, describe_columns, find_sources
from clusterns.errors import UserError
from clusterns.locks import locked
from clusterns.record import library_versions
from clusterns.vectors.devices import (
    TextEncoder,
    all_devices,
    lower_precision,
    ranges_of,
    text_encoder,
)
from clusterns.vectors.fingerprint import fingerprint
from clusterns.vectors.manifest import (
    COMPLETE,
    CorpusFacts,
    Manifest,
    ModelFacts,
    read_manifest,
    write_once,
)
from clusterns.vectors.progress import Progress
from clusterns.vectors.rows import tables
from clusterns.vectors.settings import EncodeSettings, Loading, Share

CALIBRATION = 10_000  # the texts that say what int8 and uint8 are spread over


@dataclass(frozen=True)
class EncodeReport:
    """What became of a corpus.

    ``texts`` and ``shards`` count all of it, ``missing`` names the shards that other processes have
    still to make; ``encoded``, ``truncated`` and ``empty`` are about the texts that this process
    encoded, and ``max_length`` is how many tokens of them the model reads.
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
    share: Share | None = None,
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
        output: a new folder, or one that the same model, corpus and settings were begun in:
            shards that are there already stay as they are.
        settings: what decides the files.
        name: what to call the model in the manifest.
        loading: how it was opened, for the manifest: a search opens it so again.
        share: which shards are made here; without it, all.
        batch_size: texts a forward pass.
        devices: where to encode, a process each; without it, all accelerators or the processor.
        progress: whether to show a bar.
    """
    settings, share = settings or EncodeSettings(), share or Share()
    if isinstance(corpus, InMemorySource):
        sources: Sequence[Source] = [corpus]
        settings = settings.model_copy(
            update={"column": corpus.columns.text, "id_column": corpus.columns.id}
        )
        names = ["texts in memory"]
    else:
        sources, names = find_sources(corpus), list(corpus)
        _refuse_inside(corpus, output)
    columns = Columns(settings.column, settings.id_column)
    for told in describe_columns(sources, columns) if progress else ():
        log(told)
    asked = Manifest(
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
    begun = read_manifest(output)
    if begun is not None:
        begun.check(asked, output)
    first = next(tables(sources, columns, CALIBRATION, _ignore), None)
    if first is None:
        raise UserError(f"there is no text in {', '.join(names)}.")
    with (
        locked(_locked_name(output, share)),
        text_encoder(model, devices or all_devices(), batch_size, settings.normalize) as encode,
    ):
        begun = begun or _with_ranges(asked, first, encode).begin(output)
        begun.check(asked, output)
        report = _encode_share(sources, columns, begun, output, share, encode, progress)
    if content_of(sources) != asked.corpus.fingerprint:
        raise UserError(
            f"{', '.join(names)} changed while it was encoded: remove {output} and start again."
        )
    if not report.missing:
        write_once(output / COMPLETE, {"shards": report.shards, "texts": report.texts})
    return report


def _encode_share(
    sources: Sequence[Source],
    columns: Columns,
    manifest: Manifest,
    output: Path,
    share: Share,
    encode: TextEncoder,
    shown: bool,
) -> EncodeReport:
    size, precision = manifest.settings.shard_size, manifest.settings.precision
    shards = manifest.shards(output)
    shards.remove_leftovers(share)
    count = rows = encoded = empty = 0
    with Progress(sources, share, shown) as progress:
        for number, table in enumerate(tables(sources, columns, size, progress.read_bytes)):
            count, rows = count + 1, rows + len(table)
            progress.read_rows(len(table))
            if number not in share:
                continue
            if shards.is_done(number, len(table)):
                progress.found(len(table))
                continue
            texts = table["text"].to_pylist()
            vectors = lower_precision(encode(texts, progress.encoded), precision, manifest.ranges)
            shards.write(number, table, vectors)
            encoded += len(texts)
            empty += sum(not text.strip() for text in texts)
            if shown and not progress.is_shown:
                log(f"{shards.path(number).name}: {len(texts):,} texts")
    missing = [
        number
        for number in range(count)
        if number not in share and not shards.is_done(number, min(size, rows - number * size))
    ]
    return EncodeReport(
        rows, count, missing, encoded, encode.truncated, empty, encode.model.max_seq_length
    )


def _with_ranges(asked: Manifest, first: pa.Table, encode: TextEncoder) -> Manifest:
    """Add what 8-bit numbers are spread over, found from the first texts of the corpus.

    They are the same for every process, whichever shards it makes.
    """
    if asked.settings.precision not in ("int8", "uint8"):
        return asked
    log(f"Finding the range of {asked.settings.precision} from the first {len(first):,} texts.")
    vectors = encode(first["text"].to_pylist(), _ignore)
    encode.truncated = 0
    return asked.model_copy(update={"ranges": ranges_of(vectors)})


def content_of(sources: Sequence[Source]) -> str:
    """A digest of the whole content of sources."""
    identities = [source.identity() for source in sources]
    return hashlib.sha256(json.dumps(identities).encode()).hexdigest()[:32]


def _locked_name(output: Path, share: Share) -> Path:
    """What is locked: two processes may share a folder, but not make the same share of it."""
    if share.count == 1:
        return output
    return output.with_name(f"{output.name}, share {share.index} of {share.count}")


def _refuse_inside(corpus: Sequence[str], output: Path) -> None:
    """Shards in a folder of the corpus would be part of the corpus the next time."""
    for name in corpus:
        if Path(name).is_dir() and output.resolve().is_relative_to(Path(name).resolve()):
            raise UserError(
                f"--output {output} lies in the corpus {name}: name a folder elsewhere."
            )


def _ignore(_: int) -> None:
    """What is read or encoded here is not counted."""
