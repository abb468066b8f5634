"""Texts to vectors on all devices of a machine, and vectors to fewer bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import quantize_embeddings

from clusterns.errors import UserError, is_out_of_memory
from clusterns.vectors.embed import Vectors, encode_longest_first, token_counts
from clusterns.vectors.manifest import Ranges
from clusterns.vectors.settings import Precision

BATCHES_A_DEVICE = 32  # in one call: devices wait for each other at the end of it


def all_devices() -> list[str]:
    """Every accelerator of this machine; its processor where it has none."""
    accelerator = (
        torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    )
    if accelerator is None:
        return ["cpu"]
    return [f"{accelerator.type}:{number}" for number in range(torch.accelerator.device_count())]


class TextEncoder:
    """Encodes texts in batches that depend on nothing but the texts.

    A batch is what ``encode`` is given on one device and what a process of its pool takes on
    several, so the number of devices changes no batch.

    Args:
        model: what encodes.
        batch_size: texts a forward pass.
        normalize: whether vectors get length 1.
        pool: Sentence Transformers' pool of processes, or None for this process alone.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        batch_size: int,
        normalize: bool,
        pool: dict[Any, Any] | None = None,
    ) -> None:
        self.model = model
        self.batch_size = batch_size
        self.truncated = 0
        self._slab = batch_size * (BATCHES_A_DEVICE * len(pool["processes"]) if pool else 1)
        self._encode = partial(
            model.encode,
            batch_size=batch_size,
            chunk_size=batch_size,
            pool=pool,
            normalize_embeddings=normalize,
            show_progress_bar=False,
        )

    def __call__(self, texts: Sequence[str], advance: Callable[[int], object]) -> Vectors:
        """Encode texts, equal ones once: (n, d) in their order."""
        places: dict[str, int] = {}
        rows = [places.setdefault(text, len(places)) for text in texts]
        distinct = list(places)
        counts = token_counts(self.model, distinct)
        limit = self.model.max_seq_length
        if limit is not None:
            self.truncated += sum(counts[row] > limit for row in rows)
        try:
            vectors = encode_longest_first(self._encode, distinct, counts, self._slab, advance)
        except RuntimeError as error:
            # A worker of the pool that takes too much memory is ended by the system.
            if is_out_of_memory(error) or "died unexpectedly" in str(error):
                raise UserError(
                    f"{self.batch_size} texts at once do not fit into the device's memory: go on "
                    "with a smaller --batch-size."
                ) from error
            raise
        advance(len(rows) - len(distinct))
        return vectors[rows]


@contextmanager
def text_encoder(
    model: SentenceTransformer, devices: Sequence[str], batch_size: int, normalize: bool
) -> Iterator[TextEncoder]:
    """Open an encoder over ``devices``: with several of them, a process each."""
    if len(devices) < 2:
        yield TextEncoder(model, batch_size, normalize)
        return
    pool = model.start_multi_process_pool(list(devices))
    try:
        yield TextEncoder(model, batch_size, normalize, pool)
    finally:
        model.stop_multi_process_pool(pool)


def ranges_of(vectors: Vectors) -> Ranges:
    """Find the ranges of some (n, d) vectors, for others to be quantised over."""
    if len(vectors) < 2:
        raise UserError("--precision int8 and uint8 need two texts or more to find their range.")
    return Ranges(low=vectors.min(axis=0).tolist(), high=vectors.max(axis=0).tolist())


def lower_precision(vectors: Vectors, precision: Precision, ranges: Ranges | None) -> NDArray[Any]:
    """Quantise (n, d) vectors as Sentence Transformers does, over given ranges."""
    table = np.array([ranges.low, ranges.high], dtype=np.float32) if ranges else None
    return quantize_embeddings(vectors, precision, ranges=table)
