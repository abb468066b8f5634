"""A text as words with their places."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterns.views.word_classes import QUOTES, is_adverb

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Word:
    """A word or a punctuation mark, and where in the text it stands."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The place behind it."""
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        """The word as the lists of words have it."""
        return self.text.lower().replace("’", "'")


class Words:
    """A sentence as words. A place outside it has the empty word."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [Word(match.group(), match.start()) for match in _WORD.finditer(text)]
        self.is_question = text.rstrip().rstrip("\"'”’) ").endswith("?")

    def lower(self, at: int) -> str:
        """The word at a place, in lower case."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def next(self, at: int) -> int:
        """The next place that holds no adverb."""
        at += 1
        while is_adverb(self.lower(at)):
            at += 1
        return at

    def previous(self, at: int) -> int:
        """The previous place that holds neither adverb nor quote."""
        at -= 1
        while at >= 0 and (is_adverb(self.lower(at)) or self.lower(at) in QUOTES):
            at -= 1
        return at
