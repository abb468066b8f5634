"""Sentences to the tokenised views of a training batch."""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from typing import Any, Literal

from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator


@dataclass
class ViewCollator(SentenceTransformerDataCollator):
    """Tokenise rows ``{"text": ...}`` as one view (dropout makes the other) or as two.

    A crop is a function of (seed, epoch, sentence), not of a running generator: batches are
    collated ahead of the step, so a running state could not be restored with a checkpoint.
    """

    positives: Literal["dropout", "crop"] = "dropout"
    crop_min: float = 0.3
    seed: int = 42
    epoch: int = 0

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Tokenise a batch of rows."""
        return super().__call__([self._views(row["text"]) for row in features])

    def _views(self, text: str) -> dict[str, str]:
        if self.positives == "crop":
            return self._cropped(text)
        if isinstance(self.prompts, dict) and "positive" in self.prompts:
            # Each view has a prompt of its own, so one tokenised text cannot stand for both.
            return {"anchor": text, "positive": text}
        return {"anchor": text}

    def _cropped(self, text: str) -> dict[str, str]:
        generator = random.Random(f"{self.seed} {self.epoch} {zlib.crc32(text.encode())}")
        return {view: crop(text, self.crop_min, generator) for view in ("anchor", "positive")}


def crop(text: str, shortest: float, generator: random.Random) -> str:
    """A random run of the words of ``text``, at least ``shortest`` of them (a share), never none."""
    words, blank = words_of(text)
    least = max(1, round(shortest * len(words)))
    length = generator.randint(least, len(words))
    start = generator.randint(0, len(words) - length)
    return blank.join(words[start : start + length])


def words_of(text: str) -> tuple[list[str], str]:
    """The words of a text and what stands between them; the characters where a script has no blanks."""
    words = text.split()
    return (words, " ") if len(words) > 1 else (list(text.strip()), "")
