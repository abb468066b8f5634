"""The frame of every loss: InfoNCE over the views of each sentence, and the terms of a method's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.resources import files
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.losses import CachedLossMixin
from torch import Tensor, nn

from clusterns.losses.distributed import add_sequential, get_world_size, no_sync, total
from clusterns.losses.features import MINI_BATCH, Features, sorted_by_length, stack_views
from clusterns.losses.functional import info_nce, mean_in_batch_similarity
from clusterns.losses.masked_lm import MaskedLanguageModelling
from clusterns.losses.part import Batch, Part, Penalty, Rows, combine

SIMCSE = "gao2021simcse"


class ContrastiveLoss(CachedLossMixin, nn.Module):
    """InfoNCE over two views of each sentence (unsupervised SimCSE, Eq. 1), and the terms of ``parts``.

    Inputs: one column of sentences (the positive is the same sentence under another dropout mask),
    or one for each view (anchor, positive, others that a part needs). No labels.

    Args:
        model: the model to train.
        temperature: tau.
        parts: the parts of the method: negatives, penalties and their state.
        views: number of times that a single column of sentences is encoded.
        auxiliary_columns: number of columns after the views that only the parts read.
        mini_batch_size: rows that are encoded at once. The rows are sorted by length
            first, to avoid padding short ones to the longest. None: all rows in one call, or
            64 with the gradient cache.
        gradient_cache: keep the activations of one mini-batch only, at the cost of a second
            forward pass.
        masked_lm: the auxiliary masked-LM objective, or None.
        masked_lm_weight: its weight in the total.
    """

    # From the mixin, which the type checker cannot see.
    forward_cached: Callable[..., Tensor]
    embed_minibatch_iter: Callable[..., Iterator[tuple[Tensor, Any]]]

    def __init__(
        self,
        model: SentenceTransformer,
        temperature: float = 0.05,
        *,
        parts: Sequence[Part] = (),
        views: int = 2,
        auxiliary_columns: int = 0,
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
        self.views = views
        self.auxiliary_columns = auxiliary_columns
        self.in_one_call = mini_batch_size is None and not gradient_cache
        self.mini_batch_size = mini_batch_size or MINI_BATCH
        self.uses_gradient_cache = gradient_cache
        self.masked_lm = masked_lm
        self.masked_lm_weight = masked_lm_weight
        self.components: dict[str, Tensor] = {}
        """The terms of the last loss, by name."""
        self._last: Batch | None = None
        self._views_of_a_row = views
        named = {type(part).__name__: part for part in parts}
        if len(named) < len(parts):
            raise ValueError("a loss cannot have two parts of the same class")
        self.parts: Mapping[str, Part] = nn.ModuleDict(named)  # type: ignore[assignment]

    def forward(
        self, sentence_features: Iterable[Features], labels: Tensor | None = None
    ) -> Tensor:
        """Loss of one batch; ``labels`` are part of the library's interface and are not used."""
        columns = list(sentence_features)
        device = next(value.device for value in columns[0].values() if isinstance(value, Tensor))
        training = torch.is_grad_enabled()
        with torch.no_grad():
            for part in self.parts.values():
                part.to(device).observe(self.model, columns, training)
        rows = self.stacked(columns)
        self._views_of_a_row = self.views_of(columns)
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
        if self.masked_lm is None:
            return loss
        return self._with_masked_lm(loss, self.stacked_for_masked_lm(columns))

    def stacked(self, columns: Sequence[Features]) -> dict[str, Any]:
        """The rows to encode, one view of the batch after another."""
        return stack_views(columns[: len(columns) - self.auxiliary_columns], self.views)

    def stacked_for_masked_lm(self, columns: Sequence[Features]) -> dict[str, Any]:
        """The rows for the masked-LM objective: anchors and positives, as in SimCSE."""
        views = columns[: len(columns) - self.auxiliary_columns]
        return stack_views(views[:2], min(2, self.views))

    def views_of(self, columns: Sequence[Features]) -> int:
        """Number of encoder rows per row of the batch."""
        given = len(columns) - self.auxiliary_columns
        return self.views if given == 1 else given

    def _with_masked_lm(self, loss: Tensor, features: Features) -> Tensor:
        assert self.masked_lm is not None
        size = None if self.in_one_call else self.mini_batch_size
        if not (self.uses_gradient_cache and torch.is_grad_enabled()):
            mlm = self.masked_lm(self.model, features, size)
            both = loss + self.masked_lm_weight * mlm
        else:
            with no_sync(self.model):
                mlm = self.masked_lm(self.model, features, size, recompute=True)
            both = add_sequential(self.model, self.masked_lm_weight * mlm, loss)
        self.components["masked_lm_loss"] = mlm.detach()
        return both

    def calculate_loss(
        self,
        reps: list[list[Tensor]],
        labels: Tensor | None = None,
        *,
        with_backward: bool = False,
    ) -> Tensor:
        """Loss from the embedded mini-batches; ``labels`` restores the order of sorted rows."""
        rows = torch.cat(reps[0])
        # Cosines and centroids need full precision, whatever the precision of the encoder.
        with _full_precision(rows.device):
            rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
            views = (rows if labels is None else rows[labels]).chunk(self._views_of_a_row)
            batch = Batch.of(*views)
            self._last = batch.detached()
            loss = self.compare(batch)
            if with_backward:
                loss.backward()
                loss = loss.detach()
        return loss

    def compare(self, batch: Batch) -> Tensor:
        """The objective (scalar) over this process's rows: InfoNCE once, and all penalties."""
        found = [part.terms(batch, torch.is_grad_enabled()) for part in self.parts.values()]
        active = [terms_of for terms_of in found if terms_of is not None]
        penalties: Sequence[Penalty] = ()

        def compare_rows(rows: Rows) -> tuple[Tensor, ...]:
            nonlocal penalties
            terms = [terms_of(rows) for terms_of in active]
            penalties = [penalty for each in terms for penalty in each.penalties]
            values = [value for each in penalties for value in (each.sums, each.counts)]
            losses = info_nce(rows.similarities, rows.index, self.temperature, **combine(terms))
            return losses, *values

        contrastive, *values = batch.in_chunks(compare_rows, self._n_negatives())
        loss = contrastive.mean()
        self.components = {"contrastive_loss": loss.detach()}
        for i, penalty in enumerate(penalties):
            sums, counts = values[2 * i : 2 * i + 2]
            # Scaled so that the mean over the processes is the mean over all values.
            mean = sums.sum() * get_world_size() / total(counts.sum()).clamp(min=1)
            self.components[penalty.name] = mean.detach()
            loss = loss + penalty.weight * mean
        return loss

    def _n_negatives(self) -> int:
        return sum(part.n_negatives for part in self.parts.values())

    def pop_events(self) -> list[str]:
        """The parts' events since the last call."""
        events = [event for part in self.parts.values() for event in part.events]
        for part in self.parts.values():
            part.events.clear()
        return events

    def summary(self) -> dict[str, Any]:
        """Facts about the parts for the results of a run."""
        return {key: value for part in self.parts.values() for key, value in part.summary().items()}

    def warnings(self) -> list[str]:
        """Warnings for the user at the end of a run."""
        return [text for part in self.parts.values() if (text := part.warning())]

    @torch.no_grad()
    def diagnostics(self) -> dict[str, float]:
        """The paper's curves for the last batch, computed on request, never in the step itself."""
        if self._last is None:
            return {}
        values: dict[str, Any] = dict(self.components)
        if len(self._last.all_views) > 1:
            anchors, positives = self._last.all_anchors, self._last.all_positives
            values["positive_similarity"] = F.cosine_similarity(anchors, positives).mean()
            values["negative_similarity"] = mean_in_batch_similarity(anchors, positives)
            values.update(self._negative_share(self._last))
        for part in self.parts.values():
            values.update(part.diagnostics(self._last))
        # One synchronization with the device rather than one per value.
        device = self._last.anchors.device
        numbers = torch.stack([torch.as_tensor(v, device=device).float() for v in values.values()])
        return dict(zip(values, numbers.tolist(), strict=True))

    def _negative_share(self, batch: Batch) -> dict[str, Tensor]:
        """Mean share of the extra negatives in the denominator; near zero, they have no effect."""
        found = [part.terms(batch, False) for part in self.parts.values()]
        active = [terms_of for terms_of in found if terms_of is not None]

        def share(rows: Rows) -> tuple[Tensor, ...]:
            terms = combine([terms_of(rows) for terms_of in active])
            if terms["negatives"] is None:
                return (torch.full_like(rows.anchors[:, 0], torch.nan),)
            without = {**terms, "negatives": None, "negative_weights": None}
            losses = [
                info_nce(rows.similarities, rows.index, self.temperature, **each)
                for each in (terms, without)
            ]
            return (-torch.expm1(losses[1] - losses[0]),)

        (shares,) = batch.in_chunks(share, self._n_negatives())
        mean = shares.mean()
        return {} if bool(mean.isnan()) else {"hard_negative_share": mean}

    def get_config_dict(self) -> dict[str, Any]:
        """Settings for the model card."""
        config: dict[str, Any] = {"temperature": self.temperature}
        if self.masked_lm is not None:
            config["masked_lm_weight"] = self.masked_lm_weight
            config["masked_lm_probability"] = self.masked_lm.probability
        for part in self.parts.values():
            config.update(part.settings.model_dump())
        return config

    @property
    def citation(self) -> str:
        """BibTeX for the model card."""
        known = (files("clusterns.losses") / "citations.bib").read_text("utf-8").split("\n\n")
        cited = [part.citation for part in self.parts.values() if part.citation] or [SIMCSE]
        return "\n".join(
            next((entry for entry in known if f"{{{one}," in entry), one) for one in cited
        )


def _full_precision(device: torch.device) -> AbstractContextManager[Any]:
    """Within the block, an enclosing autocast does not run operations in half precision."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return nullcontext()
