"""Tokenised rows on their way to the encoder: stacked, sorted by length, a few at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Features = Mapping[str, Tensor | Any]


def stack_views(columns: Sequence[Features], views: int = 2) -> dict[str, Any]:
    """All views as the rows of one input: (views x n, length), anchors first.

    One column stands for ``views`` of them: it was tokenised once, and its rows go in as often.
    """
    if not columns:
        raise ValueError("expected at least one column of text, got none")
    if len(columns) == 1:
        columns = [columns[0]] * views
    rows: dict[str, Any] = {}
    for key, value in columns[0].items():
        if not isinstance(value, Tensor) or value.ndim == 0:
            rows[key] = value
            continue
        values = [column[key] for column in columns]
        if value.ndim == 2:
            width = max(each.shape[1] for each in values)
            # Padding that the attention mask hides: its token does not matter.
            values = [F.pad(each, (0, width - each.shape[1])) for each in values]
        rows[key] = torch.cat(values)
    return rows


def columns_of(inputs: Mapping[str, Any], device: torch.device) -> list[Features]:
    """The tokenised rows of each view, as the trainer hands a collated batch to the loss."""
    names = [key.removesuffix("input_ids") for key in inputs if key.endswith("_input_ids")]
    return [
        {
            key.removeprefix(name): value.to(device) if isinstance(value, Tensor) else value
            for key, value in inputs.items()
            if key.startswith(name)
        }
        for name in names
    ]


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
