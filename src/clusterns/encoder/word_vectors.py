"""Averaged word vectors: a file of GloVe's to a SentenceTransformer of built-in modules."""

from __future__ import annotations

import gzip
from itertools import chain, islice
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import (
    ENGLISH_STOP_WORDS,
    WhitespaceTokenizer,
)

from clusterns.console import bar
from clusterns.errors import UserError

# The first row of the table belongs to no word of a text.
PADDING = "\0padding"
# So many lines tell how many numbers a line has.
FIRST_LINES = 100


def load_word_vectors(
    path: Path, *, stop_words: bool = False, quiet: bool = True
) -> SentenceTransformer:
    """Load word vectors in GloVe's text format; a sentence is the mean of its known words.

    The library's own reader leaves out words that hold a blank; here none is left out. A sentence without a known
    word becomes the zero vector.

    Args:
        path: a word and its numbers a line, packed by gzip or not; word2vec's first line may be
            there.
        stop_words: leave out English stop words, as the tokenizer behind the published numbers does.
        quiet: no progress bar.
    """
    try:
        words, weights = _read(path, quiet)
    except (ValueError, OSError, EOFError) as error:
        raise UserError(
            f"{path} is not in GloVe's text format (a word and its numbers a line): {error}"
        ) from error
    table = torch.cat([torch.zeros(1, weights.shape[1]), torch.from_numpy(weights)])
    left_out = ENGLISH_STOP_WORDS if stop_words else ()
    tokenizer = WhitespaceTokenizer([PADDING, *words], stop_words=left_out)
    return SentenceTransformer(
        modules=[WordEmbeddings(tokenizer, table), Pooling(weights.shape[1], "mean")]
    )


def _read(path: Path, quiet: bool) -> tuple[list[str], np.ndarray]:
    """The words, each once, and their vectors as (words, d)."""
    vectors: dict[str, np.ndarray] = {}
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = (line.rstrip() for line in file if not line.isspace())
        first = list(islice(lines, FIRST_LINES))
        if len(first) > 1 and len(first[0].split()) == 2 < len(first[1].split()):
            first = first[1:]  # word2vec: the numbers of words and of dimensions
        dimension = min((line.count(" ") for line in first), default=0)
        if not dimension:
            raise ValueError("a word without numbers, or no word at all")
        for line in bar(
            chain(first, lines), desc="Read word vectors", unit=" words", shown=not quiet
        ):
            # A word may hold blanks: the numbers are counted from the end.
            word, *numbers = line.rsplit(" ", dimension)
            if len(numbers) != dimension or any(map(_is_number, word.split(" ")[1:])):
                raise ValueError(f"the line of {word[:40]!r} has not {dimension} numbers")
            vectors.setdefault(word, np.array(numbers, dtype=np.float32))
    return list(vectors), np.stack(list(vectors.values()))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
