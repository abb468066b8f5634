"""``clusterns search``: the best matches of a query, in the text of a run or any other."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from annotated_types import Ge
from pydantic import BeforeValidator, Field

from clusterns.adaptation.settings import search_advice
from clusterns.commands.options import CorpusOptions, Json, OptionalPath, OptionalTexts, as_list
from clusterns.commands.request import Cli, function, same_as
from clusterns.console import log, print_json, stdout
from clusterns.data.settings import Unit
from clusterns.errors import UserError
from clusterns.vectors.settings import By, EncodeSettings

if TYPE_CHECKING:
    from clusterns.vectors.ranking import Hit


PLACES = ("source", "heading")  # columns that all text has


def parse_conditions(value: Any) -> dict[str, list[str]]:
    """Parse ``COLUMN=VALUE`` strings or a mapping into the allowed values of each column."""
    if isinstance(value, Mapping):
        return {name: as_list(values) for name, values in value.items()}
    conditions: dict[str, list[str]] = {}
    for pair in value:
        name, _, text = str(pair).partition("=")
        if not name or not text:
            raise UserError("--where: write COLUMN=VALUE.")
        conditions.setdefault(name, []).append(text)
    return conditions


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

    query: Annotated[str | None, Cli(argument=True)] = Field(default=None, kw_only=False)
    """What to look for."""
    corpus: OptionalTexts = Field(default=(), kw_only=False)
    unit: Unit = same_as(EncodeSettings, "unit", "passage")
    top: Annotated[int, Ge(1)] = 10
    """Number of results."""
    by: By = "both"
    """What to compare. vectors: the meaning of query and text. words: their words, by BM25 over stems. both: the mean
    of the two scores."""
    where: Annotated[
        Mapping[str, Sequence[str]],
        BeforeValidator(parse_conditions),
        Cli(list[str], metavar="COLUMN=VALUE"),
    ] = {}
    """Search only rows with this value in this column. May be repeated: several columns must all match; several values
    of one column are alternatives."""
    keep: Annotated[tuple[str, ...], Cli(list[str], metavar="COLUMN")] = same_as(
        EncodeSettings, "keep", ()
    )
    context: Annotated[int, Ge(0)] = 0
    """Show this many texts before and after each result."""
    queries: OptionalPath = None
    """Search for each line of this file, and print one line of JSON per query. All arguments after MODEL are then
    text."""
    language: str | None = None
    """Language for stemming and stop words, such as german; none uses neither. Default: detected from the text."""
    id_column: str | None = None
    """Column of ids to show with the text."""

    def read_queries(self) -> list[str]:
        """The query, or the lines of the file of queries."""
        if self.queries is None:
            return [self.query or ""]
        from clusterns.data.sources import readable

        path = Path(self.queries)
        with readable(path):
            lines = path.read_text("utf-8-sig").splitlines()
        return [line.strip() for line in lines if line.strip()]

    def run(self) -> list[Hit]:
        """Encode new text and search; return the results of all queries, in order."""
        from clusterns.explorer.corpus import check_corpus

        queries = self.read_queries()
        if not queries or not all(query.strip() for query in queries):
            raise UserError("the query is empty.")
        corpus = as_list(self.corpus)
        if self.queries is not None and self.query is not None:
            corpus = [self.query, *corpus]
        check_corpus(str(self.model), corpus, self.pooling)
        if advice := search_advice(str(self.model), self.by):
            log(advice)
        keep = dict.fromkeys((*self.keep, *(n for n in self.where if n not in PLACES)))
        opened = self.open(corpus, id_column=self.id_column, keep=(*keep,), needs_text=False)
        opened.index.language = self.language
        chosen = opened.rows.having(self.where) if self.where else None
        found = opened.search(queries, self.top, self.by, chosen)
        hits = [
            replace(
                opened.rows.locate(hit, self.where, self.context),
                query=None if self.queries is None else query,
            )
            for query, hits in zip(queries, found, strict=True)
            for hit in hits
        ]
        return hits if corpus else self._with_places(hits)

    def _with_places(self, hits: list[Hit]) -> list[Hit]:
        """Add the lines of the results in the training files of the run, if these still exist."""
        from clusterns.explorer.texts import find_places
        from clusterns.training.folder import RunFolder

        reading = RunFolder(Path(self.model)).record["corpus"].get("reading") or {}
        places = find_places([hit.text or "" for hit in hits], reading)
        pairs = [(hit, places.get(hit.text or "", (hit.source, hit.line))) for hit in hits]
        return [replace(hit, source=source, line=line) for hit, (source, line) in pairs]


class SearchCommand(SearchRequest):
    """Find texts by their meaning and their words. Identical texts are merged.

    The first search encodes the text and keeps the embeddings: those of a run in RUN/index, others in the cache
    (~/.cache/clusterns, or CLUSTERNS_CACHE).

    The text of a run:       clusterns search runs/first "came too late"

    A file:                  clusterns search runs/first "came too late" reviews.txt

    A folder of embeddings:  clusterns search runs/first "came too late" vectors

    By words alone:          clusterns search runs/first "error 404" log.txt --by words

    Some rows of a table:    clusterns search runs/first "came too late" reviews.csv --where lang=en
    """

    as_json: Json = False

    def show(self, result: list[Hit]) -> None:
        """Print a table, or JSON."""
        if self.queries is not None:
            for query in dict.fromkeys(self.read_queries()):
                hits = [_as_json(hit) for hit in result if hit.query == query]
                stdout.print(json.dumps({"query": query, "hits": hits}), soft_wrap=True)
        elif self.as_json:
            print_json([_as_json(hit) for hit in result])
        else:
            from rich.table import Column, Table

            # Wrap rather than truncate: a truncated path is useless.
            table = Table("score", Column("where", overflow="fold"), "text", "why")
            for hit in result:
                text = f"row {hit.row + 1:,}" if hit.text is None else hit.text
                cosine = [] if hit.cosine is None else [f"cosine {hit.cosine:.2f}"]
                table.add_row(
                    f"{hit.score:.3f}",
                    _place(hit),
                    "\n".join([*hit.before, f"> {text}", *hit.after]) if self.context else text,
                    ", ".join([*cosine, *hit.words]),
                )
            stdout.print(table)


def _as_json(hit: Hit) -> dict[str, Any]:
    values = asdict(hit)
    del values["query"]
    return values


def _place(hit: Hit) -> str:
    """The origin of a result: its id, file, line or row, heading and kept columns."""
    from clusterns.data.kinds import TEXTS, file_format

    parts = [hit.name] if hit.name else []
    if hit.source is not None:
        is_text = file_format(Path(hit.source)) in TEXTS
        parts.append(f"{Path(hit.source).name}{':' if is_text else ' row '}{hit.line}")
    elif not parts:
        parts.append(f"row {hit.row + 1:,}")
    if hit.also:
        parts.append(f"and {len(hit.also):,} more")
    if hit.heading:
        parts.append(f"# {hit.heading}")
    parts += [f"{name}: {value}" for name, value in hit.columns.items()]
    return "\n".join(parts)


search = function(SearchRequest)
