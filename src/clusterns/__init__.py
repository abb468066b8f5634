"""Train sentence embeddings from plain text, without labels."""

from __future__ import annotations

import ast
import os
from importlib import import_module
from pathlib import Path
from typing import Any

# On a busy machine, threads that spin while waiting for each other waste most of the time. The OpenMP runtime
# reads this once, when torch is loaded.
if "GOMP_SPINCOUNT" not in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

# The module that defines each public name, read from the stub next to this file; imported on first use.
_HOMES = {
    alias.name: str(node.module)
    for node in ast.parse(Path(__file__).with_suffix(".pyi").read_text("utf-8")).body
    if isinstance(node, ast.ImportFrom)
    for alias in node.names
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # Lazily: the command line must not wait for torch.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'clusterns' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
