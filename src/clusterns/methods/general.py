"""General text: what an adapted model must go on to read as before."""

from __future__ import annotations

import numpy as np

from clusterns.errors import UserError

# Lines to measure on, which are never learned from.
APART = 300


def replayed_text(file: str, base: str | None, count: int, seed: int) -> list[str]:
    """``count`` lines to learn from, or as many as there are.

    Args:
        file: the user's own general text; empty for random words of the base's vocabulary.
        base: the base.
        count: how many lines.
        seed: of the words, or of the choice among the lines.
    """
    if not file:
        return _words(base, count, seed)
    lines = _lines(file)[0]
    order = np.random.default_rng(seed).permutation(len(lines))
    return [lines[row] for row in order[:count]]


def text_apart(file: str, base: str | None) -> list[str]:
    """Lines to measure on: the same for every seed, and none that is learned from."""
    return _lines(file)[1] if file else _words(base, APART, 2**32)  # a seed that no run can have


def _words(base: str | None, count: int, seed: int) -> list[str]:
    from clusterns.encoder.load import load_tokenizer
    from clusterns.encoder.random_words import random_lines

    return random_lines(load_tokenizer(base), count, seed)


def _lines(file: str) -> tuple[list[str], list[str]]:
    """The distinct lines of a file: those to learn from, and those to measure on."""
    from clusterns.data.corpus import prepare_corpus

    texts = list(prepare_corpus([file], progress=False).dataset["text"][:])
    if len(texts) < 20:
        raise UserError(f"--general {file}: {len(texts)} lines are too few to stand for all text.")
    order = np.random.default_rng(0).permutation(len(texts))
    cut = min(APART, len(texts) // 2)
    return [texts[row] for row in order[cut:]], [texts[row] for row in order[:cut]]
