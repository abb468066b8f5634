"""Whether two texts say the same in the same words: what a cosine cannot tell of "Finnish-Dutch" and "French-Italian".

Embeddings of one kind of thing are close, whatever its name or number is. So near-duplicates must also
share their words: numbers, names and negations in the same order, and most of the other words, of
which some may be missing but none exchanged.
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
_SMALL = regex.compile(  # stop words that turn a meaning around
    r"no|not|non|never|nor|none|neither|without|cannot|.*n['’]t|"
    r"before|after|above|below|under|up|down|less|least|more|most"
)


class Words(NamedTuple):
    """The words of a text in lower case, and the deciding ones: numbers, names and negations."""

    all: tuple[str, ...]
    deciding: frozenset[str]

    @classmethod
    def of(cls, text: str) -> Words:
        """Find the words, and the numbers, names and negations among them."""
        found = [*_TOKEN.finditer(text)]
        words = tuple(match[0].lower().replace("’", "'") for match in found)
        capital = [match[0][0].isupper() for match in found] + [False]
        deciding = set()
        for n, (match, word) in enumerate(zip(found, words, strict=True)):
            if match[0][0].isnumeric() or _SMALL.fullmatch(word):
                deciding.add(word)
            elif capital[n] and word not in STOP_WORDS:
                # Any word may begin a sentence with a capital letter; a name goes on with one.
                begins = n == 0 or _END.search(text, found[n - 1].end(), match.start())
                if not begins or capital[n + 1]:
                    deciding.add(word)
        return cls(words, frozenset(deciding))


def share_words(first: Words, second: Words) -> bool:
    """Whether two texts have the same deciding words in the same order, and most of the others."""
    deciding = first.deciding | second.deciding
    if [w for w in first.all if w in deciding] != [w for w in second.all if w in deciding]:
        return False
    one, other = _content(first.all), _content(second.all)
    if not one or not other:
        return first.all == second.all
    return shared(one, other) >= MIN_SHARED


def shared(one: Sequence[str], other: Sequence[str]) -> float:
    """The Dice coefficient of two lists of words; 0 if a word of one is exchanged for another word.

    Other spellings and forms of a word count as the word.
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
    """Whether two words differ as a word does from its plural or from a typing error."""
    if min(len(word), len(other)) < 4 or word[0] != other[0]:
        return False
    return SequenceMatcher(None, word, other, autojunk=False).ratio() >= MIN_TYPO
