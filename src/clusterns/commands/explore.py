"""``clusterns explore``: a map of sentences in the browser, with search, topics and changes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Le
from pydantic import Field

from clusterns.commands.options import CorpusOptions, OptionalTexts, TopicCount, as_list
from clusterns.commands.request import Cli, function
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.training.folder import RunFolder


class ExploreRequest(CorpusOptions):
    """Explore sentences in the browser: a map, search as you type, topics, and the effect of training.

    Everything stays on this machine. Embeddings, neighbors and maps are computed once and stored. The call
    returns after Ctrl-C.

    A run and its corpus:  clusterns explore runs/mine

    Next to its base:      clusterns explore runs/mine --against base

    Other text:            clusterns explore runs/mine titles.txt
    """

    corpus: OptionalTexts = Field(default=(), kw_only=False)
    against: Annotated[str | None, Cli(metavar="MODEL")] = None
    """Another model to compare with; `base` is the base of the run."""
    against_pooling: str | None = None
    """Pooling of the model to compare with."""
    keep: Annotated[tuple[str, ...], Cli(list[str], metavar="COLUMN")] = ()
    """Column to filter the search by. May be repeated."""
    k: TopicCount = None
    max_sentences: Annotated[int, Ge(2)] = 200_000
    """Read at most this many sentences."""
    port: Annotated[int, Ge(0), Le(65535)] = 0
    """Port on this machine; 0 picks a free one."""
    open_browser: Annotated[bool, Cli(names=("--open",))] = False
    """Open the page in the browser."""

    def run(self) -> None:
        """Serve the page until Ctrl-C."""
        from clusterns.explorer.corpus import BASE, check_corpus

        model, corpus = str(self.model), as_list(self.corpus)
        if self.against == BASE and not RunFolder(Path(model)).is_run:
            raise UserError(
                f"--against base: {model} is not a run folder. Pass the model to compare with."
            )
        check_corpus(model, corpus, self.pooling)
        if self.against not in (None, BASE):
            check_model(self.against, self.against_pooling)
        from clusterns.explorer.explorer import open_explorer
        from clusterns.explorer.server import listen, serve

        with listen(self.port) as listening:
            first = self.open(corpus, max_sentences=self.max_sentences, keep=self.keep)
            options = self.loading.model_dump() | {"pooling": self.against_pooling}
            explorer = open_explorer(
                model, corpus, first, against=self.against, k=self.k, device=self.device, **options
            )
            serve(explorer, listening, self.open_browser)


explore = function(ExploreRequest)
