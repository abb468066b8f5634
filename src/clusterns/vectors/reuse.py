"""Reuse the vectors of texts that were encoded before, so that only new texts are encoded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.vectors.store import Manifest, Store


class KnownVectors:
    """Vectors of the texts in finished folders, for reuse in another folder of the same model.

    Args:
        folders: folders whose model, normalization or precision differs from ``like`` are skipped.
        like: manifest of the folder that will reuse them.
    """

    def __init__(self, folders: Sequence[Path], like: Manifest) -> None:
        self._places: dict[str, tuple[Store, int, int]] = {}
        for folder in folders:
            with suppress(UserError):
                store = Store.open(folder)
                if not store.manifest.gives_vectors_of(like):
                    continue
                for number in store.done():
                    texts = pq.read_table(store.path(number), columns=["text"])["text"]
                    for row, text in enumerate(texts.to_pylist()):
                        self._places.setdefault(text, (store, number, row))

    def complete(
        self, texts: Sequence[str], encode: Callable[[list[str]], NDArray[np.float32]]
    ) -> tuple[NDArray[np.float32], int]:
        """Return (n, d) vectors, encoding only unknown texts, and the number encoded."""
        new = [row for row, text in enumerate(texts) if text not in self._places]
        parts = [(new, encode([texts[row] for row in new]))] if new else []
        shards: dict[tuple[Path, int], list[int]] = {}
        for row, text in enumerate(texts):
            if place := self._places.get(text):
                shards.setdefault((place[0].folder, place[1]), []).append(row)
        for rows in shards.values():
            store, number, _ = self._places[texts[rows[0]]]
            stored = store.read(number)[1]
            parts.append((rows, stored[[self._places[texts[row]][2] for row in rows]]))
        order = np.concatenate([rows for rows, _ in parts])
        return np.concatenate([part for _, part in parts])[np.argsort(order)], len(new)
