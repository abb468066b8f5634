"""Settings of the encoder."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from clusterns.settings import Settings

PoolingMode = Literal["auto", "cls", "mean"]
Average = Literal[
    "cls", "mean", "max", "lasttoken", "first-last-avg", "embedding-last-avg", "embedding-avg"
]
AVERAGES: tuple[str, ...] = get_args(Average)


class EncoderSettings(Settings):
    """Which encoder is trained, and how its states become one vector."""

    base: str | None = None
    """The pretrained encoder: folder, Hub name or minibert. Empty: minibert, inside this package."""
    pooling: PoolingMode = "auto"
    """How a plain encoder is pooled: cls or mean (auto: mean). A SentenceTransformer keeps its own."""
    head: bool | None = None
    """The train-only tanh head. Empty: with cls pooling of a plain encoder, or a template, only."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout of the encoder while it trains. Empty: the base's own. With crops, 0 is faster."""
    train_layers: int | None = Field(None, ge=1)
    """Layers that are trained, from the last; those below and the embeddings are frozen. Empty: all are."""
