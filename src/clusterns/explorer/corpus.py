"""A corpus seen through one model: its distinct sentences, their embeddings and neighbors.

Nothing heavy is imported before it is needed, so that a wrong argument is refused at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from clusterns.adaptation.settings import read_settings
from clusterns.console import log
from clusterns.data.columns import Columns
from clusterns.data.sources import check_sources, describe_columns, find_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.explorer.export import check_table_file
from clusterns.files import atomic_file, cache_folder
from clusterns.training.folder import RunFolder
from clusterns.vectors.settings import DType, Loading
from clusterns.vectors.store import COMPLETE, MANIFEST

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.vectors.index import Index
    from clusterns.vectors.nearest import Rows, Vectors

BASE = "base"  # stands for the model that a run started from
INDEX = "index"  # in a run folder
CACHE = "explore"  # in the folder of an index
NEIGHBORS = 15  # per sentence: what maps and near-duplicates are made of
BATCH_SIZE = 64
# NumPy reads the header of a file with Python's parser, which is not thread-safe in Python 3.11.
_header_lock = threading.Lock()


class ModelOptions(TypedDict, total=False):
    """How to open a model; see :func:`clusterns.encoder.load.load_model`."""

    pooling: str | None
    max_length: int | None
    prompt_name: str | None
    truncate_dim: int | None
    device: str | None
    dtype: DType


class Texts(NamedTuple):
    """Distinct texts, in order of appearance, and every line that holds one of them."""

    distinct: list[str]
    lines: list[int]
    """Numbers of the lines (or rows) with text, from 1."""
    rows: list[int]
    """For each of these lines, the index of its text in ``distinct``."""


class EmbeddedCorpus:
    """Sentences and their embeddings from one model.

    Args:
        name: what to call the model.
        model: embeds queries.
        index: the sentences and their embeddings.
        lines: where the sentences come from; without it, each is a line of its own.
    """

    def __init__(
        self, name: str, model: SentenceTransformer, index: Index, lines: Texts | None = None
    ) -> None:
        self.name, self.model, self.index = name, model, index
        self._lines = lines
        self._encoding = threading.Lock()  # threads that encode at once only slow each other down

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
        """Folder for everything that is computed from these embeddings."""
        return self.index.folder / CACHE / self.digest[:12]

    @cached_property
    def texts(self) -> list[str]:
        """The sentences."""
        return [text or "" for text in self.index.texts.to_pylist()]

    @cached_property
    def lines(self) -> Texts:
        """The sentences with the lines they come from."""
        count = len(self)
        return self._lines or Texts(self.texts, [*range(1, count + 1)], [*range(count)])

    @cached_property
    def neighbors(self) -> tuple[Vectors, Rows]:
        """(n, k) cosines and rows of the nearest other sentences; computed once and stored."""
        paths = self.folder / "cosines.npy", self.folder / "neighbors.npy"
        stored = [load_array(path) for path in paths]
        if any(array is None for array in stored):
            k = min(NEIGHBORS, len(self) - 1)
            cosines, rows = self.index.neighbors(k) if k else [np.zeros((len(self), 0))] * 2
            stored = [cosines.astype(np.float32), rows.astype(np.int32)]
            for path, array in zip(paths, stored, strict=True):
                save_array(path, array)
        return stored[0], stored[1]

    def search(self, query: str, top: int) -> tuple[list[float], list[int]]:
        """Cosines and rows of the sentences nearest to a query."""
        with self._encoding:
            vector = self.model.encode_query([query], show_progress_bar=False)
            scores, rows = self.index.nearest(np.asarray(vector, dtype=np.float32), top)
        found = rows[0] >= 0
        return scores[0][found].tolist(), rows[0][found].tolist()


# ---- opening


def check_corpus(
    model: str,
    corpus: Sequence[str],
    pooling: str | None = None,
    new_text: Sequence[str] = (),
    **tables: Path | None,
) -> None:
    """Refuse what cannot be opened or written, before anything heavy is imported.

    Args:
        model: name or path of the model.
        corpus: what to open; empty for the corpus of a run.
        pooling: pooling of the model.
        new_text: more text that will be read.
        tables: files that will be written, by the name of their option.
    """
    for option, path in tables.items():
        check_table_file(f"--{option}", path)
    if new_text:
        check_sources(new_text)
    if corpus and not _is_encoded(corpus):
        check_sources(corpus)
    check_model(model, pooling)
    if not corpus and not RunFolder(Path(model)).is_finished:
        raise UserError(f"{model} is no finished run with a corpus of its own: name a corpus.")


def open_corpus(
    model: str,
    corpus: Sequence[str] = (),
    *,
    column: str | None = None,
    max_sentences: int | None = None,
    **options: Any,
) -> EmbeddedCorpus:
    """Embed a corpus with a model; embeddings are stored and reused.

    Args:
        model: name or path of the model.
        corpus: files, folders or Hub datasets, or one folder that `clusterns encode` wrote; empty
            for the corpus of a run.
        column: column of the text in tables.
        max_sentences: read at most this many.
        options: :class:`ModelOptions`.
    """
    from clusterns.encoder.load import load_model
    from clusterns.vectors.index import Index

    name, lines = short_name(model), None
    if corpus and not _is_encoded(corpus):
        lines = read_texts(corpus, column, max_sentences)
    opened = load_model(model, **options)
    if lines is not None:
        index = cached_index(opened, name, lines.distinct)
    elif not corpus:
        index = run_index(Path(model), opened)
    else:
        index = Index.open(Path(corpus[0]), opened, model_name=model)
        if index.texts.null_count:
            raise UserError(
                f"{corpus[0]} holds vectors without text: encode again without --no-text."
            )
    return EmbeddedCorpus(name, opened, index, lines)


def open_other(model: str, first: EmbeddedCorpus, run: Path, **options: Any) -> EmbeddedCorpus:
    """Embed the sentences of ``first`` with another model; "base" is the one ``run`` started from."""
    from clusterns.encoder.load import load_model

    names = None if first.index.names is None else first.index.names.to_pylist()
    if model == BASE:
        opened, name = load_base_of(run)
    else:
        opened, name = load_model(model, **options), short_name(model)
    if name == first.name:
        name = f"{name} (other)"
    return EmbeddedCorpus(name, opened, cached_index(opened, name, first.texts, names))


def _is_encoded(corpus: Sequence[str]) -> bool:
    return len(corpus) == 1 and (Path(corpus[0]) / MANIFEST).is_file()


def read_texts(
    corpus: Sequence[str], column: str | None = None, max_sentences: int | None = None
) -> Texts:
    """Read files, folders or Hub datasets without cleaning them; empty lines are skipped."""
    known: dict[str, int] = {}
    lines: list[int] = []
    rows: list[int] = []
    for line, text in enumerate(_lines(corpus, column), start=1):
        if text and text.strip():
            if len(lines) == max_sentences:
                log(f"Reading only the first {max_sentences:,} sentences (--max-sentences).")
                break
            lines.append(line)
            rows.append(known.setdefault(text, len(known)))
    if not lines:
        raise UserError(f"there is no text in {', '.join(corpus)}.")
    return Texts(list(known), lines, rows)


def _lines(corpus: Sequence[str], column: str | None) -> Iterator[str | None]:
    sources, columns = find_sources(corpus), Columns(column)
    for told in describe_columns(sources, columns):
        log(told)
    for source in sources:
        for batch in source.rows(columns, lambda _: None):
            yield from batch["text"].to_pylist()


def cached_index(
    model: SentenceTransformer, name: str, texts: Sequence[str], names: Sequence[str] | None = None
) -> Index:
    """The index of texts with a model, in the cache folder."""
    from clusterns.data.in_memory import InMemorySource
    from clusterns.vectors.fingerprint import fingerprint

    identity = InMemorySource.of(texts, names).identity()
    folder = cache_folder("vectors") / f"{fingerprint(model)[:16]}-{identity[:16]}"
    return _build_index(folder, model, name, texts, names)


def run_index(run: Path, model: SentenceTransformer, loading: Loading | None = None) -> Index:
    """The index of a run's corpus, in the run folder; ``loading`` says how the model was opened."""
    from clusterns.data.corpus import prepare_corpus
    from clusterns.vectors.index import Index

    folder = run / INDEX
    if (folder / COMPLETE).is_file():
        return Index.open(folder, model, model_name=str(run))
    reading = RunFolder(run).record["corpus"].get("reading")
    if reading is None:
        raise UserError(
            f"{run} was interrupted before its index was built: run `clusterns quickstart --again`."
        )
    texts = prepare_corpus(**reading).dataset["text"]
    return _build_index(folder, model, str(run), texts, loading=loading)


