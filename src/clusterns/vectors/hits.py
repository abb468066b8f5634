"""What a search returns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hit:
    """One result."""

    score: float
    """By vectors the cosine, by words the BM25 score, by both the mean of the two, scaled to 0-1."""
    row: int
    text: str | None
    """None if the folder holds no texts."""
    name: str | None
    """Its id, if it has one of its own."""
    also: tuple[str, ...] = ()
    """The names of others with the same text."""
    cosine: float | None = None
    """Cosine of query and text; None in a search by words."""
    words: tuple[str, ...] = ()
    """The words of the text that match the query; none in a search by vectors."""
    source: str | None = None
    """The file or dataset that it comes from."""
    line: int | None = None
    """Line of a text file, or row of a table without its header, from 1."""
    heading: str | None = None
    """The heading above it."""
    columns: Mapping[str, str | None] = field(default_factory=dict)
    """The columns that were kept."""
    before: tuple[str, ...] = ()
    """The texts before it, if asked for."""
    after: tuple[str, ...] = ()
    """The texts after it."""
    query: str | None = None
    """What was looked for, if there were several queries."""
