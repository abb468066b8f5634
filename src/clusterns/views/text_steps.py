"""Text steps of views: the sentence ended, or negated."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from clusterns.views.negation import negate

if TYPE_CHECKING:
    from clusterns.views.kept_negations import KeptNegations


@dataclass(frozen=True)
class FullStop:
    """A full stop where a sentence has no end of its own."""

    def __call__(self, text: str, generator: random.Random) -> str:
        """End ``text``."""
        return ended(text)


@dataclass(frozen=True)
class Negation:
    """The opposite of the sentence, by rules, with its full stop."""

    def __call__(self, text: str, generator: random.Random) -> str:
        """Negate ``text``."""
        return ended(negate(text))


@dataclass(frozen=True)
class KeptNegation:
    """The opposite of the sentence, as a file of :func:`keep_negations` has it."""

    file: str

    def __call__(self, text: str, generator: random.Random) -> str:
        """Look the negation of ``text`` up."""
        return ended(_kept(self.file)(text))


def ended(text: str) -> str:
    """``text`` with a full stop where the tokeniser of a prompt-based model puts one at test."""
    text = text.strip()
    return text if not text or text.endswith((".", "?", '"', "'")) else f"{text}."


@cache
def _kept(file: str) -> KeptNegations:
    """One for each process that tokenises: it holds a mapped file."""
    from clusterns.views.kept_negations import KeptNegations

    return KeptNegations(Path(file))
