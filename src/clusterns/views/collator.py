"""The collator: turns rows of text into the tokenized views of a training batch."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from torch import Tensor

from clusterns.views.template import Template
from clusterns.views.view import View

# Columns of a row of two texts, in the order of the views.
PAIR = ("anchor", "positive")
Features = dict[str, Any]


@dataclass(frozen=True)
class _Sample:
    """A view of one sentence, before it is tokenized."""

    text: str
    template: Template | None
    seed: str


@dataclass
class ViewCollator(SentenceTransformerDataCollator):
    """Tokenize rows ``{"text": ...}``, or rows of two texts, into one column per view.

    In a row of two texts, views after the first two are views of its anchor. If all views are
    equal and fixed, only one is tokenized: dropout makes them differ.

    Random views are a function of (seed, epoch, sentence). Batches are collated ahead of the step, so
    the state of a generator could not be restored from a checkpoint.
    """

    views: tuple[View, ...] = (View(), View())
    max_tokens: int | None = None
    """Maximum number of tokens that the encoder can read. A token step that would exceed it is skipped."""
    seed: int = 42
    epoch: int = 0

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Tokenize a batch of rows."""
        views = self.views
        if "text" in features[0] and len(set(views)) == 1 and views[0].is_fixed:
            views = views[:1]
        rows = [self._sample(row, views) for row in features]
        batch: dict[str, Any] = {}
        for i, view in enumerate(views):
            name = PAIR[i] if i < len(PAIR) else f"view{i + 1}"
            column = self._column(view, [samples[i] for samples in rows], i)
            batch.update({f"{name}_{key}": value for key, value in column.items()})
        return batch

    def _sample(self, row: Mapping[str, Any], views: Sequence[View]) -> list[_Sample]:
        """Draw the text and the template of each view of a row."""
        sources = [row["text"]] if "text" in row else [row[name] for name in PAIR]
        seed = f"{self.seed} {self.epoch} {zlib.crc32(chr(10).join(sources).encode())}"
        generator = random.Random(seed)
        samples = []
        for i, view in enumerate(views):
            text = sources[i] if i < len(sources) else sources[0]
            if view.text is not None:
                text = view.text(text, generator)
            template = view.templates[0] if view.templates else None
            if len(view.templates) > 1:
                template = generator.choice(view.templates)
            samples.append(_Sample(text, template, seed))
        return samples

    def _column(self, view: View, samples: list[_Sample], index: int) -> Features:
        """Tokenize one view of all rows."""
        parts, rows = [], []
        for template in dict.fromkeys(sample.template for sample in samples):
            chosen = [i for i, sample in enumerate(samples) if sample.template == template]
            parts.append(self._tokenize(view, [samples[i].text for i in chosen], template))
            rows += chosen
        column = select_rows(stack_rows(parts), torch.tensor(rows).argsort())
        special = column.pop("special_tokens_mask", None)
        if view.tokens is None:
            return column
        orders = []
        for sample, seen, is_special in zip(
            samples, column["attention_mask"], special, strict=True
        ):
            positions = seen.nonzero().squeeze(1).tolist()
            sentence = [i for i, position in enumerate(positions) if not is_special[position]]
            generator = random.Random(f"{sample.seed} tokens {index}")
            order = view.tokens(len(positions), sentence, generator)
            fits = self.max_tokens is None or len(order) <= self.max_tokens
            orders.append([positions[i] for i in order] if fits else positions)
        return _reorder(column, orders)

    def _tokenize(self, view: View, texts: list[str], template: Template | None) -> Features:
        preprocess = view.preprocess or self.preprocess_fn
        prompt = view.prompt if view.preprocess else self.prompts
        options: dict[str, Any] = {"prompt": prompt or None, "task": None}
        if template is not None:
            options["prompt"] = template.text
        if self.max_length is not None:
            options["max_length"] = self.max_length
        if view.tokens is not None:
            options["processing_kwargs"] = {"text": {"return_special_tokens_mask": True}}
        return dict(preprocess(texts, **options))


def _reorder(column: Features, orders: list[list[int]]) -> Features:
    """Gather the positions in ``orders``; the attention mask hides the padding."""
    width = max(map(len, orders))
    index = torch.tensor([order + [0] * (width - len(order)) for order in orders])
    kept = torch.tensor([[1] * len(order) + [0] * (width - len(order)) for order in orders])
    shape = column["attention_mask"].shape
    return {
        key: value.gather(1, index) * kept
        if isinstance(value, Tensor) and value.shape == shape
        else value
        for key, value in column.items()
    }


def stack_rows(columns: Sequence[Mapping[str, Any]]) -> Features:
    """Concatenate columns of tokenized rows, padded to one width; the attention mask hides the padding."""
    rows: Features = dict(columns[0])
    for key, first in columns[0].items():
        if isinstance(first, Tensor) and first.ndim:
            values = [column[key] for column in columns]
            if first.ndim == 2:
                width = max(value.shape[1] for value in values)
                values = [F.pad(value, (0, width - value.shape[1])) for value in values]
            rows[key] = torch.cat(values)
    return rows


def select_rows(rows: Mapping[str, Any], order: Tensor) -> Features:
    """Select or reorder tokenized rows."""
    n = len(rows["attention_mask"])
    return {
        key: value[order] if isinstance(value, Tensor) and value.ndim and len(value) == n else value
        for key, value in rows.items()
    }
