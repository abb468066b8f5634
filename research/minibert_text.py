"""The text side of make_minibert.py: a WordPiece vocabulary, one long row of tokens, masked windows of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch import Tensor
from transformers import AutoTokenizer, BertTokenizer

VOCABULARY, POSITIONS = 12_288, 128
ALPHABET = 256  # characters; more of them, of other scripts, would take the place of words, two pieces each
CLS, SEP, MASK, FIRST_WORD = 2, 3, 4, 5
MASKED_SHARE = 0.2


def vocabulary(source: Path, start: Path | None, output: Path) -> None:
    """The tokeniser of ``start``, or a new one trained on ``source``, saved in ``output``."""
    if (output / "tokenizer.json").exists():
        return
    if start:
        AutoTokenizer.from_pretrained(start).save_pretrained(output)
        return
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train([str(source)], vocab_size=VOCABULARY, min_frequency=2, limit_alphabet=ALPHABET)
    tokenizer.save_model(str(output))
    BertTokenizer(
        str(output / "vocab.txt"), do_lower_case=True, model_max_length=POSITIONS
    ).save_pretrained(output)


def tokenise(source: Path, tokenizer: Tokenizer, kept: Path) -> np.ndarray:
    """The tokens of all lines as one long row, in the order of the file; ``kept`` on disk."""
    if not kept.exists():
        parts, batch = [], []
        with source.open(encoding="utf-8") as lines:
            for line in lines:
                batch.append(line.strip())
                if len(batch) == 20_000:
                    parts.append(_ids(tokenizer, batch))
                    batch = []
        parts.append(_ids(tokenizer, batch))
        keep(np.concatenate(parts), kept)
    return np.load(kept, mmap_mode="r")


def keep(array: np.ndarray, kept: Path) -> None:
    """Write an array whole or not at all."""
    with kept.with_suffix(".partial").open("wb") as file:
        np.save(file, array)
    kept.with_suffix(".partial").replace(kept)


def _ids(tokenizer: Tokenizer, batch: list[str]) -> np.ndarray:
    rows = [e.ids for e in tokenizer.encode_batch(batch, add_special_tokens=False)]
    return np.fromiter((token for row in rows for token in row), np.uint16)


class Batches:
    """Masked windows of a token row, of these lengths in turn; a pure function of the step."""

    def __init__(
        self,
        tokens: np.ndarray,
        tokenizer: Tokenizer,
        seed: int,
        size: int,
        lengths: Sequence[int] = (64, 128),
    ) -> None:
        self.tokens, self.seed, self.size, self.lengths = tokens, seed, size, lengths
        self.goes_on = np.zeros(VOCABULARY, bool)  # pieces inside a word
        for piece, number in tokenizer.get_vocab().items():
            self.goes_on[number] = piece.startswith("##")
        self.orders = {
            length: np.random.default_rng((seed, length)).permutation(len(tokens) // (length - 2))
            for length in lengths
        }

    def __call__(self, step: int) -> tuple[Tensor, Tensor, Tensor]:
        """Token ids and chosen places ``[rows, length]``, and the chosen places' own tokens."""
        random = np.random.default_rng((self.seed, 0, step))
        turns = len(self.lengths)
        length = self.lengths[step % turns]
        rows = self.size // length
        turn = np.arange(step // turns * rows, (step // turns + 1) * rows)
        starts = np.take(self.orders[length], turn, mode="wrap") * (length - 2)
        ids = np.empty((rows, length), np.int64)
        ids[:, 0], ids[:, -1] = CLS, SEP
        ids[:, 1:-1] = self.tokens[starts[:, None] + np.arange(length - 2)]
        # Whole words: every piece takes the draws of its word's first piece.
        word = np.maximum.accumulate(np.where(self.goes_on[ids], 0, np.arange(length)), axis=1)
        chosen = np.take_along_axis(random.random(ids.shape), word, 1) < MASKED_SHARE
        chosen &= ids >= FIRST_WORD
        fate = np.take_along_axis(random.random(ids.shape), word, 1)
        masked = np.where(fate < 0.8, MASK, ids)
        masked = np.where(fate > 0.9, random.integers(FIRST_WORD, VOCABULARY, ids.shape), masked)
        masked = np.where(chosen, masked, ids)
        return torch.from_numpy(masked), torch.from_numpy(chosen), torch.from_numpy(ids[chosen])
