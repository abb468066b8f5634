"""Prepare tokenized rows for the encoder: stack, sort by length, split into mini-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from clusterns.views.collator import select_rows, stack_rows

Features = Mapping[str, Tensor | Any]
MINI_BATCH = 64


def stack_views(columns: Sequence[Features], views: int = 2) -> dict[str, Any]:
    """All views as the rows of one input: (views x n, length), anchors first.

    A single column is tokenized once, and its rows are repeated ``views`` times.
    """
    if not columns:
        raise ValueError("expected at least one column of text, got none")
    return stack_rows(columns if len(columns) > 1 else [columns[0]] * views)


def columns_of(inputs: Mapping[str, Any], device: torch.device) -> list[Features]:
    """The tokenized rows of each view, as the trainer passes a collated batch to the loss."""
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
    """The rows from short to long, and the indices that restore their order."""
    order = rows["attention_mask"].sum(1).argsort(stable=True)
    return select_rows(rows, order), order.argsort()


def mini_batches(rows: Features, size: int) -> Iterator[dict[str, Any]]:
    """The rows from short to long, ``size`` at a time, without columns that are all padding."""
    n, width = rows["attention_mask"].shape
    if size >= n:
        yield dict(rows)
        return
    moved, _ = sorted_by_length(rows)
    for chosen in torch.arange(n, device=rows["attention_mask"].device).split(size):
        part = select_rows(moved, chosen)
        end = int(part["attention_mask"].any(0).nonzero().max()) + 1
        yield {
            key: value[:, :end]
            if isinstance(value, Tensor) and value.shape[:2] == (len(chosen), width)
            else value
            for key, value in part.items()
        }


def embed(encoder: Callable[..., Mapping[str, Tensor]], rows: Features) -> Tensor:
    """(n, d) vectors of the rows, computed in mini-batches of similar length."""
    parts = [encoder(part)["sentence_embedding"] for part in mini_batches(rows, MINI_BATCH)]
    return parts[0] if len(parts) == 1 else torch.cat(parts)[sorted_by_length(rows)[1]]
