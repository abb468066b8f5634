"""Clean lines, drop those that are not sentences, and recognize duplicates."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pandas.util import hash_array

from clusterns.data.sentences import UNSPACED
from clusterns.data.settings import MIN_WORDS

# About what an encoder of 512 tokens can read at all; a longer line is a document.
MAX_CHARS = 2000

# Soft hyphen, zero-width space, word joiner, byte-order mark: invisible, so two lines that differ only
# in them are the same sentence. The zero-width joiners stay because they carry meaning in many
# scripts. Unicode normalization (NFC) is left to the tokenizer.
_INVISIBLE = r"\x{AD}\x{200B}\x{2060}\x{FEFF}"
_DAMAGED = r"\p{Co}\x{FFFD}\x00-\x08\x0E-\x1F\x7F-\x9F"
# Most lines contain only letters and single spaces. Only rows that match this pattern are rewritten.
_ODD_SPACE = r"\p{Cc}\p{Zl}\p{Zp}\x{A0}\x{1680}\x{2000}-\x{200A}\x{202F}\x{205F}\x{3000}"
_ODD = f"[{_INVISIBLE}{_DAMAGED}{_ODD_SPACE}]|  "


def clean(
    texts: pa.Array, *, min_words: int = MIN_WORDS, max_chars: int = MAX_CHARS
) -> tuple[pa.Array, NDArray[np.bool_], Counter[str]]:
    """Normalize spaces and control characters, and keep the rows that can be sentences.

    Returns:
        the kept rows in order; for every row, whether it was kept; and counts of rows ``read`` and of rows dropped as
        ``empty``, ``not_text`` (no letter, or more than one character in ten is damaged), ``too_short``, ``too_long``.
    """
    texts = pc.fill_null(texts, "")
    odd = pc.match_substring_regex(texts, _ODD)
    odd_texts = texts.filter(odd)
    damaged = np.zeros(len(texts), dtype=np.int64)
    damaged[_numpy(odd)] = _numpy(pc.count_substring_regex(odd_texts, f"[{_DAMAGED}]"))
    texts = pc.utf8_trim(pc.replace_with_mask(texts, odd, _normalize(odd_texts)), " ")

    length = _numpy(pc.utf8_length(texts))
    short = _numpy(pc.count_substring(texts, " ")) + 1 < min_words
    unspaced = _numpy(pc.count_substring_regex(texts.filter(short), UNSPACED))
    short[short] = unspaced < min_words
    no_letter = ~_numpy(pc.match_substring_regex(texts, r"\p{L}"))

    counts = Counter(read=len(texts))
    keep = np.ones(len(texts), dtype=bool)
    for reason, dropped in (
        ("empty", length == 0),
        ("not_text", no_letter | (damaged * 10 > length)),
        ("too_short", short),
        ("too_long", length > max_chars),
    ):
        counts[reason] = int((keep & dropped).sum())
        keep &= ~dropped
    return texts.filter(keep), keep, counts


def _normalize(texts: pa.Array) -> pa.Array:
    visible = pc.replace_substring_regex(texts, f"[{_INVISIBLE}]+", "")
    return pc.replace_substring_regex(visible, r"[\p{Z}\p{Cc}]+", " ")


def _numpy(array: pa.Array) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False)


def hashes(texts: pa.Array) -> NDArray[np.uint64]:
    """A 64-bit hash of each text, the same on every machine."""
    return hash_array(texts.to_numpy(zero_copy_only=False), categorize=False)


class SeenTexts:
    """The 64-bit hashes of all texts so far: 8 bytes per text, or about 20 during a merge.

    They are stored in sorted runs, each more than twice as long as the next, as in a log-structured merge tree: a
    batch is looked up in a few runs, and each hash is moved only a few times. Over 20 million lines, the probability
    that any two different texts share a hash is 1 in 100,000.
    """

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    def __len__(self) -> int:
        return sum(map(len, self._runs))

    def add(self, texts: pa.Array) -> NDArray[np.bool_]:
        """Add texts; return True for each text that is new, counting earlier ones in ``texts`` too."""
        hashed = hashes(texts)
        distinct, first = np.unique(hashed, return_index=True)
        new = np.ones(len(distinct), dtype=bool)
        for run in self._runs:
            nearest = np.minimum(np.searchsorted(run, distinct), len(run) - 1)
            new &= run[nearest] != distinct
        if new.any():
            self._append(distinct[new])
        is_new = np.zeros(len(hashed), dtype=bool)
        is_new[first[new]] = True
        return is_new

    def _append(self, run: NDArray[np.uint64]) -> None:
        while self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.concatenate([self._runs.pop(), run])
            run.sort(kind="stable")  # merges two sorted halves in linear time
        self._runs.append(run)
