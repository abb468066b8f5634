"""The word pieces of a corpus, and lines as their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

from clusterns.console import bar
from clusterns.data.split import evenly_spaced, select_texts

UNKNOWN = "[UNK]"
# More lines than these change the vocabulary little.
TRAINING_LINES = 500_000
# The library's limit of 100 letters would make whole clauses of Thai or Khmer unknown.
MAX_WORD_LENGTH = 1_000
BLOCK = 20_000


def train_tokenizer(texts: Sequence[str], size: int) -> Tokenizer:
    """Train a WordPiece tokenizer, lower-cased, on lines spread over the whole corpus."""
    tokenizer = Tokenizer(
        models.WordPiece({}, unk_token=UNKNOWN, max_input_chars_per_word=MAX_WORD_LENGTH)
    )
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=[UNKNOWN], show_progress=False
    )
    rows = evenly_spaced(len(texts), TRAINING_LINES)
    lines = (select_texts(texts, rows[i : i + BLOCK]) for i in range(0, len(rows), BLOCK))
    tokenizer.train_from_iterator(lines, trainer)
    return tokenizer


@dataclass(frozen=True)
class Pieces:
    """Lines of text as word pieces.

    Args:
        ids: (n,) the pieces of all lines, one line after the other.
        lengths: (m,) the number of pieces of each line.
    """

    ids: NDArray[np.int32]
    lengths: NDArray[np.int32]

    @property
    def lines(self) -> NDArray[np.int64]:
        """(n,) the line of each piece."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)


def tokenize(tokenizer: Tokenizer, texts: Sequence[str]) -> Pieces:
    """The word pieces of some lines, without special tokens."""
    encodings = tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
    lengths = np.fromiter((len(one) for one in encodings), np.int32, len(encodings))
    ids = np.concatenate([np.asarray(one.ids, np.int32) for one in encodings] or [[]])
    return Pieces(ids.astype(np.int32), lengths)


def tokenize_blocks(
    tokenizer: Tokenizer, texts: Sequence[str], description: str, quiet: bool
) -> Iterator[Pieces]:
    """The whole corpus in blocks of lines."""
    with bar(total=len(texts), desc=description, unit="line", shown=not quiet) as shown:
        for start in range(0, len(texts), BLOCK):
            stop = min(start + BLOCK, len(texts))
            yield tokenize(tokenizer, select_texts(texts, range(start, stop)))
            shown.update(stop - start)


def special_tokens(tokenizer: Tokenizer) -> list[int]:
    """The numbers of tokens that stand for no text."""
    added = tokenizer.get_added_tokens_decoder()
    special = {number for number, token in added.items() if token.special}
    return sorted(special | {i for i in [tokenizer.token_to_id(UNKNOWN)] if i is not None})
