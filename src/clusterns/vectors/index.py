"""Semantic search over the text of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import semantic_search

from clusterns.errors import UserError
from clusterns.files import whole_folder

VECTORS, ROWS = "vectors.npy", "rows.parquet"
CHUNK = 100_000


@dataclass(frozen=True)
class Hit:
    """One answer."""

    score: float
    text: str
    name: str | None


class Index:
    """Texts (and, where they have any, their names) with their embeddings, in a folder.

    The vectors are unit vectors in half precision, mapped into memory.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self.vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
            rows = pq.read_table(folder / ROWS)
        except (OSError, ValueError, pa.ArrowException) as error:
            raise UserError(f"cannot read the search index {folder}: {error}.") from None
        self.texts = rows["text"]
        self.names = rows["name"] if "name" in rows.column_names else None

    @classmethod
    def build(
        cls,
        folder: Path,
        model: SentenceTransformer,
        texts: Sequence[str],
        names: Sequence[str] | None = None,
    ) -> Index:
        """Embed ``texts`` and write the index, whole or not at all."""
        vectors = model.encode(list(texts), normalize_embeddings=True, show_progress_bar=True)
        columns = (
            {"text": list(texts)} if names is None else {"text": list(texts), "name": list(names)}
        )
        with whole_folder(folder) as temporary:
            np.save(temporary / VECTORS, vectors.astype(np.float16), allow_pickle=False)
            pq.write_table(pa.table(columns), temporary / ROWS)
        return cls(folder)

    def search(self, model: SentenceTransformer, query: str, top: int = 10) -> list[Hit]:
        """The ``top`` texts nearest to ``query``."""
        vector = model.encode([query], normalize_embeddings=True, show_progress_bar=False)
        best: list[tuple[float, int]] = []
        for start in range(0, len(self.vectors), CHUNK):
            chunk = self.vectors[start : start + CHUNK].astype(np.float32)
            (found,) = semantic_search(vector, chunk, top_k=top)
            best += [(hit["score"], start + hit["corpus_id"]) for hit in found]
        return [
            Hit(
                score,
                self.texts[row].as_py(),
                self.names[row].as_py() if self.names is not None else None,
            )
            for score, row in sorted(best, reverse=True)[:top]
        ]
