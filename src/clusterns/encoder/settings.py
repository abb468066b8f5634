"""Encoder settings."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field

from clusterns.settings import Settings

PoolingMode = Literal["auto", "cls", "mean"]
Average = Literal[
    "cls", "mean", "max", "lasttoken", "first-last-avg", "embedding-last-avg", "embedding-avg"
]
AVERAGES: tuple[str, ...] = get_args(Average)
DType = Literal["float32", "float16", "bfloat16"]


class EncoderSettings(Settings):
    """The encoder to train and its pooling."""

    base: str | None = None
    """Pretrained encoder: a folder, a Hub name (owner/name or owner/name@revision) or minibert. Empty: minibert, which
    ships with this package."""
    pooling: PoolingMode = "auto"
    """Pooling of a plain encoder: cls or mean (auto: mean). A SentenceTransformer keeps its own."""
    head: bool | None = None
    """Train with a tanh head, which is not saved with the model. Empty: only with CLS pooling of a
    plain encoder, or with a template."""
    dropout: float | None = Field(None, ge=0, lt=1)
    """Dropout rate during training. Empty: the base's own. With crops, 0 is faster."""
    train_layers: int | None = Field(None, ge=1)
    """Number of layers to train, counted from the last; the layers below and the embeddings are
    frozen. Empty: all."""
