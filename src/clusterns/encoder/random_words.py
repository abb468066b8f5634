"""Text that is about nothing: random words of a tokeniser's own vocabulary.

A model that must not forget how it reads everything else needs everything else to be kept in place. Words
that its vocabulary has, the frequent ones more often, touch all of it, whatever its languages, and need
no file.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

import numpy as np
from transformers import PreTrainedTokenizerBase

from clusterns.errors import UserError

# Shorter and longer lines, as sentences are.
FEWEST_WORDS, MOST_WORDS = 4, 24
# How vocabularies of byte pairs and of SentencePiece mark the beginning of a word, where they do.
WORD_STARTS = ("\u0120", "\u2581")
# Zipf's law with an offset: the k-th word is drawn in proportion to 1 / (OFFSET + k).
OFFSET = 10


def random_lines(tokenizer: PreTrainedTokenizerBase, count: int, seed: int) -> list[str]:
    """``count`` lines of random words; the same for the same seed."""
    words = vocabulary_words(tokenizer)
    if len(words) < MOST_WORDS:
        raise UserError(
            "the vocabulary of the base has no words to draw general text from: name a file of it with "
            "--general."
        )
    share = 1 / (OFFSET + np.arange(len(words)))
    random = np.random.default_rng(seed)
    lengths = random.integers(FEWEST_WORDS, MOST_WORDS + 1, count)
    drawn = random.choice(len(words), lengths.sum(), p=share / share.sum())
    lines = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(words[number] for number in line) for line in lines] if count else []


def vocabulary_words(tokenizer: PreTrainedTokenizerBase) -> Sequence[str]:
    """The tokens that are words by themselves, in the order of the vocabulary, which is about that of
    their frequency."""
    special = set(tokenizer.all_special_tokens)
    known = sorted(tokenizer.get_vocab().items(), key=lambda each: each[1])
    tokens = [token for token, _ in known if token not in special and not token.startswith("##")]
    begin = [token for token in tokens if token.startswith(WORD_STARTS)]
    found = (tokenizer.convert_tokens_to_string([token]).strip() for token in begin or tokens)
    words = list(dict.fromkeys(word for word in found if _is_written(word)))
    longer = [word for word in words if len(word) > 1]
    # Where most are of one letter, as in a vocabulary of Chinese, these are words as well; elsewhere they
    # are an alphabet of everything, which stands first.
    return words if len(words) > 2 * len(longer) else longer


def _is_written(text: str) -> bool:
    """Letters of any script with their marks."""
    return bool(text) and all(category(letter)[0] in "LM" for letter in text)
