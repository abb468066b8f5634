"""Some sentences of a corpus at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def taken(texts: Sequence[str], rows: Iterable[int]) -> list[str]:
    """The texts of these rows, in their order.

    A column on disk opens its table anew for each call, which takes tens of milliseconds where the
    corpus is large, and takes many rows at once.
    """
    chosen = list(rows)
    if isinstance(texts, list | tuple):
        return [texts[row] for row in chosen]
    return list(texts[chosen])  # type: ignore[call-overload] # a column of the datasets library