def _build_index(
    folder: Path,
    model: SentenceTransformer,
    name: str,
    texts: Sequence[str],
    names: Sequence[str] | None = None,
    loading: Loading | None = None,
) -> Index:
    from clusterns.vectors.index import Index

    if not (folder / COMPLETE).is_file():
        log(f"Embedding {len(texts):,} sentences with {name}; this is done once.")
    return Index.build(
        folder, model, texts, names, model_name=name, loading=loading, batch_size=BATCH_SIZE
    )


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
    """The last part of a path: what to call a model or a file on a page."""
    path = Path(name)
    return path.parent.name if path.name == "model" and path.parent.name else path.name or name


# ---- arrays that take long to compute, stored beside the index they were computed from


def cached_array(path: Path, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """The stored array, memory-mapped; computed and stored if there is none."""
    found = load_array(path)
    if found is None:
        save_array(path, make())
        found = load_array(path)
    assert found is not None, f"{path} was written but cannot be read"
    return found


def load_array(path: Path) -> Any:
    """The stored array, memory-mapped; None if it is missing or damaged."""
    try:
        with _header_lock:
            return np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None


def save_array(path: Path, array: NDArray[Any] | Any) -> None:
    """Write an array, whole or not at all."""
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.save(file, array, allow_pickle=False)
