"""A view: what is done to a sentence on its way to one of the inputs of a training row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from clusterns.data.sentences import UNSPACED
from clusterns.views.template import Template

_UNSPACED, _LETTER, _WORD = map(regex.compile, (UNSPACED, r"\p{L}", r"\S+ ?"))
# A character with its marks; a word of another script between such characters stays whole.
_CHARACTER = regex.compile(rf"(?:(?={UNSPACED})\X|(?:(?!{UNSPACED})\S)+) ?")

TextStep = Callable[[str, random.Random], str]
"""From a text to another; what is random in it is drawn from the generator."""
TokenStep = Callable[[int, Sequence[int], random.Random], list[int]]
"""From the length of a tokenised row (special tokens counted) and the places of its sentence's
tokens to the places that the new row is made of, in their order; a place may come twice."""


@dataclass(frozen=True)
class View:
    """A text step, then a template, then, on the tokens, a token step; each may be left out.

    The steps must be functions of module level or instances of such classes: processes that
    tokenise ahead get copies of them.
    """

    text: TextStep | None = None
    tokens: TokenStep | None = None
    templates: tuple[Template, ...] = ()
    """Of several, one is drawn for each row."""
    preprocess: Callable[..., dict[str, Any]] | None = None
    """A tokeniser of its own: such a view is for a part of the loss (a judge), and not for the
    encoder. Views of this kind come last."""
    prompt: str | None = None
    """What stands before the text for such a tokeniser; the encoder's prompt does not."""

    @property
    def is_fixed(self) -> bool:
        """Whether each sentence always gives the same row."""
        return self.text is None and self.tokens is None and len(self.templates) < 2


@dataclass(frozen=True)
class Crop:
    """Text step: a random run of words."""

    shortest: float

    def __call__(self, text: str, generator: random.Random) -> str:
        """Crop ``text``."""
        return crop(text, self.shortest, generator)


@dataclass(frozen=True)
class Repetition:
    """Token step (ESimCSE): some sub-words of the sentence are doubled in place.

    Of a row of L tokens, special ones counted, 0 to min(10, int(rate L)) - 1 are.
    """

    rate: float
    most: int = 10

    def __call__(self, length: int, sentence: Sequence[int], generator: random.Random) -> list[int]:
        """The places of the row with some of them twice."""
        bound = min(self.most, int(self.rate * length))
        count = generator.randrange(bound) if bound else 0
        doubled = set(generator.sample(sentence, min(count, len(sentence))))
        return [place for i in range(length) for place in ([i, i] if i in doubled else [i])]


def crop(text: str, shortest: float, generator: random.Random) -> str:
    """A random run of the words of ``text``: at least the share ``shortest`` of them, and never none."""
    words = words_of(text)
    least = max(1, round(shortest * len(words)))
    length = generator.randint(least, len(words))
    start = generator.randint(0, len(words) - length)
    return "".join(words[start : start + length]).strip()


def words_of(text: str) -> list[str]:
    """The words of a text, each with the blank behind it: ``"".join`` gives the text.

    A text mostly in a script without blanks between words falls into characters.
    """
    text, pattern = " ".join(text.split()), _WORD
    if not text.isascii() and 2 * len(_UNSPACED.findall(text)) >= len(_LETTER.findall(text)) > 0:
        pattern = _CHARACTER
    return pattern.findall(text)
