"""Template denoising (PromptBERT): what the template alone says is taken from the mask's state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Module
from torch import Tensor

from clusterns.views import TemplateTokens


class Denoising(Module):
    """Subtracts, in training, the mask state of the bare template from that of each row.

    The bare template is a row whose sentence nobody attends to: the tokens after the slot keep the
    positions that they have in the row. It depends on the sentence's length alone, and runs once
    for each length that occurs, with gradient. In eval mode this module is the identity.

    It stands right behind the encoder, where the attention mask still is the encoder's.

    Args:
        templates: the fields of the rows' :class:`TemplateTokens`, the model's own template first.
    """

    config_keys = ["templates"]
    always_on = False

    def __init__(self, templates: Sequence[dict[str, Any]]) -> None:
        super().__init__()
        self.templates = templates
        tokens = [TemplateTokens(**{**each, "ids": tuple(each["ids"])}) for each in templates]
        self.tokens = list({each.ids: each for each in tokens}.values())
        # In a list, so that the encoder's weights are not registered here a second time.
        self._encoder: list[Module] = []

    def on_model_ready(self, model: SentenceTransformer) -> None:
        """Know the encoder of the model that this module belongs to."""
        self._encoder = [model[0]]

    def forward(self, features: dict[str, Tensor | Any]) -> dict[str, Tensor | Any]:
        """Subtract while training; the masked copy of masked-LM passes through."""
        if not (self.training or self.always_on) or "masked_lm_labels" in features:
            return features
        lengths = features["attention_mask"].sum(1)
        states = features["token_embeddings"]
        for tokens, rows in self._rows_by_template(features):
            distinct, which = (lengths[rows] - len(tokens)).unique(return_inverse=True)
            bare = self.bare_states(tokens, distinct)[which]
            # One mask a row: a sentence cannot contain its token.
            columns = (features["input_ids"][rows] == tokens.ids[tokens.mask]).int().argmax(1)
            states = states.index_put((rows, columns), -bare.to(states.dtype), accumulate=True)
        features["token_embeddings"] = states
        return features

    def bare_states(self, tokens: TemplateTokens, lengths: Tensor) -> Tensor:
        """(m, d) mask states of a template around unseen sentences of ``lengths`` (m,) tokens."""
        ids = torch.tensor(tokens.ids, device=lengths.device).expand(len(lengths), -1)
        index = torch.arange(len(tokens), device=lengths.device)
        columns = index + lengths[:, None] * (index >= tokens.slot)
        shape = len(lengths), len(tokens) + int(lengths.max())
        # What fills the slot is hidden; it is not padding, which some encoders do not count.
        filler = ids.new_full(shape, tokens.ids[tokens.mask])
        features = {
            "input_ids": filler.scatter(1, columns, ids),
            "attention_mask": torch.zeros_like(filler).scatter(1, columns, 1),
        }
        (encoder,) = self._encoder
        states: Tensor = encoder(features)["token_embeddings"]
        return states[torch.arange(len(lengths), device=lengths.device), columns[:, tokens.mask]]

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the templates; there are no weights."""
        self.save_config(output_path)

    def _rows_by_template(
        self, features: dict[str, Tensor | Any]
    ) -> Iterable[tuple[TemplateTokens, Tensor]]:
        """Each template with the indices of its rows."""
        seen, ids = features["attention_mask"].bool(), features["input_ids"]
        if "special_tokens_mask" not in features:  # of encode: the model's own template
            yield self.tokens[0], torch.arange(len(ids), device=ids.device)
            return
        of_template = features["special_tokens_mask"].bool() & seen
        for tokens in self.tokens:
            rows = (of_template.sum(1) == len(tokens)).nonzero().squeeze(1)
            found = ids[rows][of_template[rows]].view(-1, len(tokens))
            rows = rows[(found == found.new_tensor(tokens.ids)).all(1)]
            if len(rows):
                yield tokens, rows
