"""A corpus under one model: its distinct sentences, their embeddings and neighbors.

Heavy imports are lazy, so that invalid arguments are rejected at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clusterns.adaptation.settings import read_settings
from clusterns.console import log
from clusterns.data.columns import Columns
from clusterns.data.settings import Unit
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.explorer.texts import Texts, read_texts
from clusterns.files import atomic_file, cache_folder
from clusterns.training.folder import RunFolder
from clusterns.vectors.settings import By, Loading
from clusterns.vectors.store import COMPLETE, MANIFEST, Store

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.vectors.index import Index
    from clusterns.vectors.nearest import Rows, Vectors
    from clusterns.vectors.ranking import Hit

BASE = "base"  # the model that a run started from
INDEX = "index"  # in a run folder
CACHE = "explore"  # in the folder of an index
NEAREST_FILE = "nearest.npy"
NEIGHBORS = 15  # per sentence, for maps and near-duplicates
BATCH_SIZE = 64
# NumPy reads the header of a file with Python's parser, which is not thread-safe in Python 3.11.
_header_lock = threading.Lock()


class EmbeddedCorpus:
    """Sentences and their embeddings from one model.

    Args:
        name: display name of the model.
        model: embeds queries.
        index: the sentences and their embeddings.
        rows: the rows that the sentences are from. None: each sentence is one row.
    """

    def __init__(
        self, name: str, model: SentenceTransformer, index: Index, rows: Texts | None = None
    ) -> None:
        self.name, self.model, self.index = name, model, index
        self._rows = rows
        self._encoding = threading.Lock()  # concurrent encoding is slower

    def __len__(self) -> int:
        return len(self.index)

    @property
    def vectors(self) -> Vectors:
        """(n, d) unit vectors, memory-mapped."""
        return self.index.vectors

    @property
    def digest(self) -> str:
        """Identifies the model and the sentences."""
        return str(self.index.facts["of"])

    @property
    def folder(self) -> Path:
        """Cache folder for results computed from these embeddings."""
        return self.index.folder / CACHE / self.digest[:12]

    @cached_property
    def texts(self) -> list[str]:
        """The sentences."""
        return [text or "" for text in self.index.texts.to_pylist()]

    @cached_property
    def rows(self) -> Texts:
        """The sentences with the rows that they are from."""
        return self._rows or Texts.of_index(self.index)

    @cached_property
    def neighbors(self) -> tuple[Vectors, Rows]:
        """(n, k) cosines and rows of the nearest other sentences; cached on disk."""

        def make() -> NDArray[Any]:
            cosines, rows = self.index.neighbors(min(NEIGHBORS, len(self) - 1))
            table = np.empty(rows.shape, [("cosine", "f4"), ("row", "i4")])
            table["cosine"], table["row"] = cosines, rows
            return table

        table = cached_array(self.folder / NEAREST_FILE, make)
        return table["cosine"], table["row"]

    def search(
        self,
        queries: Sequence[str],
        top: int,
        by: By = "both",
        chosen: NDArray[np.bool_] | None = None,
    ) -> list[list[Hit]]:
        """Search for each query; ``chosen`` is a mask of the sentences to search. None: all."""
        with self._encoding:
            return self.index.search_many(self.model, queries, top, by=by, where=chosen)


# ---- opening


def check_corpus(
    model: str,
    corpus: Sequence[str],
    pooling: str | None = None,
    new_text: Sequence[str] = (),
) -> None:
    """Validate the arguments before heavy imports.

    Args:
        model: name or path of the model.
        corpus: the corpus to open; empty for the corpus of a run.
        pooling: pooling of the model.
        new_text: more text that will be read.
    """
    if new_text:
        check_sources(new_text)
    if corpus and not is_encoded(corpus):
        check_sources(corpus)
    run = RunFolder(Path(model))
    if not corpus and not run.is_finished:
        raise UserError(
            f"{model} is not a finished run whose corpus could be used. Specify a corpus."
        )
    if not corpus and not (run.path / INDEX / COMPLETE).is_file():
        _reading(run)
    check_model(model, pooling or loading_of(model, corpus, Loading()).pooling)


def loading_of(model: str, corpus: Sequence[str], loading: Loading) -> Loading:
    """How to load the model: by default, as it was loaded to encode the corpus, if it was encoded."""
    folder = Path(corpus[0]) if is_encoded(corpus) else Path(model) / INDEX
    encoded = not corpus or is_encoded(corpus)
    if loading == Loading() and encoded and (folder / COMPLETE).is_file():
        return Store.open(folder).manifest.model.loading
    return loading


def open_corpus(
    model: str,
    corpus: Sequence[str] = (),
    loading: Loading | None = None,
    *,
    column: str | None = None,
    id_column: str | None = None,
    unit: Unit = "row",
    keep: Sequence[str] = (),
    max_sentences: int | None = None,
    device: str | None = None,
    batch_size: int = BATCH_SIZE,
    needs_text: bool = True,
) -> EmbeddedCorpus:
    """Embed a corpus with a model. Embeddings are cached and shared by all commands.

    Args:
        model: name or path of the model.
        corpus: files, folders or Hub datasets, or one folder that `clusterns encode` wrote; empty
            for the corpus of a run.
        loading: how to load the model.
        column: column of the text in tables.
        id_column: column of the ids in tables.
        unit: unit of text that gets an embedding.
        keep: columns to keep with the text.
        max_sentences: read at most this many.
        device: device of the model.
        batch_size: batch size.
        needs_text: whether to refuse embeddings without their texts.
    """
    from clusterns.encoder.load import load_model
    from clusterns.vectors.index import Index
    from clusterns.vectors.rows import max_words

    name, rows = short_name(model), None
    loading = loading_of(model, corpus, loading or Loading())
    opened = load_model(model, device=device, **loading.model_dump())
    if not corpus:
        index = _run_index(Path(model), opened, loading, batch_size)
    elif is_encoded(corpus):
        index = Index.open(Path(corpus[0]), opened, model_name=model)
        if needs_text and index.texts.null_count:
            raise UserError(
                f"{corpus[0]} holds vectors without text: encode again without --no-text."
            )
    else:
        columns = Columns(column, id_column, keep=tuple(keep))
        rows = read_texts(corpus, columns, max_sentences, unit, max_words(opened))
        index = cached_index(opened, name, rows.distinct, loading, batch_size)
    return EmbeddedCorpus(name, opened, index, rows)


def open_other(model: str, first: EmbeddedCorpus, run: Path, **options: Any) -> EmbeddedCorpus:
    """Embed the sentences of ``first`` with another model; "base" is the one ``run`` started from."""
    from clusterns.encoder.load import load_model

    if model == BASE:
        opened, name = load_base_of(run)
    else:
        opened, name = load_model(model, **options), short_name(model)
    if name == first.name:
        name = f"{name} (other)"
    return EmbeddedCorpus(name, opened, cached_index(opened, name, first.texts))


def is_encoded(corpus: Sequence[str]) -> bool:
    """Whether a corpus is a folder that `clusterns encode` wrote."""
    return len(corpus) == 1 and (Path(corpus[0]) / MANIFEST).is_file()


def cached_index(
    model: SentenceTransformer,
    name: str,
    texts: Sequence[str],
    loading: Loading | None = None,
    batch_size: int = BATCH_SIZE,
    folder: Path | None = None,
) -> Index:
    """The index of texts under a model, in ``folder`` or else in the cache; built if it does not exist.

    ``loading`` describes how the model was loaded.
    """
    from clusterns.data.in_memory import InMemorySource
    from clusterns.vectors.fingerprint import fingerprint
    from clusterns.vectors.index import Index

    cache, mark = cache_folder("vectors"), fingerprint(model)[:16]
    folder = folder or cache / f"{mark}-{InMemorySource.of(texts).identity()[:16]}"
    reuse: list[Path] = []
    if not (folder / COMPLETE).is_file():
        log(f"Embedding {len(texts):,} sentences with {name}; this happens only once.")
        # If the text was edited, encode only new sentences.
        reuse = [*cache.glob(f"{mark}-*/")]
    return Index.build(
        folder, model, texts, model_name=name, loading=loading, batch_size=batch_size, reuse=reuse
    )


def _run_index(run: Path, model: SentenceTransformer, loading: Loading, batch_size: int) -> Index:
    """The index of a run's corpus, in the run folder."""
    from clusterns.data.corpus import prepare_corpus
    from clusterns.vectors.index import Index

    folder = run / INDEX
    if (folder / COMPLETE).is_file():
        return Index.open(folder, model, model_name=str(run))
    texts = prepare_corpus(**_reading(RunFolder(run))).dataset["text"]
    return cached_index(model, str(run), texts, loading, batch_size, folder)


