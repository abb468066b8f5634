"""Search in documents: what differs within a document counts less, so that its sentences find each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from clusterns.errors import UserError
from clusterns.methods.mapped import Mapped, MappedSettings
from clusterns.methods.method import Context
from clusterns.methods.registry import method

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.vectors.nearest import Vectors

# Documents of several sentences: a tenth of them is kept out to measure by.
FEWEST = 200
NO_DOCUMENTS = (
    "Search is learned from sentences of the same document, and nothing else is known to help it without "
    "harm: the model is best left as it is. Name what belongs together with --document, or adapt it for topics."
)


class DocumentsSettings(MappedSettings):
    """How the targets are made."""

    shrinkage: float = Field(0.1, gt=0)
    """Towards counting all directions alike; 1 is as much as sentences of a document differ on average."""


@method
class Documents(Mapped):
    """Directions in which sentences of one document differ count less; general text stays.

    For a model that is good already, to be used for search. What a document says in one place is found by
    what it says in another: that is what a query does, and needs no labels. A map behind the encoder, which
    acts near the text only, is fitted exactly to vectors that are whitened within documents. The result lies
    on the way from the start to that map, where held-out sentences find their documents best, as far as the
    start's knowledge is kept.
    """

    name = "documents"
    title = "whitening within documents"
    paper = "this package"
    needs = "a good sentence encoder as the base; text in documents (--document)"
    purpose = "search"
    settings = DocumentsSettings
    defaults = {**Mapped.defaults, "ridge": 1e-3, "keep_own": 0.85}

    def check_text(self, dataset: Dataset) -> None:
        """There must be documents of several sentences."""
        from clusterns.data.documents import documents_of

        documents = documents_of(dataset)
        if documents is None:
            raise UserError(NO_DOCUMENTS)
        _, sizes = np.unique(documents, return_counts=True)
        found = int((sizes > 1).sum())
        if found < FEWEST:
            raise UserError(f"the text has {found} documents of several sentences. {NO_DOCUMENTS}")

    def targets(self, context: Context, vectors: Vectors) -> Vectors:
        """The vectors whitened within their documents."""
        from clusterns.vectors.within import whitened_within

        recipe = context.recipe
        assert isinstance(recipe, DocumentsSettings)
        assert context.documents is not None
        return whitened_within(vectors, context.documents, shrinkage=recipe.shrinkage)
