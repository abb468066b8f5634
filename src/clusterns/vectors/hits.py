"""Answers of a search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Hit:
    """One answer."""

    score: float
    """Cosine of query and text."""
    row: int
    text: str | None
    """None where the folder keeps no text."""
    name: str | None
    """Its id, where it has one of its own."""
    also: tuple[str, ...] = ()
    """The names of others with the very same text."""


def one_a_text(hits: Iterable[Hit]) -> list[Hit]:
    """Hits with the same text as one: the first, with the names of the others."""
    found: dict[object, Hit] = {}
    for hit in hits:
        key = hit.row if hit.text is None else hit.text
        first = found.get(key)
        also = () if first is None or hit.name is None else (*first.also, hit.name)
        found[key] = hit if first is None else replace(first, also=also)
    return list(found.values())
