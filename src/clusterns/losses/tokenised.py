"""Tokenised rows on their way to the encoder: stacked, sorted by length, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Features = Mapping[str, Tensor | Any]


def stack_views(columns: list[Features]) -> dict[str, Any]:
    """Both views as the rows of one input: (2n, length), anchors first.

    One column stands for both: it was tokenised once, and its rows go in twice.
    """
    if len(columns) not in (1, 2):
        raise ValueError(f"expected one or two columns of text, got {len(columns)}")
    first, second = columns[0], columns[-1]
    rows: dict[str, Any] = {}
    for key, value in first.items():
        if not isinstance(value, Tensor) or value.ndim == 0:
            rows[key] = value
            continue
        other = second[key]
        if value.ndim == 2 and value.shape[1] != other.shape[1]:
            width = max(value.shape[1], other.shape[1])
            # Padding that the attention mask hides: its token does not matter.
            value, other = (F.pad(x, (0, width - x.shape[1])) for x in (value, other))
        rows[key] = torch.cat([value, other])
    return rows


def sorted_by_length(rows: Features) -> tuple[dict[str, Any], Tensor]:
    """The rows from short to long, and the indices that put them back."""
    order = rows["attention_mask"].sum(1).argsort(stable=True)
    return _chosen(rows, order), order.argsort()


def mini_batches(rows: Features, size: int) -> Iterator[dict[str, Any]]:
    """The rows from short to long, ``size`` at once, without columns that pad all of them."""
    n, width = rows["attention_mask"].shape
    if size >= n:
        yield dict(rows)
        return
    moved, _ = sorted_by_length(rows)
    for some in torch.arange(n, device=rows["attention_mask"].device).split(size):
        part = _chosen(moved, some)
        end = int(part["attention_mask"].any(0).nonzero().max()) + 1
        yield {
            key: value[:, :end]
            if isinstance(value, Tensor) and value.shape[:2] == (len(some), width)
            else value
            for key, value in part.items()
        }


def _chosen(rows: Features, order: Tensor) -> dict[str, Any]:
    n = len(rows["attention_mask"])
    return {
        key: value[order] if isinstance(value, Tensor) and value.ndim and len(value) == n else value
        for key, value in rows.items()
    }
