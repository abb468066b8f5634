"""A queue of earlier sentences as negatives, embedded by a momentum encoder (ESimCSE)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.encoder.training_modules import TrainingModule, training_modules_active
from clusterns.losses.distributed import gather
from clusterns.losses.features import Features, embed
from clusterns.losses.part import Batch, Part, Terms, TermsOf
from clusterns.methods.esimcse import QueueSettings


class MomentumQueue(Part):
    """Extra negatives: the anchors of earlier batches, embedded by a slower copy of the model.

    A batch is added to the queue after the comparison, so it is never compared with itself. The momentum
    encoder is updated before it embeds, and runs without dropout and gradient. The train-only head
    after it is the model's own.

    Args:
        settings: the settings.
        model: the model being trained; the momentum encoder starts as a copy of it.
        size: length of the queue.
    """

    settings: QueueSettings
    vectors: Tensor
    """(size, d); the last ``length`` rows are filled, the newest at the end."""
    counters = ("length",)
    citation = "wu2022esimcse"

    def __init__(self, settings: QueueSettings, model: SentenceTransformer, size: int) -> None:
        super().__init__(settings)
        self.encoder = copy.deepcopy(model).requires_grad_(False).eval()
        self.length = 0
        self.register_buffer("vectors", torch.zeros(size, model.get_embedding_dimension() or 0))
        self._embedded: Tensor | None = None

    def observe(self, model: Any, columns: Sequence[Features], training: bool) -> None:
        """Move the momentum encoder towards the model, then embed the anchors through the model's own head."""
        if not training:
            return
        encoder = self.encoder.eval()
        momentum = self.settings.queue_momentum
        in_head = {id(p) for m in encoder for p in m.parameters() if isinstance(m, TrainingModule)}
        for slow, fast in zip(encoder.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast.to(slow), 1.0 if id(slow) in in_head else 1 - momentum)
        with training_modules_active(encoder):
            self._embedded = embed(encoder, columns[0])

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        """Compare with the current queue, then append this batch."""
        before = F.normalize(self.queue(), dim=-1)
        if training:
            assert self._embedded is not None
            self.push(gather(self._embedded))
            self._embedded = None
        self.n_negatives = len(before)
        if not self.n_negatives:
            return None
        return lambda rows: Terms(negatives=rows.anchors @ before.to(rows.anchors).T)

    def queue(self) -> Tensor:
        """A copy of the (length, d) vectors in the queue, the oldest first."""
        return self.vectors[len(self.vectors) - self.length :].clone()

    def push(self, vectors: Tensor) -> None:
        """Append (n, d) vectors and drop the oldest ones."""
        size = len(self.vectors)
        self.vectors.copy_(torch.cat([self.vectors, vectors.to(self.vectors)])[-size:])
        self.length = min(size, self.length + len(vectors))

    @torch.no_grad()
    def diagnostics(self, batch: Batch) -> dict[str, Tensor | float]:
        """Mean similarity to the queue, which contains the last batch itself."""
        if not self.length:
            return {}
        mean = F.normalize(self.queue(), dim=-1).mean(0)
        anchors = F.normalize(batch.all_anchors, dim=-1).to(mean)
        return {"queue_similarity": (anchors @ mean).mean(), "queue_length": self.length}
