"""Search in a folder of vectors, by vectors (exact up to some size, approximate above it) and by words."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer

from clusterns.console import bar, log
from clusterns.data.in_memory import InMemorySource
from clusterns.errors import UserError
from clusterns.files import atomic_folder, read_json, write_json
from clusterns.locks import locked
from clusterns.vectors.ann import InvertedFile, is_installed
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.fingerprint import fingerprint
from clusterns.vectors.fusion import DEPTH, fuse, largest_first
from clusterns.vectors.nearest import Rows, Vectors, all_nearest, nearest, unit
from clusterns.vectors.settings import By, Loading
from clusterns.vectors.store import COMPLETE, MANIFEST, Store
from clusterns.vectors.words import WordIndex

SEARCH = "search"  # beside the shards: the same vectors as one mapped file, made once
WORDS = "words"  # beside them: the index of words
VECTORS, ROWS, LISTS, FACTS = "vectors.npy", "rows.arrow", "lists.faiss", "index.json"
EXACT_UP_TO = 200_000  # texts
# Comparing all texts with all others grows with the square.
EXACT_NEIGHBORS_UP_TO = 30_000


@dataclass(frozen=True)
class Hit:
    """One result."""

    score: float
    """By vectors the cosine, by words the BM25 score, by both the mean of the two, scaled to 0-1."""
    row: int
    text: str | None
    """None if the folder holds no texts."""
    name: str | None
    """Its id, if it has one of its own."""
    also: tuple[str, ...] = ()
    """The names of others with the same text."""
    cosine: float | None = None
    """Cosine of query and text; None in a search by words."""
    words: tuple[str, ...] = ()
    """The words of the text that match the query; none in a search by vectors."""
    source: str | None = None
    """The file or dataset that it comes from."""
    line: int | None = None
    """Line of a text file, or row of a table without its header, from 1."""
    heading: str | None = None
    """The heading above it."""
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """The columns that were kept."""
    before: tuple[str, ...] = ()
    """The texts before it, if asked for."""
    after: tuple[str, ...] = ()
    """The texts after it."""
    query: str | None = None
    """What was looked for, if there were several queries."""


class Index:
    """Texts and their vectors, searched by the cosine of query and text, by words (BM25), or by both.

    It lies in a folder that ``clusterns encode`` or :meth:`build` wrote. Opened for the first
    time, the shards of any precision become one mapped file of unit vectors (and, above 200,000
    texts and with the extra ``faiss``, an inverted file) in the folder ``search`` beside them, which
    is used from then on and may be deleted.

    Attributes:
        vectors: (n, d) unit vectors, mapped.
        rows: (n,) the texts with their ids, places and kept columns, mapped.
        ids: (n,) ids of the texts.
        texts: (n,) the texts, mapped; nulls if the folder holds none.
        language: of the stems and stop words. None: found from the texts.
    """

    language: str | None = None

    def __init__(self, parts: Sequence[Store], folder: Path) -> None:
        self.parts = parts
        self.folder = parts[0].folder
        self.manifest = parts[0].manifest
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
        """The ids, if they are more than numbers of rows."""
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
        progress: bool = True,
    ) -> Index:
        """Embed ``texts`` into ``folder``; what an earlier, interrupted call encoded is kept.

        Args:
            folder: a new one, or one that was begun with the same model and texts.
            model: what embeds.
            texts: one vector each.
            names: what to call them in results.
            model_name: what to call the model in the folder's manifest.
            loading: how it was opened, for the manifest.
            batch_size: batch size.
            devices: where to embed, a process each. Default: the device of the model.
            progress: whether to show progress bars, on a terminal.
        """
        given = InMemorySource.of(texts, names)
        encode_corpus(
            given, model, folder, name=model_name, loading=loading, batch_size=batch_size,
            devices=devices or [str(model.device)], progress=progress,
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
        """Open a folder of vectors; with ``model``, refuse those of another one."""
        parts = [Store.open(folder), *_additions(folder)]
        if model is not None:
            parts[0].check_model(fingerprint(model), model_name)
        search = folder / SEARCH
        of = hashlib.sha256("".join(p.manifest.digest for p in parts).encode()).hexdigest()[:32]
        if not _is_ready(search, of):
            with locked(search):
                if not _is_ready(search, of):
                    _prepare(parts, search, of, progress)
        try:
            return cls(parts, search)
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, pa.ArrowException) as error:
            raise UserError(f"cannot read {search}: {error}. Delete it to rebuild it.") from None

    def add(
        self, model: SentenceTransformer, texts: Sequence[str], names: Sequence[str] | None = None
    ) -> Index:
        """Embed more texts and return the index of all; the same texts are added only once."""
        self.parts[0].check_model(fingerprint(model), "this one")
        if (names is None) != (self.names is None):
            raise UserError(
                f"give names to the new texts if and only if those in {self.folder} have names."
            )
        given = InMemorySource.of(texts, names)
        key = given.identity()[:12]
        known = sorted(self.folder.glob("added-*"))
        part = next(
            (path for path in known if path.name.endswith(key)),
            self.folder / f"added-{len(known):04d}-{key}",
        )
        encode_corpus(
            given, model, part, self.manifest.settings, name=self.manifest.model.name,
            loading=self.manifest.model.loading, devices=[str(model.device)],
        )  # fmt: skip
        return Index.open(self.folder)

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
            model: what embeds the query.
            query: what to look for.
            top: number of results.
            by: vectors, words or both; an index without texts is always searched by vectors.
            where: (n,) the rows that may be found. None: all.
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
        """As :meth:`search`, for several queries."""
        if by == "both" and self.texts.null_count:
            by = "vectors"
        vectors: list[Vectors | None] = [None] * len(queries)
        if by != "words":
            encoded = model.encode_query(list(queries), show_progress_bar=False)
            vectors = [*unit(np.asarray(encoded, dtype=np.float32))]
        return [
            self._search(query, vector, top, by, where)
            for query, vector in zip(queries, vectors, strict=True)
        ]

    def _search(
        self,
        query: str,
        vector: Vectors | None,
        top: int,
        by: By,
        where: NDArray[np.bool_] | None,
    ) -> list[Hit]:
        depth = max(top, DEPTH)
        scores = None if by == "vectors" else self.words.scores(query)
        if scores is not None and where is not None:
            scores[~where] = 0
        while True:
            hits = merge_identical(self._candidates(query, vector, scores, depth, where))
            if len(hits) >= top or depth >= len(self):
                return hits[:top]
            depth *= 4

    def _candidates(
        self,
        query: str,
        vector: Vectors | None,
        scores: NDArray[np.float32] | None,
        depth: int,
        where: NDArray[np.bool_] | None,
    ) -> Iterator[Hit]:
        """The rows among the first ``depth`` of either side, ranked by the scores of both, best first."""
        found = []
        if vector is not None:
            _, (rows,) = self.nearest(vector[None], depth, where)
            found.append(rows[rows >= 0])
        if scores is not None:
            rows = largest_first(scores, depth)
            found.append(rows[scores[rows] > 0])
        rows = np.unique(np.concatenate(found))
        sides = [scores[rows]] if scores is not None else []
        cosines: Sequence[float | None] = [None] * len(rows)
        if vector is not None:
            sides.append(np.asarray(self.vectors[rows]) @ vector)
            cosines = sides[-1].tolist()
        total = fuse(*sides) if len(sides) == 2 else sides[0]
        for place in largest_first(total, len(rows)).tolist():
            row = int(rows[place])
            text = self.texts[row].as_py()
            words = () if scores is None or not scores[row] else self.words.matches(query, text)
            name = None if self.names is None else self.names[row].as_py()
            yield Hit(
                float(total[place]), row, text, name, cosine=cosines[place], words=tuple(words)
            )

    def nearest(
        self, queries: Vectors, k: int, where: NDArray[np.bool_] | None = None
    ) -> tuple[Vectors, Rows]:
        """The ``k`` texts nearest to (m, d) vectors: (m, k) cosines and rows, the best first.

        What is not found is row -1, at the end: of few texts, or with an inverted file.

        Args:
            queries: (m, d).
            k: number of answers.
            where: (n,) the rows that may be found, by exact search. None: all.
        """
        queries = unit(queries)
        if self.lists is not None and where is None:
            return self.lists.search(queries, k)
        cosines, rows = nearest(queries, self.vectors, k, where=where)
        return cosines, np.where(np.isneginf(cosines), -1, rows)

    def neighbors(self, k: int, progress: bool = True) -> tuple[Vectors, Rows]:
        """The ``k`` nearest other texts of every text: (n, k) cosines and rows, the best first.

        Exact up to 30,000 texts, and without faiss; above, through an inverted file, whose measured
        recall is logged. What is not found is row -1, at the end.
        """
        if len(self) <= EXACT_NEIGHBORS_UP_TO or not is_installed():
            return all_nearest(self.vectors, k, progress)
        lists = self.lists or InvertedFile.build(self.vectors, progress)
        log(f"Neighbors by approximate search: {_describe(lists.recall.recall)}.")
        return lists.neighbors(k, progress)


def merge_identical(hits: Iterable[Hit]) -> list[Hit]:
    """Merge hits with the same text into the one with the lowest row, with the names of the others."""
    groups: dict[object, list[Hit]] = {}
    for hit in hits:
        groups.setdefault(hit.row if hit.text is None else hit.text, []).append(hit)
    merged = []
    for group in groups.values():
        first, *others = sorted(group, key=lambda hit: hit.row)
        also = tuple(hit.name for hit in others if hit.name is not None)
        merged.append(replace(first, also=also))
    return merged


def _additions(folder: Path) -> list[Store]:
    """What was added, in order, without what was interrupted."""
    paths = sorted(folder.glob(f"added-*/{MANIFEST}"))
    return [Store.open(p.parent) for p in paths if (p.parent / COMPLETE).is_file()]


def _is_ready(folder: Path, of: str) -> bool:
    try:
        facts = read_json(folder / FACTS)
    except (OSError, ValueError):
        return False
    if not isinstance(facts, dict) or facts.get("of") != of:
        return False
    # If faiss was installed in the meantime, it is used.
    return "lists" in facts or not _wants_lists(facts["rows"])


def _wants_lists(rows: int) -> bool:
    return rows > EXACT_UP_TO and is_installed()


def _prepare(parts: Sequence[Store], folder: Path, of: str, progress: bool) -> None:
    """Make the mapped files of an index, whole or not at all."""
    count, dimension = sum(part.texts for part in parts), parts[0].dimension
    facts: dict[str, Any] = {"of": of, "rows": count, "dimension": dimension}
    with atomic_folder(folder) as temporary:
        vectors = np.lib.format.open_memmap(
            temporary / VECTORS, mode="w+", dtype=np.float32, shape=(count, dimension)
        )
        _copy(parts, vectors, temporary / ROWS, progress)
        vectors.flush()
        if _wants_lists(count):
            log(f"More than {EXACT_UP_TO:,} texts: search is approximate (an inverted file).")
            lists = InvertedFile.build(vectors, progress)
            facts["lists"] = lists.save(temporary / LISTS)
            log(f"{_describe(lists.recall.recall)}.")
        elif count > EXACT_UP_TO:
            log(
                f"More than {EXACT_UP_TO:,} texts: exact search is slow. `pip install "
                "'clusterns[faiss]'` makes it approximate and fast."
            )
        write_json(temporary / FACTS, facts)


def _copy(parts: Sequence[Store], vectors: Vectors, rows: Path, progress: bool) -> None:
    """Copy unit vectors into one array, ids and texts into one Arrow file."""
    named = parts[0].manifest.settings.id_column is not None
    known = {"id": pa.string() if named else pa.int64(), "text": pa.string()}
    schema = parts[0].schema
    schema = pa.schema({field.name: field.type for field in schema} | known)
    done = 0
    with (
        pa.OSFile(str(rows), "wb") as file,
        pa.ipc.new_file(file, schema) as writer,
        bar(total=len(vectors), desc="Open", unit=" texts", shown=progress) as shown,
    ):
        for part in parts:
            for table, block in part.blocks():
                vectors[done : done + len(block)] = unit(block)
                ids = table["id"] if named else pa.array(range(done, done + len(block)))
                columns = {name: table[name] for name in table.column_names} | {"id": ids}
                columns.setdefault("text", pa.nulls(len(block)))
                writer.write_table(pa.table(columns).select(schema.names).cast(schema))
                done += len(block)
                shown.update(len(block))


def _describe(recall: float) -> str:
    return f"it finds {recall:.1%} of the 10 nearest (measured on this index)"
