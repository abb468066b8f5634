"""How one model sees the sentences: their vectors, neighbours, and places on a map."""

from __future__ import annotations

import threading
from functools import cached_property
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from clusterns.explore.kept import kept
from clusterns.vectors.index import Index
from clusterns.vectors.nearest import Rows, Vectors

NEIGHBOURS = 15  # of each sentence: what a map is made of, and more than a list shows
LOOK = "look"  # in the folder of an index


class Lens:
    """One model over the sentences.

    Args:
        name: what to call it.
        model: what turns a query into a vector.
        index: the sentences with their vectors of this model.
    """

    def __init__(self, name: str, model: SentenceTransformer, index: Index) -> None:
        self.name = name
        self.model = model
        self.index = index
        # Threads that encode at the same time only take each other's time.
        self._one_at_a_time = threading.Lock()

    def __len__(self) -> int:
        return len(self.index)

    @property
    def vectors(self) -> Vectors:
        """(n, d) unit vectors, mapped."""
        return self.index.vectors

    @property
    def digest(self) -> str:
        """Identifies model and sentences."""
        return str(self.index.facts["of"])

    @property
    def folder(self) -> Path:
        """Where what was computed from these vectors is kept."""
        return self.index.folder / LOOK / self.digest[:12]

    @cached_property
    def neighbours(self) -> tuple[Vectors, Rows]:
        """(n, k) cosines and rows of the nearest other sentences, computed once and kept."""
        if len(self) < 2:
            nobody = (len(self), 0)
            return np.zeros(nobody, dtype=np.float32), np.zeros(nobody, dtype=np.int64)
        found: tuple[Vectors, Rows] | None = None

        def find() -> tuple[Vectors, Rows]:
            nonlocal found
            found = found or self.index.neighbours(min(NEIGHBOURS, len(self) - 1))
            return found

        rows = kept(self.folder / "neighbours.npy", lambda: find()[1].astype(np.int32))
        scores = kept(self.folder / "cosines.npy", lambda: find()[0].astype(np.float32))
        return scores, rows

    def search(self, query: str, top: int) -> tuple[list[float], list[int]]:
        """Cosines and rows of the sentences nearest to a query."""
        with self._one_at_a_time:
            vector = self.model.encode_query([query], show_progress_bar=False)
            scores, rows = self.index.nearest(np.asarray(vector, dtype=np.float32), top)
        found = rows[0] >= 0
        return scores[0][found].tolist(), rows[0][found].tolist()
