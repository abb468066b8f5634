"""Documents with their titles, or first sentences: what adapting for search learns from and is measured by."""

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
    "Adapting for search learns from documents with a title or several sentences, and nothing else is known to "
    "help search without harm. Name what belongs together with --document, keep the model as it is, or adapt it "
    "for topics."
)


@dataclass(frozen=True)
class Documents:
    """The documents of a text that have a title and a body, or two sentences."""

    titles: list[str]
    """Titles, or first sentences."""
    bodies: list[str]
    """The rest of each document."""
    members: list[Rows]
    """Rows of the sentences of each body."""

    @property
    def whole(self) -> list[str]:
        """Each document with its title."""
        return [f"{title} {body}" for title, body in zip(self.titles, self.bodies, strict=True)]


def gather(rows: Dataset, titles: Corpus | None) -> Documents:
    """The documents of these rows, with titles from a corpus of their own or the first sentences in their place."""
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
