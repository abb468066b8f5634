"""A question in, the nearest texts out: the body of ``clusterns search``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterns.console import log, silenced
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.files import cache_folder
from clusterns.settings import validated
from clusterns.training.folder import RunFolder
from clusterns.vectors.folder import VectorFolder
from clusterns.vectors.manifest import COMPLETE, MANIFEST
from clusterns.vectors.settings import DType, EncodeSettings, Loading, check_device_name

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.vectors.hits import Hit
    from clusterns.vectors.index import Index

# Nothing heavy is imported above: what is wrong with a call is said at once.
INDEX = "index"  # in a run folder


def search(
    model: str | Path,
    query: str,
    corpus: str | Path | Sequence[str | Path] = (),
    *,
    top: int = 10,
    column: str | None = None,
    id_column: str | None = None,
    batch_size: int = 32,
    pooling: str | None = None,
    max_length: int | None = None,
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    device: str | None = None,
    dtype: DType = "float32",
    quiet: bool = False,
) -> list[Hit]:
    """Find the texts nearest to a query, as ``clusterns search`` does.

    ```python
    from clusterns import search

    for hit in search("minibert", "a town by the sea", "corpus.txt", pooling="mean", top=3):
        print(round(hit.score, 2), hit.text)
    ```

    Texts are embedded once and kept. Each call opens the model anew: for many queries, open an
    index yourself (:class:`clusterns.vectors.index.Index`).

    Args:
        model: a run folder, a SentenceTransformer's path or Hub name, a plain encoder's (with
            ``pooling``; ``minibert`` is inside this package), or a text file of word vectors.
        query: what to look for.
        corpus: where to look: a folder that ``encode`` wrote; or files, folders or Hub datasets of
            text, one or several. Empty: the text that the run was trained on.
        top: how many answers.
        column: the column of the text in tables and JSON lines.
        id_column: the column of the names. None: texts have no names.
        batch_size: texts a forward pass.
        pooling: how a plain encoder's token vectors become one.
        max_length: tokens to read of each text. None: what the model says.
        prompt_name: which of the model's prompts to put before each text of the corpus; a query
            gets the one named "query", where the model has it.
        truncate_dim: how many of a vector's first numbers to keep.
        device: where to run. None: the best one here.
        dtype: numbers to compute with: float32, float16 or bfloat16.
        quiet: no status lines and no bars.

    Raises:
        UserError: something that the caller can mend, in one sentence.
    """
    return plan_search(
        model, query, corpus, top=top, column=column, id_column=id_column,
        batch_size=batch_size, pooling=pooling, max_length=max_length, prompt_name=prompt_name,
        truncate_dim=truncate_dim, device=device, dtype=dtype,
    ).run(quiet=quiet)  # fmt: skip


def plan_search(
    model: str | Path,
    query: str,
    corpus: str | Path | Sequence[str | Path] = (),
    *,
    top: int = 10,
    column: str | None = None,
    id_column: str | None = None,
    batch_size: int = 32,
    pooling: str | None = None,
    max_length: int | None = None,
    prompt_name: str | None = None,
    truncate_dim: int | None = None,
    device: str | None = None,
    dtype: DType = "float32",
) -> SearchPlan:
    """Check all that can be checked in no time; the arguments are those of :func:`search`."""
    if not query.strip():
        raise UserError("the query is empty.")
    for name, number in {"top": top, "batch_size": batch_size}.items():
        if number < 1:
            raise UserError(f"{name} = {number}: it must be 1 or more.")
    if device is not None:
        check_device_name(device)
    names = [str(name) for name in ([corpus] if isinstance(corpus, str | Path) else corpus)]
    values = {
        "pooling": pooling, "max_length": max_length, "prompt_name": prompt_name,
        "truncate_dim": truncate_dim, "dtype": dtype,
    }  # fmt: skip
    loading = validated(Loading, values, "search")
    vectors = None
    if len(names) == 1 and (Path(names[0]) / MANIFEST).is_file():
        vectors = VectorFolder.open(Path(names[0])).path
    elif names:
        check_sources(names)
    elif not RunFolder(Path(model)).is_finished:
        raise UserError(
            f"{model} holds no finished run, whose text could be searched: train one with "
            "`clusterns train`, or name the text, or a folder of vectors, after the query."
        )
    else:
        vectors = Path(model) / INDEX
        if not (vectors / COMPLETE).is_file():
            _check_text(Path(model))
    if vectors is not None and (vectors / COMPLETE).is_file() and loading == Loading():
        # A plain encoder is opened for the query as it was for the text.
        loading = VectorFolder.open(vectors).manifest.model.loading
    check_model(str(model), loading.pooling)
    settings = EncodeSettings(column=column, id_column=id_column)
    return SearchPlan(str(model), query, top, names, vectors, settings, loading, batch_size, device)


@dataclass(frozen=True)
class SearchPlan:
    """A search that was checked as far as can be without loading anything."""

    model: str
    query: str
    top: int
    corpus: list[str]
    vectors: Path | None
    """The folder of vectors; None: in the cache."""
    settings: EncodeSettings
    loading: Loading
    batch_size: int
    device: str | None

    def run(self, *, quiet: bool = False) -> list[Hit]:
        """Open what is there, embed what is not, and search."""
        from clusterns.encoder.load import load_model

        with silenced(quiet):
            model = load_model(self.model, device=self.device, **self.loading.model_dump())
            return self._index(model).search(model, self.query, self.top)

    def _index(self, model: SentenceTransformer) -> Index:
        from clusterns.explorer.corpus import run_index
        from clusterns.vectors.index import Index

        if not self.corpus:
            return run_index(Path(self.model), model, self.loading)
        if self.vectors is not None:
            return Index.open(self.vectors, model, model_name=self.model)
        return self._embedded(model)

    def _embedded(self, model: SentenceTransformer) -> Index:
        """Text of the user's own: its vectors are kept in the cache, by model and content."""
        from clusterns.data.sources import find_sources
        from clusterns.vectors.encode import content_of, encode_corpus
        from clusterns.vectors.fingerprint import fingerprint
        from clusterns.vectors.index import Index

        content = content_of(find_sources(self.corpus))
        asked = "-".join(filter(None, [self.settings.column, self.settings.id_column]))
        folder = cache_folder("vectors") / fingerprint(model) / f"{content}{asked}"
        if not (folder / COMPLETE).is_file():
            log("Embedding the text, once.")
        encode_corpus(
            self.corpus, model, folder, self.settings, name=self.model, loading=self.loading,
            batch_size=self.batch_size, devices=[str(model.device)],
        )  # fmt: skip
        return Index.open(folder)


def _check_text(run: Path) -> None:
    """Refuse a run that does not know where its text was."""
    if RunFolder(run).record["corpus"].get("reading") is None:
        raise UserError(
            f"{run} was stopped before its text was embedded: `clusterns quickstart --again`, or "
            "name the text after the query."
        )
