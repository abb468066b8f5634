"""Documents with their titles or first sentences, for fitting and evaluating adaptation for search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from datasets import Dataset

from clusterns.data.corpus import Corpus
from clusterns.data.documents import documents_of
from clusterns.errors import UserError
from clusterns.vectors.nearest import Rows

MIN_DOCUMENTS = 200
NO_DOCUMENTS = (
    "Adapting for search learns from documents with a title or several sentences; no other method is known to "
    "help search without harm. Specify what belongs together with --document, keep the model as it is, or adapt "
    "it for topics."
)


@dataclass(frozen=True)
class Documents:
    """Documents that have a title and a body, or at least two sentences."""

    titles: list[str]
    """Titles, or first sentences."""
    bodies: list[str]
    """The rest of each document."""
    members: list[Rows]
    """Rows of the sentences of each body."""

    @property
    def complete(self) -> list[str]:
        """Each document with its title."""
        return [f"{title} {body}" for title, body in zip(self.titles, self.bodies, strict=True)]


def gather(rows: Dataset, titles: Corpus | None) -> Documents:
    """Collect the documents of these rows, with titles from a separate corpus, or else their first sentences."""
    numbers = documents_of(rows)
    if numbers is None:
        raise UserError(NO_DOCUMENTS)
    titled: dict[int, str] = {}
    if titles is not None:
        titled = dict(zip(titles.dataset["document"], titles.dataset["text"], strict=True))
    texts = list(rows["text"])
    order = np.argsort(numbers, kind="stable")
    found = Documents([], [], [])
    for members in np.split(order, np.flatnonzero(np.diff(numbers[order])) + 1):
        title = titled.get(int(numbers[members[0]]))
        if titles is None and len(members) > 1:
            title, members = texts[members[0]], members[1:]
        if title is not None:
            found.titles.append(title)
            found.bodies.append(" ".join(texts[row] for row in members))
            found.members.append(members)
    return found
