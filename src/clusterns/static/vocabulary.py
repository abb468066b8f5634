"""The word pieces of a corpus, and lines as sequences of piece ids."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from clusterns.console import bar
from clusterns.data.split import evenly_spaced, select_texts

UNKNOWN = "[UNK]"
# More lines hardly change the vocabulary.
TRAINING_LINES = 500_000
# The library's limit of 100 letters would make entire clauses of Thai or Khmer unknown.
MAX_WORD_LENGTH = 1_000
BLOCK = 20_000


def train_tokenizer(texts: Sequence[str], size: int) -> Tokenizer:
    """Train a WordPiece tokenizer, lower-cased, on lines spread over the entire corpus."""
    rows = evenly_spaced(len(texts), TRAINING_LINES)
    blocks = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
    normalizer = normalizers.BertNormalizer(lowercase=True)
    words: Counter[str] = Counter()
    for block in blocks:
        words.update(normalizer.normalize_str("\n".join(select_texts(texts, block))).split())
    letters, inner = _letters(words, size // 4)
    # The trainer numbers the letters inside words in an order that differs from run to run, and ties
    # between merges are broken by number. Listing all letters beforehand makes the vocabulary reproducible.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size,
        min_frequency=2,
        special_tokens=[UNKNOWN, *(f"##{letter}" for letter in inner)],
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    learner = _tokenizer({}, normalizer)
    learner.train_from_iterator((select_texts(texts, block) for block in blocks), trainer)
    return _tokenizer(learner.get_vocab(), normalizer)


def _letters(words: Counter[str], limit: int) -> tuple[list[str], list[str]]:
    """The most frequent letters, and those that occur inside words; both sorted."""
    counts: Counter[str] = Counter()
    inside: set[str] = set()
    for word, times in words.items():
        for letter in word:
            counts[letter] += times
        inside.update(word[1:])
    ranked = sorted(counts, key=lambda letter: (-counts[letter], letter))
    letters = sorted(ranked[:limit])
    return letters, [letter for letter in letters if letter in inside]


def _tokenizer(vocabulary: dict[str, int], normalizer: normalizers.Normalizer) -> Tokenizer:
    model = models.WordPiece(
        vocabulary, unk_token=UNKNOWN, max_input_chars_per_word=MAX_WORD_LENGTH
    )
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


@dataclass(frozen=True)
class Pieces:
    """Lines of text as word pieces.

    Args:
        ids: (n,) the pieces of all lines, concatenated.
        lengths: (m,) the number of pieces of each line.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @property
    def lines(self) -> NDArray[np.int64]:
        """(n,) the line of each piece."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> Pieces:
    """Split lines into word pieces, without special tokens."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    lengths = np.fromiter((len(one) for one in encodings), np.int32, len(encodings))
    ids = np.fromiter((i for one in encodings for i in one.ids), np.int32, int(lengths.sum()))
    return Pieces(ids, lengths)


def tokenize_blocks(
    tokenizer: Tokenizer, texts: Sequence[str], description: str, quiet: bool
) -> Iterator[Pieces]:
    """Tokenize the corpus in blocks of lines."""
    with bar(total=len(texts), desc=description, unit="line", shown=not quiet) as shown:
        for start in range(0, len(texts), BLOCK):
            stop = min(start + BLOCK, len(texts))
            yield tokenize(tokenizer, select_texts(texts, range(start, stop)))
            shown.update(stop - start)


def special_tokens(tokenizer: Tokenizer) -> list[int]:
    """The ids of tokens that do not represent text."""
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    return sorted(special | {i for i in [tokenizer.token_to_id(UNKNOWN)] if i is not None})
