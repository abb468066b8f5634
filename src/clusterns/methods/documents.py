"""Document positives: two sentences of one document belong together, those of others do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from clusterns.errors import UserError
from clusterns.methods.adapting import Adapting
from clusterns.methods.method import Context
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method, part

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.losses.same_document import SameDocument

DOCUMENT = "document"
FEWEST = 50  # documents of several sentences that there is something to learn from
NO_DOCUMENTS = (
    "Search is learned from sentences of the same document, and nothing else is known to help it without "
    "harm: the model is best left as it is. Name what belongs together with --document, or adapt it for topics."
)


@part("same_document")
class SameDocumentSettings(Recipe):
    """Both sentences of a pair find each other; others of their document are no negatives."""

    def make_part(self, context: Context) -> SameDocument:
        """Both directions."""
        from clusterns.losses.same_document import SameDocument

        return SameDocument(self.temperature)


@method
class Documents(Adapting):
    """Two sentences of one document are each other's positives, in both directions.

    For a model that is good already, to be used for search. What a document says in one place is found by
    what it says in another: that is what a query does, and needs no labels. The result lies on the way
    from the start to what was trained, as far as the start's knowledge is kept.
    """

    name = "documents"
    title = "document positives"
    paper = "this package"
    needs = "a good sentence encoder as the base; text in documents (--document)"
    purpose = "search"
    parts = ("same_document",)
    two_texts = True
    defaults = {
        "batch_size": 64,
        "learning_rate": 1e-4,
        "warmup_steps": 4,
        "max_steps": 40,
        "eval_steps": 40,
        "max_length": 128,
        "max_sentences": 20_000,
        "train_layers": 2,
        "dropout": 0.0,
    }

    def check_text(self, dataset: Dataset) -> None:
        """There must be documents of several sentences."""
        if DOCUMENT not in dataset.column_names:
            raise UserError(NO_DOCUMENTS)
        _, sizes = np.unique(dataset.with_format("numpy")[DOCUMENT][:], return_counts=True)
        found = int((sizes > 1).sum())
        if found < FEWEST:
            raise UserError(f"the text has {found} documents of several sentences. {NO_DOCUMENTS}")

    def rows(self, recipe: Recipe, dataset: Dataset) -> Dataset:
        """For every sentence that is not alone in its document, another one of it."""
        from datasets import Dataset

        numbers = dataset.with_format("numpy")[DOCUMENT][:]
        anchors, positives = partners(numbers, recipe.seed)
        if len(anchors) < recipe.batch_size:
            raise UserError(
                f"only {len(anchors)} sentences have another one in their document, fewer than batch_size = "
                f"{recipe.batch_size}: there is too little structure to learn search from."
            )
        _, small = np.unique(numbers, return_inverse=True)
        texts = dataset.select_columns("text")
        return Dataset.from_dict(
            {
                "anchor": texts.select(anchors)["text"][:],
                "positive": texts.select(positives)["text"][:],
                "label": small[anchors],
            }
        )


def partners(documents: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """For every row that is not alone in its document, a random other row of it: two arrays of rows."""
    order = np.argsort(documents, kind="stable")
    _, first, sizes = np.unique(documents[order], return_index=True, return_counts=True)
    size, begin = np.repeat(sizes, sizes), np.repeat(first, sizes)
    place = np.arange(len(order)) - begin
    paired = size > 1
    size, begin, place = size[paired], begin[paired], place[paired]
    step = np.random.default_rng(seed).integers(1, size)
    return order[paired], order[begin + (place + step) % size]
