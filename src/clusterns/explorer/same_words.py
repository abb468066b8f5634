"""Compare the words of two texts: a cosine cannot distinguish "Finnish-Dutch" from "French-Italian".

Embeddings of similar things are close even if names or numbers differ. So near-duplicates must also share
their words: numbers, names and negations in the same order, and most of the other words. Some may be
missing, but none replaced.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

import regex

from clusterns.data.sentences import UNSPACED
from clusterns.explorer.keywords import STOP_WORDS

MIN_SHARED = 0.85  # Dice coefficient of the words; benchmarks/near_duplicates.py measures it
MIN_TYPO = 0.8  # similarity of two spellings or forms of one word
_TOKEN = regex.compile(
    rf"\p{{N}}+(?:[.,:]\p{{N}}+)*|{UNSPACED}|[\p{{L}}\p{{M}}]+(?:['’][\p{{L}}\p{{M}}]+)*"
)
_END = regex.compile(r"[.!?:]\s")
_REVERSING = regex.compile(  # stop words that reverse a meaning
    r"no|not|non|never|nor|none|neither|without|cannot|.*n['’]t|"
    r"before|after|above|below|under|up|down|less|least|more|most"
)


class Words(NamedTuple):
    """The words of a text in lower case, and the essential ones: numbers, names and negations."""

    all: tuple[str, ...]
    essential: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Words:
        """Find the words, and the numbers, names and negations among them."""
        found = [*_TOKEN.finditer(text)]
        words = tuple(match[0].lower().replace("’", "'") for match in found)
        capital = [match[0][0].isupper() for match in found] + [False]
        essential = set()
        for n, (match, word) in enumerate(zip(found, words, strict=True)):
            if match[0][0].isnumeric() or _REVERSING.fullmatch(word):
                essential.add(word)
            elif capital[n] and word not in STOP_WORDS:
                # Any word may start a sentence with a capital letter; if the next word also has one, it is a name.
                begins = n == 0 or _END.search(text, found[n - 1].end(), match.start())
                if not begins or capital[n + 1]:
                    essential.add(word)
        return cls(words, frozenset(essential))


def share_words(first: Words, second: Words) -> bool:
    """Whether two texts have the same essential words in the same order, and most of the others."""
    essential = first.essential | second.essential
    if [w for w in first.all if w in essential] != [w for w in second.all if w in essential]:
        return False
    one, other = _content(first.all), _content(second.all)
    if not one or not other:
        return first.all == second.all
    return shared(one, other) >= MIN_SHARED


def shared(one: Sequence[str], other: Sequence[str]) -> float:
    """The Dice coefficient of two lists of words; 0 if a word of one is replaced by another word.

    Other spellings and forms of a word count as the same word.
    """
    here, there = Counter(one), Counter(other)
    common = here & there
    missing, added = list((here - common).elements()), list((there - common).elements())
    for word in tuple(missing):
        near = next((each for each in added if _is_variant(word, each)), None)
        if near is not None:
            added.remove(near)
            missing.remove(word)
    if missing and added:
        return 0.0
    return 1 - (len(missing) + len(added)) / (len(one) + len(other))


def _content(words: Sequence[str]) -> list[str]:
    return [word for word in words if word not in STOP_WORDS]


def _is_variant(word: str, other: str) -> bool:
    """Whether two words differ only like a word and its plural or a typo."""
    if min(len(word), len(other)) < 4 or word[0] != other[0]:
        return False
    return SequenceMatcher(None, word, other, autojunk=False).ratio() >= MIN_TYPO
