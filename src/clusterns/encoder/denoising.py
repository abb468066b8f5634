"""Template denoising (PromptBERT): what the template alone says is taken from the mask's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor

from clusterns.encoder.bare_template import bare_states, can_shift, dropout_off
from clusterns.encoder.training_only import TrainingOnly
from clusterns.views.prompting import TemplateTokens


class Denoising(TrainingOnly, Module):
    """Subtracts, in training, the mask state of the bare template from that of each row.

    The bare template depends on the length of the sentence alone, and runs once for each length
    that occurs, with gradient. In eval mode this module is the identity.

    It stands right behind the encoder, where the attention mask still is the encoder's.

    Args:
        templates: the fields of the rows' :class:`TemplateTokens`, the model's own template first.
        dropout: run the bare template with dropout, which all rows of a length then share.
    """

    config_keys = ["templates", "dropout"]

    def __init__(self, templates: Sequence[dict[str, Any]], dropout: bool = False) -> None:
        super().__init__()
        self.templates = templates
        self.dropout = dropout
        tokens = [TemplateTokens(**{**each, "ids": tuple(each["ids"])}) for each in templates]
        self.tokens = list({(each.ids, each.slot): each for each in tokens}.values())
        # In a list, so that the encoder's weights are not registered here a second time.
        self._encoder: list[Module] = []
        self.shifted = False

    def on_model_ready(self, model: SentenceTransformer) -> None:
        """Know the encoder of the model that this module belongs to."""
        self._encoder = [model[0]]
        self.shifted = can_shift(model[0], self.tokens[0])

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Subtract while training; the masked copy of masked-LM passes through."""
        if not self.is_on or "masked_lm_labels" in features:
            return features
        (encoder,) = self._encoder
        lengths = features["attention_mask"].sum(1)
        states = features["token_embeddings"]
        for tokens, rows in self._rows_by_template(features):
            distinct, which = (lengths[rows] - len(tokens)).unique(return_inverse=True)
            with nullcontext() if self.dropout else dropout_off(encoder):
                bare = bare_states(encoder, tokens, distinct, shifted=self.shifted)[which]
            # One mask a row: a sentence cannot contain its token.
            columns = (features["input_ids"][rows] == tokens.ids[tokens.mask]).int().argmax(1)
            states = states.index_put((rows, columns), -bare.to(states.dtype), accumulate=True)
        features["token_embeddings"] = states
        return features

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the templates; there are no weights."""
        self.save_config(output_path)

    def _rows_by_template(
        self, features: dict[str, Tensor | Any]
    ) -> Iterable[tuple[TemplateTokens, Tensor]]:
        """Each template that occurs, with the indices of its rows."""
        seen, ids = features["attention_mask"].bool(), features["input_ids"]
        if "special_tokens_mask" not in features:  # of encode: the model's own template
            yield self.tokens[0], torch.arange(len(ids), device=ids.device)
            return
        of_template = features["special_tokens_mask"].bool() & seen
        begun = (seen & ~of_template).cumsum(1) > 0
        before = (of_template & ~begun).sum(1)  # tokens of the template before the sentence
        unknown = torch.ones_like(before, dtype=torch.bool)
        for tokens in self.tokens:
            fits = (before == tokens.slot) | ~begun.any(1)  # one without a sentence fits anywhere
            fits &= unknown & (of_template.sum(1) == len(tokens))
            rows = fits.nonzero().squeeze(1)
            found = ids[rows][of_template[rows]].view(-1, len(tokens))
            rows = rows[(found == found.new_tensor(tokens.ids)).all(1)]
            unknown[rows] = False
            if len(rows):
                yield tokens, rows
        if unknown.any():
            raise ValueError("a row is in none of the templates that this model denoises")
