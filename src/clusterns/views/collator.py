"""Sentences to the tokenised views of a training batch."""

from __future__ import annotations

import random
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.sentence_transformer.data_collator import SentenceTransformerDataCollator
from torch import Tensor

from clusterns.views.template import Template
from clusterns.views.view import View

# Columns of a row of different texts, in the order of the views.
PAIR = ("anchor", "positive")
Features = dict[str, Any]


@dataclass
class ViewCollator(SentenceTransformerDataCollator):
    """Tokenise rows ``{"text": ...}``, or rows of different texts, as a column for each view.

    Of a row of two texts, views behind the first two are views of its anchor.

    Views that are all alike and fixed are tokenised once: dropout makes the difference.

    What is random in a view is a function of (seed, epoch, sentence), not of a running generator:
    batches are collated ahead of the step, so a running state could not be restored with a
    checkpoint.
    """

    views: tuple[View, ...] = (View(), View())
    longest: int | None = None
    """Tokens that the encoder can read: a token step that would make a row longer is left out."""
    seed: int = 42
    epoch: int = 0

    def __call__(self, features: list[dict[str, Any]]) -> dict[str, Any]:
        """Tokenise a batch of rows."""
        views = self.views
        if "text" in features[0] and len(set(views)) == 1 and views[0].is_fixed:
            views = views[:1]
        drawn = [self._drawn(row, views) for row in features]
        batch: dict[str, Any] = {}
        for place, view in enumerate(views):
            name = PAIR[place] if place < len(PAIR) else f"view{place + 1}"
            column = self._column(view, [row[place] for row in drawn], place)
            batch.update({f"{name}_{key}": value for key, value in column.items()})
        return batch

    def _drawn(self, row: Mapping[str, Any], views: Sequence[View]) -> list[_Drawn]:
        """The text and the template of each view of a row."""
        sources = [row["text"]] if "text" in row else [row[name] for name in PAIR]
        key = f"{self.seed} {self.epoch} {zlib.crc32(chr(10).join(sources).encode())}"
        generator = random.Random(key)
        drawn = []
        for place, view in enumerate(views):
            text = sources[place] if place < len(sources) else sources[0]
            if view.text is not None:
                text = view.text(text, generator)
            template = view.templates[0] if view.templates else None
            if len(view.templates) > 1:
                template = generator.choice(view.templates)
            drawn.append(_Drawn(text, template, key))
        return drawn

    def _column(self, view: View, rows: list[_Drawn], place: int) -> Features:
        """The tokenised rows of one view."""
        templates = list(dict.fromkeys(row.template for row in rows))
        parts, order = [], []
        for template in templates:
            chosen = [i for i, row in enumerate(rows) if row.template == template]
            parts.append(self._tokenised(view, [rows[i].text for i in chosen], template))
            order += chosen
        column = parts[0] if len(parts) == 1 else _below_each_other(parts, order)
        if view.tokens is None:
            return column
        special = column["special_tokens_mask"]
        if not view.templates:
            del column["special_tokens_mask"]
        orders = []
        for i, row in enumerate(rows):
            generator = random.Random(f"{row.key} tokens {place}")
            orders.append(
                _order(view, column["attention_mask"][i], special[i], generator, self.longest)
            )
        return _reordered(column, orders)

    def _tokenised(self, view: View, texts: list[str], template: Template | None) -> Features:
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


@dataclass(frozen=True)
class _Drawn:
    """What became of a sentence before it is tokenised."""

    text: str
    template: Template | None
    key: str
    """Seed of what its token step draws."""


def _order(
    view: View, seen: Tensor, special: Tensor, generator: random.Random, longest: int | None
) -> list[int]:
    """The places of a padded row that its token step makes the new row of."""
    assert view.tokens is not None
    places: list[int] = seen.nonzero().squeeze(1).tolist()
    sentence = [i for i, place in enumerate(places) if not special[place]]
    order = view.tokens(len(places), sentence, generator)
    if longest is not None and len(order) > longest:
        return places
    return [places[i] for i in order]


def _reordered(column: Features, orders: list[list[int]]) -> Features:
    """Rows of the places that ``orders`` names, padded with what the attention mask hides."""
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


def _below_each_other(parts: list[Features], order: list[int]) -> Features:
    """Rows that were tokenised in groups, padded to one width and put into their ``order``."""
    width = max(part["attention_mask"].shape[1] for part in parts)
    back = torch.tensor(order).argsort()
    joined: Features = {}
    for key, first in parts[0].items():
        joined[key] = first
        if isinstance(first, Tensor) and first.ndim:
            values = [
                torch.nn.functional.pad(part[key], (0, width - part[key].shape[1]))
                if first.ndim == 2
                else part[key]
                for part in parts
            ]
            joined[key] = torch.cat(values)[back]
    return joined
