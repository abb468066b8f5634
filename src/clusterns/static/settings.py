"""Settings of static embeddings, with names from the literature."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clusterns.settings import Settings


class StaticSettings(Settings):
    """How a table of word-piece vectors is learned from text alone."""

    vocabulary_size: int = Field(16_000, ge=100)
    """Word pieces to learn from the corpus (WordPiece, lower-cased)."""
    tokenizer: str = ""
    """Use the tokenizer of this model instead of learning word pieces."""
    window: int = Field(10, ge=1)
    """Two word pieces co-occur if they are at most this many positions apart in a line."""
    context_smoothing: float = Field(0.75, gt=0, le=1)
    """Exponent of the context distribution in PPMI (Levy, Goldberg and Dagan, 2015)."""
    dimensions: int = Field(1024, ge=2)
    """Dimensions of an embedding, in order of variance: truncate_dim keeps the first ones."""
    sif_weight: float = Field(1e-3, gt=0)
    """Weight a piece of frequency p by a / (a + p); this is a (Arora, Liang and Ma, 2017)."""
    whitening_exponent: float = Field(0.375, ge=0, le=1)
    """Divide principal directions by their variance to this power before contrastive training; 0.5 is full
    whitening."""
    final_whitening_exponent: float = Field(0.25, ge=0, le=1)
    """The same after contrastive training."""
    contrast: Literal["auto", "next", "halves", "none"] = "auto"
    """Pairs for contrastive training: a line and the next one, the two halves of a line, or none. It is skipped with
    fewer than 2,000 pairs."""
    contrast_steps: int = Field(600, ge=1)
    """Maximum number of contrastive steps; a small corpus gets fewer, so that no pair is seen more than four times."""
    contrast_batch_size: int = Field(512, ge=2)
    """Pairs per step; the other pairs of a batch are the negatives."""
    contrast_temperature: float = Field(0.05, gt=0)
    """Temperature of the contrastive loss."""
    contrast_learning_rate: float = Field(4e-3, gt=0)
    """Learning rate of the vectors; that of the log token weights is 2.5 times as high."""
