"""A corpus and a model in, a folder of vectors out: the body of ``clusterns encode``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterns.console import silenced
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.settings import validated
from clusterns.vectors.manifest import read_manifest
from clusterns.vectors.settings import (
    DType,
    EncodeSettings,
    Format,
    Loading,
    Precision,
    Share,
    check_device_name,
)

if TYPE_CHECKING:
    from clusterns.vectors.encode import EncodeReport

# Nothing heavy is imported above: what is wrong with a call is said at once.


def encode(
    model: str | Path,
    corpus: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    format: Format = "parquet",
    precision: Precision = "float32",
    normalise: bool = False,
    text: bool = True,
    column: str | None = None,
    id_column: str | None = None,
    shard: str = "0/1",
    shard_size: int = 50_000,
    batch_size: int = 32,
    pooling: str | None = None,
    max_length: int | None = None,
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    device: str | Sequence[str] = (),
    dtype: DType = "float32",
    quiet: bool = False,
) -> EncodeReport:
    """Encode a corpus of any size into shards of vectors, as ``clusterns encode`` does.

    ```python
    from clusterns import encode

    report = encode("minibert", "corpus.txt", "vectors", pooling="mean")
    print(report.texts, report.shards, report.truncated)
    ```

    The same call again goes on where an earlier one was stopped.

    Args:
        model: a run folder, a SentenceTransformer's path or Hub name, a plain encoder's (with
            ``pooling``; ``minibert`` is inside this package), or a text file of word vectors.
        corpus: files, folders or Hub datasets (``owner/name[:config[:split]]``), one or several.
            Every line or row gets a vector, in order.
        output: the folder to write.
        format: ``parquet`` or ``npy``.
        precision: numbers to write: float32, int8, uint8, binary or ubinary.
        normalise: give vectors the length 1.
        text: keep the texts beside their vectors, so that a search can show them.
        column: the column of the text in tables and JSON lines.
        id_column: the column of the ids. None: the number of the row.
        shard: ``i/n`` makes every n-th shard only, from number i on: for n machines.
        shard_size: texts a shard.
        batch_size: texts a forward pass.
        pooling: how a plain encoder's token vectors become one.
        max_length: tokens to read of each text. None: what the model says.
        prompt_name: which of the model's prompts to put before each text.
        truncate_dim: how many of a vector's first numbers to keep.
        device: one or several, a process each. Empty: every accelerator here, or the processor.
        dtype: numbers to compute with: float32, float16 or bfloat16.
        quiet: no status lines and no bars.

    Raises:
        UserError: something that the caller can mend, in one sentence.
    """
    return plan_encoding(
        model, corpus, output, format=format, precision=precision, normalise=normalise, text=text,
        column=column, id_column=id_column, shard=shard, shard_size=shard_size,
        batch_size=batch_size, pooling=pooling, max_length=max_length, prompt_name=prompt_name,
        truncate_dim=truncate_dim, device=device, dtype=dtype,
    ).run(quiet=quiet)  # fmt: skip


def plan_encoding(
    model: str | Path,
    corpus: str | Path | Sequence[str | Path],
    output: str | Path,
    *,
    format: Format = "parquet",
    precision: Precision = "float32",
    normalise: bool = False,
    text: bool = True,
    column: str | None = None,
    id_column: str | None = None,
    shard: str = "0/1",
    shard_size: int = 50_000,
    batch_size: int = 32,
    pooling: str | None = None,
    max_length: int | None = None,
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    device: str | Sequence[str] = (),
    dtype: DType = "float32",
) -> EncodingPlan:
    """Check all that can be checked in no time; the arguments are those of :func:`encode`."""
    names = [corpus] if isinstance(corpus, str | Path) else list(corpus)
    devices = [device] if isinstance(device, str) else list(device)
    for name in devices:
        check_device_name(name)
    settings = {
        "format": format, "precision": precision, "normalize": normalise, "text": text,
        "column": column, "id_column": id_column, "shard_size": shard_size,
    }  # fmt: skip
    loading = {
        "pooling": pooling, "max_length": max_length, "prompt_name": prompt_name,
        "truncate_dim": truncate_dim, "dtype": dtype,
    }  # fmt: skip
    plan = EncodingPlan(
        str(model), [str(name) for name in names], Path(output),
        validated(EncodeSettings, settings, "encode"), validated(Loading, loading, "encode"),
        Share.parse(shard), batch_size, devices,
    )  # fmt: skip
    if batch_size < 1:
        raise UserError(f"batch_size = {batch_size}: it must be 1 or more.")
    check_sources(plan.corpus)
    read_manifest(plan.output)
    check_model(plan.model, pooling)
    return plan


@dataclass(frozen=True)
class EncodingPlan:
    """An encoding that was checked as far as can be without loading anything."""

    model: str
    corpus: list[str]
    output: Path
    settings: EncodeSettings
    loading: Loading
    share: Share
    batch_size: int
    devices: list[str]

    def run(self, *, quiet: bool = False) -> EncodeReport:
        """Encode what is missing."""
        from clusterns.encoder.load import check_devices, load_model
        from clusterns.vectors.devices import all_devices
        from clusterns.vectors.encode import encode_corpus

        devices = check_devices(self.devices or all_devices())
        if len(devices) > 1:  # else Python counts the locks of the pool's processes as leaks, aloud
            os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
        first = devices[0] if len(devices) == 1 else "cpu"
        with silenced(quiet):
            return encode_corpus(
                self.corpus,
                load_model(self.model, device=first, **self.loading.model_dump()),
                self.output,
                self.settings,
                name=self.model,
                loading=self.loading,
                share=self.share,
                batch_size=self.batch_size,
                devices=devices,
            )
