"""Train sentence embeddings from plain text, without labels."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clusterns.encoder import load_base as load_base
    from clusterns.losses import ClusterNSLoss as ClusterNSLoss
    from clusterns.losses import ContrastiveLoss as ContrastiveLoss

_HOMES = {
    "ClusterNSLoss": "clusterns.losses",
    "ContrastiveLoss": "clusterns.losses",
    "load_base": "clusterns.encoder",
}
__all__ = ["ClusterNSLoss", "ContrastiveLoss", "load_base"]


def __getattr__(name: str) -> Any:
    # On first use: the command line must not wait for torch to say what it can do.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'clusterns' has no attribute {name!r}")
