"""The frame of every contrastive loss here: two views of each sentence, compared by InfoNCE."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.losses import CachedLossMixin
from torch import Tensor, nn

from clusterns.losses.batch import Batch
from clusterns.losses.distributed import sum_in_turn, unaveraged
from clusterns.losses.functional import info_nce, mean_in_batch_similarity
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.losses.tokenised import Features, sorted_by_length, stack_views

DEFAULT_MINI_BATCH = 64


class ContrastiveLoss(CachedLossMixin, nn.Module):
    """InfoNCE over two views of each sentence: unsupervised SimCSE (Eq. 1).

    Inputs: one column of sentences (the positive is the same sentence under another dropout mask),
    or two columns (anchor, positive). No labels.

    Args:
        model: the model to train.
        temperature: tau.
        mini_batch_size: rows that go through the encoder at once. The rows are sorted by length
            first, so that short ones are not padded to the longest. None: all rows in one call, or
            64 with the gradient cache.
        gradient_cache: keep the activations of one mini-batch only, at the price of a second
            forward pass.
        masked_lm: the auxiliary masked-LM objective, or None.
        masked_lm_weight: its weight in the total.
    """

    # Of the mixin, which the type checker does not see.
    forward_cached: Callable[..., Tensor]
    embed_minibatch_iter: Callable[..., Iterator[tuple[Tensor, Any]]]

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        *,
        mini_batch_size: int | None = None,
        gradient_cache: bool = False,
        masked_lm: MaskedLanguageModelling | None = None,
        masked_lm_weight: float = 0.1,
    ) -> None:
        super().__init__()
        if temperature <= 0:
            raise ValueError(f"temperature must be above 0, got {temperature}")
        self.model = model
        self.temperature = temperature
        self.in_one_call = mini_batch_size is None and not gradient_cache
        self.mini_batch_size = mini_batch_size or DEFAULT_MINI_BATCH
        self.uses_gradient_cache = gradient_cache
        self.masked_lm = masked_lm
        self.masked_lm_weight = masked_lm_weight
        self.parts: dict[str, Tensor] = {}
        self._last: tuple[Tensor, Tensor] | None = None

    def forward(
        self, sentence_features: Iterable[Features], labels: Tensor | None = None
    ) -> Tensor:
        """Loss of one batch; ``labels`` is part of the loss contract and not used."""
        columns = list(sentence_features)
        rows = stack_views(columns)
        if self.in_one_call:
            loss = self.calculate_loss([[self.model(rows)["sentence_embedding"]]])
        else:
            rows, back = sorted_by_length(rows)
            if self.uses_gradient_cache:
                loss = self.forward_cached([rows], back)
            else:
                embedded = self.embed_minibatch_iter(
                    rows, with_grad=torch.is_grad_enabled(), copy_random_state=False
                )
                loss = self.calculate_loss([[vectors for vectors, _ in embedded]], back)
        return loss if self.masked_lm is None else self._with_masked_lm(loss, columns[0])

    def _with_masked_lm(self, loss: Tensor, features: Features) -> Tensor:
        assert self.masked_lm is not None
        size = None if self.in_one_call else self.mini_batch_size
        if not (self.uses_gradient_cache and torch.is_grad_enabled()):
            mlm = self.masked_lm(self.model, features, size)
            total = loss + self.masked_lm_weight * mlm
        else:
            with unaveraged(self.model):
                mlm = self.masked_lm(self.model, features, size, recompute=True)
            total = sum_in_turn(self.model, self.masked_lm_weight * mlm, loss)
        self.parts["masked_lm_loss"] = mlm.detach()
        return total

    def calculate_loss(
        self,
        reps: list[list[Tensor]],
        labels: Tensor | None = None,
        *,
        with_backward: bool = False,
    ) -> Tensor:
        """Loss from the embedded mini-batches; ``labels`` puts sorted rows back in their order."""
        rows = torch.cat(reps[0])
        anchors, positives = (rows if labels is None else rows[labels]).chunk(2)
        batch = Batch.of(anchors, positives)
        self._last = batch.all_anchors.detach(), batch.all_positives.detach()
        loss = self.compare(batch)
        if with_backward:
            loss.backward()
            loss = loss.detach()
        return loss

    def compare(self, batch: Batch) -> Tensor:
        """The contrastive objective (scalar) over this process's rows."""
        (losses,) = batch.by_rows(
            lambda rows: (info_nce(rows.similarities(), rows.targets, self.temperature),)
        )
        loss = losses.mean()
        self.parts["contrastive_loss"] = loss.detach()
        return loss

    @torch.no_grad()
    def diagnostics(self) -> dict[str, float]:
        """The paper's curves for the last batch, computed when asked, never in the step itself."""
        if self._last is None:
            return {}
        anchors, positives = (vectors.float() for vectors in self._last)
        values = {
            **self.parts,
            "positive_similarity": F.cosine_similarity(anchors, positives).mean(),
            "negative_similarity": mean_in_batch_similarity(anchors, positives),
        }
        return {name: float(value) for name, value in values.items()}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        config: dict[str, Any] = {"temperature": self.temperature}
        if self.masked_lm is not None:
            config["masked_lm_weight"] = self.masked_lm_weight
            config["masked_lm_probability"] = self.masked_lm.probability
        return config

    @property
    def citation(self) -> str:
        """BibTeX for the model card."""
        return """
@inproceedings{gao2021simcse,
    title = "{SimCSE}: Simple Contrastive Learning of Sentence Embeddings",
    author = "Gao, Tianyu and Yao, Xingcheng and Chen, Danqi",
    booktitle = "Proceedings of EMNLP",
    year = "2021"
}
"""
