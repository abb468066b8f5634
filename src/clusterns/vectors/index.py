"""Search a folder of vectors, by vectors (approximate for large folders) and by words."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from clusterns.console import log
from clusterns.data.in_memory import InMemorySource
from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.locks import locked
from clusterns.vectors.ann import InvertedFile, is_installed
from clusterns.vectors.encode import IN_MEMORY, encode_corpus
from clusterns.vectors.fingerprint import fingerprint
from clusterns.vectors.mapped import (
    FACTS,
    LISTS,
    ROWS,
    SEARCH,
    VECTORS,
    describe,
    is_ready,
    prepare,
)
from clusterns.vectors.nearest import Rows, Vectors, all_nearest, nearest, unit
from clusterns.vectors.ranking import Hit, rank
from clusterns.vectors.settings import By, Loading
from clusterns.vectors.store import WORDS, Store
from clusterns.vectors.words import WordIndex

# Comparing all texts with each other takes quadratic time.
EXACT_NEIGHBORS_UP_TO = 30_000


class Index:
    """Texts and their vectors, searched by the cosine of query and text, by words (BM25), or by both.

    It reads a folder that ``clusterns encode`` or :meth:`build` wrote. The first call of :meth:`open`
    converts the shards to one memory-mapped file of unit vectors (and, above 200,000 texts and with the
    extra ``faiss``, an inverted file) in the folder ``search`` next to them. Later calls reuse that
    folder; it may be deleted.

    Attributes:
        vectors: (n, d) unit vectors, memory-mapped.
        rows: (n,) the texts with their ids, locations and kept columns, memory-mapped.
        ids: (n,) ids of the texts.
        texts: (n,) the texts, memory-mapped; nulls if the folder holds none.
        language: language of the stems and stop words. None: detected from the texts.
    """

    language: str | None = None

    def __init__(self, store: Store, folder: Path) -> None:
        self.folder = store.folder
        self.manifest = store.manifest
        self.facts: dict[str, Any] = read_json(folder / FACTS)
        self.vectors: Vectors = np.load(folder / VECTORS, mmap_mode="r", allow_pickle=False)
        self.rows = pa.ipc.open_file(pa.memory_map(str(folder / ROWS))).read_all()
        self.ids, self.texts = self.rows["id"], self.rows["text"]
        self.lists: InvertedFile | None = None
        if "lists" in self.facts and is_installed():
            self.lists = InvertedFile.load(folder / LISTS, self.vectors, self.facts["lists"])

    def __len__(self) -> int:
        return len(self.vectors)

    @property
    def names(self) -> pa.ChunkedArray | None:
        """The ids; None if they are row numbers."""
        return None if pa.types.is_integer(self.ids.type) else self.ids

    @classmethod
    def build(
        cls,
        folder: Path,
        model: SentenceTransformer,
        texts: Sequence[str],
        names: Sequence[str] | None = None,
        *,
        model_name: str = "a model",
        loading: Loading | None = None,
        batch_size: int = 32,
        devices: Sequence[str] | None = None,
        reuse: Sequence[Path] = (),
        progress: bool = True,
    ) -> Index:
        """Embed ``texts`` into ``folder``; continues an interrupted call.

        Args:
            folder: a new folder, or one that was begun with the same model and texts.
            model: the encoder.
            texts: texts to embed.
            names: names of the texts in results.
            model_name: name of the model in the folder's manifest.
            loading: how the model was loaded, for the manifest.
            batch_size: batch size.
            devices: devices to embed on, one process each. Default: the device of the model.
            reuse: other folders whose vectors to reuse for identical texts.
            progress: whether to show progress bars.
        """
        given = InMemorySource.of(texts, names)
        encode_corpus(
            given, model, folder, name=model_name, loading=loading, batch_size=batch_size,
            devices=devices or [str(model.device)], reuse=reuse, progress=progress,
        )  # fmt: skip
        return cls.open(folder, progress=progress)

    @classmethod
    def open(
        cls,
        folder: Path,
        model: SentenceTransformer | None = None,
        *,
        model_name: str = "this one",
        progress: bool = True,
    ) -> Index:
        """Open a folder of vectors; with ``model``, refuse the vectors of another model."""
        store = Store.open(folder)
        if model is not None:
            store.check_model(fingerprint(model), model_name)
        search, of = folder / SEARCH, store.manifest.digest
        if not is_ready(search, of):
            with locked(search):
                if not is_ready(search, of):
                    prepare(store, search, of, progress)
        try:
            return cls(store, search)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, pa.ArrowException) as error:
            raise UserError(f"cannot read {search}: {error}. Delete it to rebuild it.") from None

    def update(
        self, model: SentenceTransformer, texts: Sequence[str], names: Sequence[str] | None = None
    ) -> Index:
        """Replace the texts and return the new index; only texts that are new to it are encoded."""
        of = self.manifest
        if of.corpus.sources != [IN_MEMORY]:
            raise UserError(
                f"{self.folder} holds text from files. Change them, then run `clusterns encode --update`."
            )
        if (names is None) != (self.names is None):
            raise UserError(
                f"give names to the new texts if and only if those in {self.folder} have names."
            )
        encode_corpus(
            InMemorySource.of(texts, names), model, self.folder, of.settings, name=of.model.name,
            loading=of.model.loading, devices=[str(model.device)], update=True,
        )  # fmt: skip
        return Index.open(self.folder)

    def add(
        self, model: SentenceTransformer, texts: Sequence[str], names: Sequence[str] | None = None
    ) -> Index:
        """Add texts; those already in the index, under the same name, are skipped."""
        mine = self._pairs()
        if names is None:
            known = {text for text, _ in mine}
            return self._replace(model, [*mine, *((t, None) for t in texts if t not in known)])
        return self._replace(model, [*dict.fromkeys([*mine, *zip(texts, names, strict=True)])])

    def remove(self, model: SentenceTransformer, names: Collection[str]) -> Index:
        """Remove the texts with these names, or, in an index without names, these texts."""
        unwanted = {*names}
        return self._replace(
            model, [(text, n) for text, n in self._pairs() if (n or text) not in unwanted]
        )

    def _pairs(self) -> list[tuple[str, str | None]]:
        """The texts with their names."""
        names = [None] * len(self) if self.names is None else self.names.to_pylist()
        return [*zip(self.texts.to_pylist(), names, strict=True)]

    def _replace(
        self, model: SentenceTransformer, pairs: Sequence[tuple[str, str | None]]
    ) -> Index:
        names = [name for _, name in pairs if name is not None]
        return self.update(model, [text for text, _ in pairs], names or None)

    @cached_property
    def words(self) -> WordIndex:
        """The index of words; the first search builds it."""
        if self.texts.null_count:
            raise UserError(
                f"{self.folder} holds vectors without text, which cannot be searched by words. Encode "
                "again without --no-text, or search --by vectors."
            )
        return WordIndex.open(self.folder / WORDS, self.texts, self.facts["of"], self.language)

    def search(
        self,
        model: SentenceTransformer,
        query: str,
        top: int = 10,
        *,
        by: By = "both",
        where: NDArray[np.bool_] | None = None,
    ) -> list[Hit]:
        """The ``top`` texts for a query, best first. Identical texts are merged.

        Args:
            model: the encoder of the query.
            query: the query.
            top: number of results.
            by: vectors, words or both; for an index without texts, both means vectors.
            where: (n,) mask of the rows to search. None: all.
        """
        return self.search_many(model, [query], top, by=by, where=where)[0]

    def search_many(
        self,
        model: SentenceTransformer,
        queries: Sequence[str],
        top: int = 10,
        *,
        by: By = "both",
        where: NDArray[np.bool_] | None = None,
    ) -> list[list[Hit]]:
        """Like :meth:`search`, for several queries."""
        if by == "both" and self.texts.null_count:
            by = "vectors"
        vectors: list[Vectors | None] = [None] * len(queries)
        if by != "words":
            encoded = model.encode_query(list(queries), show_progress_bar=False)
            vectors = [*unit(np.asarray(encoded, dtype=np.float32))]
        return [
            rank(self, query, vector, top, by, where)
            for query, vector in zip(queries, vectors, strict=True)
        ]

    def nearest(
        self, queries: Vectors, k: int, where: NDArray[np.bool_] | None = None
    ) -> tuple[Vectors, Rows]:
        """The ``k`` texts nearest to (m, d) vectors: (m, k) cosines and rows, best first.

        If fewer than ``k`` are found, the rest of the rows are -1.

        Args:
            queries: (m, d).
            k: number of results.
            where: (n,) mask of the rows to search, exactly. None: all.
        """
        queries = unit(queries)
        if self.lists is not None and where is None:
            return self.lists.search(queries, k)
        cosines, rows = nearest(queries, self.vectors, k, where=where)
        return cosines, np.where(np.isneginf(cosines), -1, rows)

    def neighbors(self, k: int, progress: bool = True) -> tuple[Vectors, Rows]:
        """The ``k`` nearest other texts of every text: (n, k) cosines and rows, best first.

        Exact up to 30,000 texts or without faiss; otherwise approximate, by an inverted file whose measured
        recall is logged. If fewer than ``k`` are found, the rest of the rows are -1.
        """
        if len(self) <= EXACT_NEIGHBORS_UP_TO or not is_installed():
            return all_nearest(self.vectors, k, progress)
        lists = self.lists or InvertedFile.build(self.vectors, progress)
        cosines, rows, recall = lists.neighbors(k, progress)
        log(f"Neighbors by approximate search: {describe(recall)}.")
        return cosines, rows
