"""Splitting text into words in any language, stems and stop words."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache

import regex

from clusterns.errors import UserError

# The language of a corpus is the one whose stop words are most frequent, if their share is at least this.
MIN_STOP_WORDS = 0.05
# Scripts without spaces between words, and Hangul, whose words include particles: here, pairs of characters
# count as words.
UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
# Vowel signs and accents are marks, not letters. C++ and C# are words.
WORD = regex.compile(
    rf"(?V1)[{UNSPACED}]+|[[\p{{L}}\p{{M}}\p{{N}}]--[{UNSPACED}]]{{1,40}}(?:[+#]+(?!\w))?"
)
IS_UNSPACED = regex.compile(rf"[{UNSPACED}]")


def words_of(text: str, is_query: bool = False) -> list[str]:
    """Split a text of any script into words, in lower case.

    In scripts without spaces, single characters and pairs of them are indexed, and a query is split
    into pairs.
    """
    found: list[str] = []
    for word in WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if word.isascii() or not IS_UNSPACED.match(word):
            found.append(word)
            continue
        pairs = [word[at : at + 2] for at in range(len(word) - 1)]
        found += pairs if is_query and pairs else [*word, *pairs]
    return found


class Language:
    """Stems and stop words of a language; an unknown one has neither.

    Args:
        name: English name of the language, such as "german"; "none" for neither stems nor stop words.
    """

    def __init__(self, name: str) -> None:
        from snowballstemmer import algorithms, stemmer

        self.name = name
        if name != "none" and name not in algorithms():
            known = ", ".join(sorted(algorithms()))
            raise UserError(f"--language {name}: unknown language. Use none or one of {known}.")
        self._stemmer = None if name == "none" else stemmer(name)
        self.stop_words = stop_words().get(name, frozenset())

    def stems(self, words: Sequence[str]) -> list[str]:
        """The stem of each word."""
        return list(words) if self._stemmer is None else self._stemmer.stemWords(list(words))

    def query_words(self, text: str) -> list[str]:
        """The words of a query without its stop words, unless all are stop words."""
        words = words_of(text, is_query=True)
        return [word for word in words if word not in self.stop_words] or words


@cache
def stop_words() -> dict[str, frozenset[str]]:
    """The stop words of each language that has a list."""
    from bm25s import stopwords

    lists = {
        name.removeprefix("STOPWORDS_").lower(): frozenset(words)
        for name, words in vars(stopwords).items()
        if name.startswith("STOPWORDS_")
    }
    return lists | {"english": lists["en_plus"]}


def detect_language(totals: Mapping[str, int]) -> str:
    """Return the language whose stop words occur most often, given word counts; "none" if all occur
    too rarely."""
    from snowballstemmer import algorithms

    languages = [name for name in stop_words() if name in algorithms()]
    found = {name: sum(totals.get(word, 0) for word in stop_words()[name]) for name in languages}
    best = max(found, key=lambda name: found[name])
    return best if found[best] > MIN_STOP_WORDS * sum(totals.values()) else "none"
