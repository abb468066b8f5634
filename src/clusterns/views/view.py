"""Views: augmentations that turn a sentence into one input of a training row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import regex

from clusterns.data.sentences import UNSPACED
from clusterns.views.template import Template

_UNSPACED, _LETTER, _WORD = map(regex.compile, (UNSPACED, r"\p{L}", r"\S+ ?"))
# A character with its marks; a word of another script between such characters is not split.
_CHARACTER = regex.compile(rf"(?:(?={UNSPACED})\X|(?:(?!{UNSPACED})\S)+) ?")

TextStep = Callable[[str, random.Random], str]
"""Maps a text to another text; random choices come from the generator."""
TokenStep = Callable[[int, Sequence[int], random.Random], list[int]]
"""Maps the length of a tokenized row (with special tokens) and the positions of the sentence's tokens to
the positions of the new row, in order; a position may repeat."""


@dataclass(frozen=True)
class View:
    """A text step, a template and a token step, in this order; each is optional.

    Steps must be module-level functions or instances of module-level classes, since worker processes
    get copies of them.
    """

    text: TextStep | None = None
    tokens: TokenStep | None = None
    templates: tuple[Template, ...] = ()
    """If there are several, one is sampled for each row."""
    preprocess: Callable[..., dict[str, Any]] | None = None
    """Tokenizer of this view. Such a view is for a part of the loss (a guide) rather than the encoder,
    and comes last."""
    prompt: str | None = None
    """Prompt for that tokenizer; the encoder's prompt is not used."""

    @property
    def is_fixed(self) -> bool:
        """Whether a sentence always produces the same row."""
        return self.text is None and self.tokens is None and len(self.templates) < 2


@dataclass(frozen=True)
class Crop:
    """Text step: a random span of words."""

    shortest: float

    def __call__(self, text: str, generator: random.Random) -> str:
        """Crop ``text``."""
        return crop(text, self.shortest, generator)


@dataclass(frozen=True)
class FullStop:
    """Text step: append a full stop where the tokenizer of a prompt-based model adds one at test time."""

    def __call__(self, text: str, generator: random.Random) -> str:
        """Append the full stop to ``text``."""
        text = text.strip()
        return text if not text or text.endswith((".", "?", '"', "'")) else f"{text}."


@dataclass(frozen=True)
class Negation(FullStop):
    """Text step: negate an English sentence and append the full stop."""

    def __call__(self, text: str, generator: random.Random) -> str:
        """Negate ``text``."""
        from clusterns.views.negation import negate  # a late import: it reads the lexicon

        return super().__call__(negate(text), generator)


@dataclass(frozen=True)
class Repetition:
    """Token step (ESimCSE): duplicate random subwords of the sentence in place.

    In a row of L tokens, including special tokens, 0 to min(10, int(rate L)) - 1 are duplicated.
    """

    rate: float
    most: int = 10

    def __call__(self, length: int, sentence: Sequence[int], generator: random.Random) -> list[int]:
        """The positions of the row, with duplicates."""
        bound = min(self.most, int(self.rate * length))
        count = generator.randrange(bound) if bound else 0
        duplicated = set(generator.sample(sentence, min(count, len(sentence))))
        return [i for i in range(length) for _ in range(2 if i in duplicated else 1)]


def crop(text: str, shortest: float, generator: random.Random) -> str:
    """A random span of words: at least the fraction ``shortest`` of the words of ``text``, and at least one."""
    words = words_of(text)
    min_words = max(1, round(shortest * len(words)))
    length = generator.randint(min_words, len(words))
    start = generator.randint(0, len(words) - length)
    return "".join(words[start : start + length]).strip()


def words_of(text: str) -> list[str]:
    """The words of a text, each with its following space, so that ``"".join`` restores the text.

    A text mostly in a script without spaces between words is split into characters.
    """
    text, pattern = " ".join(text.split()), _WORD
    if not text.isascii() and 2 * len(_UNSPACED.findall(text)) >= len(_LETTER.findall(text)) > 0:
        pattern = _CHARACTER
    return pattern.findall(text)
