"""``clusterns search``: the best matches of a query, in the text of a run or any other."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge
from pydantic import Field

from clusterns.adaptation.settings import search_advice
from clusterns.commands.options import CorpusOptions, Json, OptionalTexts, as_list
from clusterns.commands.request import Cli, function
from clusterns.console import log, print_json, stdout
from clusterns.errors import UserError
from clusterns.vectors.settings import By

if TYPE_CHECKING:
    from clusterns.vectors.index import Hit


class SearchRequest(CorpusOptions):
    """Find texts by their meaning and their words. Identical texts are merged.

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
    corpus: OptionalTexts = Field(default=(), kw_only=False)
    top: Annotated[int, Ge(1)] = 10
    """Number of results."""
    by: By = "both"
    """What to compare. vectors: the meaning of query and text. words: their words, by BM25 over stems. both: the mean
    of the two scores."""
    language: str | None = None
    """Language of the words, such as german: decides stems and stop words. none: neither. Default: found from the
    text."""
    id_column: str | None = None
    """Column of ids to show with the text."""

    def run(self) -> list[Hit]:
        """Open what is there, encode what is not, and search."""
        from clusterns.explorer.corpus import check_corpus

        if not self.query.strip():
            raise UserError("the query is empty.")
        corpus = as_list(self.corpus)
        check_corpus(str(self.model), corpus, self.pooling)
        if advice := search_advice(str(self.model), self.by):
            log(advice)
        opened = self.open(corpus, id_column=self.id_column, needs_text=False)
        opened.index.language = self.language
        return opened.hits(self.query, self.top, self.by)


class SearchCommand(SearchRequest):
    """Find texts by their meaning and their words. Identical texts are merged.

    The first search encodes the text and keeps the embeddings: those of a run in RUN/index, others in the cache
    (~/.cache/clusterns, or CLUSTERNS_CACHE).

    The text of a run:       clusterns search runs/first "came too late"

    A file:                  clusterns search runs/first "came too late" reviews.txt

    A folder of embeddings:  clusterns search runs/first "came too late" vectors

    By words alone:          clusterns search runs/first "error 404" log.txt --by words
    """

    as_json: Json = False

    def show(self, result: list[Hit]) -> None:
        """Print a table."""
        if self.as_json:
            print_json([asdict(hit) for hit in result])
            return
        from rich.table import Table

        named = any(hit.name is not None for hit in result)
        table = Table("score", *(["name"] if named else []), "text", "why")
        for hit in result:
            text = f"row {hit.row + 1:,}" if hit.text is None else hit.text
            more = f" and {len(hit.also):,} more" if hit.also else ""
            name = [f"{hit.name or ''}{more}"] if named else []
            cosine = [] if hit.cosine is None else [f"cosine {hit.cosine:.2f}"]
            table.add_row(f"{hit.score:.3f}", *name, text, ", ".join([*cosine, *hit.words]))
        stdout.print(table)


search = function(SearchRequest)