def _reading(run: RunFolder) -> Any:
    """The reading arguments of the corpus of a run."""
    reading = run.record["corpus"].get("reading")
    if reading is None:
        raise UserError(
            f"{run.path} was interrupted before its index was built: run `clusterns quickstart --overwrite`."
        )
    return reading


def load_base_of(run: Path) -> tuple[SentenceTransformer, str]:
    """The model that a run started from, and its name."""
    from clusterns.encoder.load import load_base
    from clusterns.encoder.locate import resolve_base
    from clusterns.encoder.training_modules import without_training_modules
    from clusterns.training.build import build_model
    from clusterns.training.recipe import load_recipe

    file = RunFolder(run).recipe_file
    adapted = read_settings(file)
    if adapted is not None:
        return load_base(adapted.base).eval(), f"{short_name(adapted.base)} (base)"
    recipe = load_recipe(str(file))
    if recipe.templates:
        model = without_training_modules(build_model(recipe))
    else:
        model = load_base(resolve_base(recipe.base), recipe.pooling)
    return model.eval(), f"{short_name(recipe.base or 'base')} (base)"


def short_name(name: str) -> str:
    """The last part of a path: the display name of a model or a file."""
    path = Path(name)
    return path.parent.name if path.name == "model" and path.parent.name else path.name or name


# ---- arrays that are slow to compute, cached next to their index


def cached_array(path: Path, make: Callable[[], NDArray[Any]]) -> Any:
    """The stored array, memory-mapped; computed and stored if there is none."""
    if load_array(path) is None:
        save_array(path, make())
    return load_array(path)


def load_array(path: Path) -> Any:
    """The stored array, memory-mapped; None if it is missing or damaged."""
    try:
        with _header_lock:
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None


def save_array(path: Path, array: NDArray[Any]) -> None:
    """Write an array atomically."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)
