"""General text: what an adapted model must go on to embed as before.

Without a file of it, random words of the tokenizer's own vocabulary stand in: they touch all of it, frequent
words more often, whatever its languages.
"""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import category

import numpy as np
from transformers import PreTrainedTokenizerBase

from clusterns.errors import UserError

# Lines to learn from (more say no more about where general text lies), and to measure on.
TRAINING_LINES, HELDOUT_LINES = 2000, 300
HELDOUT_SEED = 2**32  # one that no run can have
# Lines as long as sentences.
MIN_WORDS, MAX_WORDS = 4, 24
# How vocabularies of byte pairs and of SentencePiece mark the start of a word.
WORD_STARTS = ("\u0120", "\u2581")
# Zipf's law with an offset: the k-th word is drawn in proportion to 1 / (OFFSET + k).
OFFSET = 10


def general_text(
    file: str, tokenizer: PreTrainedTokenizerBase, seed: int
) -> tuple[list[str], list[str]]:
    """Lines to learn from, and others to measure on, which are the same for every seed.

    Args:
        file: the user's general text; empty for random words.
        tokenizer: the tokenizer of the base.
        seed: random seed of the lines to learn from.
    """
    if not file:
        return (
            random_lines(tokenizer, TRAINING_LINES, seed),
            random_lines(tokenizer, HELDOUT_LINES, HELDOUT_SEED),
        )
    from clusterns.data.corpus import prepare_corpus

    texts = list(prepare_corpus([file], progress=False).dataset["text"][:])
    if len(texts) < 20:
        raise UserError(f"--general {file}: {len(texts)} lines are too few; give at least 20.")
    order = np.random.default_rng(0).permutation(len(texts))
    cut = min(HELDOUT_LINES, len(texts) // 2)
    training = [texts[row] for row in order[cut:]]
    chosen = np.random.default_rng(seed).permutation(len(training))[:TRAINING_LINES]
    return [training[row] for row in chosen], [texts[row] for row in order[:cut]]


def random_lines(tokenizer: PreTrainedTokenizerBase, count: int, seed: int) -> list[str]:
    """``count`` lines of random words; the same for the same seed."""
    words = vocabulary_words(tokenizer)
    if len(words) < MAX_WORDS:
        raise UserError(
            "the base's vocabulary has too few words to draw general text from: name a file with --general."
        )
    weights = 1 / (OFFSET + np.arange(len(words)))
    random = np.random.default_rng(seed)
    lengths = random.integers(MIN_WORDS, MAX_WORDS + 1, count)
    drawn = random.choice(len(words), lengths.sum(), p=weights / weights.sum())
    lines = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(words[number] for number in line) for line in lines] if count else []


def vocabulary_words(tokenizer: PreTrainedTokenizerBase) -> Sequence[str]:
    """The tokens that are whole words, in the order of the vocabulary, which roughly follows frequency."""
    special = set(tokenizer.all_special_tokens)
    known = sorted(tokenizer.get_vocab().items(), key=lambda each: each[1])
    tokens = [token for token, _ in known if token not in special and not token.startswith("##")]
    starts = [token for token in tokens if token.startswith(WORD_STARTS)]
    found = (tokenizer.convert_tokens_to_string([token]).strip() for token in starts or tokens)
    words = list(dict.fromkeys(word for word in found if _is_word(word)))
    longer = [word for word in words if len(word) > 1]
    # If most have one letter, as in a vocabulary of Chinese, these are words too; elsewhere they are an
    # alphabet, which comes first.
    return words if len(words) > 2 * len(longer) else longer


def _is_word(text: str) -> bool:
    """Whether it consists of letters of any script and their marks."""
    return bool(text) and all(category(letter)[0] in "LM" for letter in text)
