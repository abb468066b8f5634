"""``clusterns search``: the texts nearest to a query, in the text of a run or any other."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import Json, ModelOptions, TextOptions, Texts, as_list
from clusterns.commands.request import Cli, function, same_as
from clusterns.console import log, print_json, stdout
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.files import cache_folder
from clusterns.training.folder import RunFolder
from clusterns.vectors.settings import EncodeSettings, Loading
from clusterns.vectors.store import COMPLETE, MANIFEST, Store

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.vectors.index import Hit, Index

INDEX = "index"  # in a run folder


class SearchRequest(ModelOptions, TextOptions):
    """Find the texts nearest to a query. Identical texts are merged.

    Texts are encoded once and the embeddings kept. Each call opens the model again: for many queries,
    open an index yourself (:class:`clusterns.vectors.index.Index`).

    ```python
    from clusterns import search

    for hit in search("minibert", "a town by the sea", "corpus.txt", pooling="mean", top=3):
        print(round(hit.score, 2), hit.text)
    ```
    """

    query: Annotated[str, Cli(argument=True)] = Field(kw_only=False)
    """What to look for."""
    corpus: Texts = Field(default=(), kw_only=False)
    """Where to look: a folder that `clusterns encode` wrote, or text: files, folders or Hub datasets. Default: the
    text that the run was trained on."""
    top: Annotated[int, Ge(1)] = 10
    """Number of results."""
    id_column: str | None = same_as(EncodeSettings, "id_column")
    batch_size: Annotated[int, Ge(1)] = 32
    """Batch size."""

    def run(self) -> list[Hit]:
        """Open what is there, encode what is not, and search."""
        if not self.query.strip():
            raise UserError("the query is empty.")
        corpus, run, loading = as_list(self.corpus), Path(self.model), self.loading
        folder = None
        if len(corpus) == 1 and (Path(corpus[0]) / MANIFEST).is_file():
            folder = Store.open(Path(corpus[0])).folder
        elif corpus:
            check_sources(corpus)
        elif not RunFolder(run).is_finished:
            raise UserError(
                f"{run} holds no finished run whose text could be searched: train one with "
                "`clusterns train`, or name text or a folder of embeddings after the query."
            )
        else:
            folder = run / INDEX
            if (
                not (folder / COMPLETE).is_file()
                and "reading" not in RunFolder(run).record["corpus"]
            ):
                raise UserError(
                    f"{run} was interrupted before its text was encoded: run `clusterns quickstart "
                    "--overwrite`, or name the text after the query."
                )
        if folder is not None and (folder / COMPLETE).is_file() and loading == Loading():
            # A plain encoder is opened for the query as it was for the text.
            loading = Store.open(folder).manifest.model.loading
        check_model(str(run), loading.pooling)

        from clusterns.encoder.load import load_model
        from clusterns.explorer.corpus import run_index
        from clusterns.vectors.index import Index

        model = load_model(str(run), device=self.device, **loading.model_dump())
        if not corpus:
            index = run_index(run, model, loading)
        elif folder is not None:
            index = Index.open(folder, model, model_name=str(run))
        else:
            index = self._index(corpus, model)
        return index.search(model, self.query, self.top)

    def _index(self, corpus: list[str], model: SentenceTransformer) -> Index:
        """The index of some text, in the cache, by model and content."""
        from clusterns.data.sources import find_sources
        from clusterns.vectors.encode import content_of, encode_corpus
        from clusterns.vectors.fingerprint import fingerprint
        from clusterns.vectors.index import Index

        asked = "-".join(filter(None, [self.column, self.id_column]))
        folder = (
            cache_folder("vectors")
            / fingerprint(model)
            / f"{content_of(find_sources(corpus))}{asked}"
        )
        if not (folder / COMPLETE).is_file():
            log("Encoding the text; this is done once.")
        encode_corpus(
            corpus, model, folder, EncodeSettings(column=self.column, id_column=self.id_column),
            name=str(self.model), loading=self.loading, batch_size=self.batch_size,
            devices=[str(model.device)],
        )  # fmt: skip
        return Index.open(folder)


class SearchCommand(SearchRequest):
    """Find the texts nearest to a query. Identical texts are merged.

    The first search encodes the text and keeps the embeddings: those of a run in RUN/index, others in the cache
    (~/.cache/clusterns, or CLUSTERNS_CACHE).

    The text of a run:       clusterns search runs/first "came too late"

    A file:                  clusterns search runs/first "came too late" reviews.txt

    A folder of embeddings:  clusterns search runs/first "came too late" vectors
    """

    as_json: Json = False

    def show(self, result: list[Hit]) -> None:
        """Print a table."""
        if self.as_json:
            print_json([asdict(hit) for hit in result])
            return
        from rich.table import Table

        named = any(hit.name is not None for hit in result)
        table = Table("score", "name", "text") if named else Table("score", "text")
        for hit in result:
            text = f"row {hit.row:,}" if hit.text is None else hit.text
            more = f" and {len(hit.also):,} more" if hit.also else ""
            name = [f"{hit.name or ''}{more}"] if named else []
            table.add_row(f"{hit.score:.3f}", *name, text)
        stdout.print(table)


search = function(SearchRequest)
