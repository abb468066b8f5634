"""A bar over the texts of one process; how many there will be is guessed from the bytes read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clusterns.console import bar
from clusterns.data.sources import Source
from clusterns.vectors.settings import Share


class Progress:
    """Counts texts, and shows them where stderr is a terminal.

    Args:
        sources: what is read; without a known size the bar has no end.
        share: this process's part of the shards.
        shown: whether to show a bar at all.
    """

    def __init__(self, sources: Sequence[Source], share: Share, shown: bool) -> None:
        sizes = [source.size for source in sources]
        self._size = None if None in sizes else sum(size or 0 for size in sizes)
        self._share = share
        self._bytes = self._rows = 0
        self._bar = bar(desc="Encode", unit=" texts", shown=shown)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        self._bar.close()

    @property
    def is_shown(self) -> bool:
        """Whether there is a bar to see."""
        return not self._bar.disable

    def read_bytes(self, count: int) -> None:
        """Note that so many more bytes were read."""
        self._bytes += count

    def read_rows(self, count: int) -> None:
        """Note that so many more rows were read, ours or not."""
        self._rows += count
        if self.is_shown and self._size and self._bytes:
            guess = self._rows * self._size / self._bytes / self._share.count
            self._bar.total = max(self._bar.n, round(guess))

    def encoded(self, count: int) -> None:
        """Note that so many more texts were encoded."""
        self._bar.update(count)

    def found(self, count: int) -> None:
        """Note that so many texts were encoded by an earlier process; the rate leaves them out."""
        if self.is_shown:
            self._bar.initial += count
            self._bar.n += count
            self._bar.refresh()
