"""A queue of earlier sentences as negatives, embedded by a momentum encoder (ESimCSE)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn

from clusterns.encoder.training_modules import TrainingModule, training_modules_active
from clusterns.losses.batch import Batch, Rows
from clusterns.losses.distributed import gather
from clusterns.losses.part import Part, Terms, TermsOf
from clusterns.losses.tokenised import Features, mini_batches

AT_ONCE = 64


class Queue(nn.Module):
    """The newest vectors, up to ``size`` of them; the first of them is the oldest."""

    vectors: Tensor

    def __init__(self, size: int, dimension: int) -> None:
        super().__init__()
        self.length = 0
        self.register_buffer("vectors", torch.zeros(size, dimension, dtype=torch.float32))

    def __len__(self) -> int:
        return self.length

    def snapshot(self) -> Tensor:
        """The (length, d) vectors as they are now, which no later step changes."""
        return self.vectors[len(self.vectors) - self.length :].clone()

    def push(self, vectors: Tensor) -> None:
        """Take in the (n, d) newest vectors; the oldest go."""
        size = len(self.vectors)
        self.vectors.copy_(torch.cat([self.vectors, vectors.to(self.vectors)])[-size:])
        self.length = min(size, self.length + len(vectors))

    def get_extra_state(self) -> Tensor:
        """The length."""
        return torch.tensor([self.length])

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the length."""
        (self.length,) = state.tolist()


class MomentumQueue(Part):
    """Extra negatives: the anchors of earlier batches, as a slower copy of the model sees them.

    A batch joins the queue after it has been compared, so it never meets itself. The momentum
    encoder follows before it embeds, and runs without dropout and gradient; the train-only head
    behind it is the model's own.

    Args:
        model: the model that is trained; the momentum encoder starts as a copy of it.
        size: length of the queue.
        momentum: share of its own weights that the momentum encoder keeps in a step.
    """

    citation = """
@inproceedings{wu2022esimcse,
    title = "{ESimCSE}: Enhanced Sample Building Method for Contrastive Learning of Unsupervised Sentence Embedding",
    author = "Wu, Xing and Gao, Chaochen and Zang, Liangjun and Han, Jizhong and Wang, Zhongyuan and Hu, Songlin",
    booktitle = "Proceedings of COLING",
    year = "2022"
}
"""

    def __init__(self, model: SentenceTransformer, size: int, momentum: float = 0.995) -> None:
        super().__init__()
        dimension = model.get_embedding_dimension()
        assert dimension is not None
        self.queue = Queue(size, dimension)
        self.encoder = copy.deepcopy(model).requires_grad_(False).eval()
        self.momentum = momentum
        self.state = {"queue": self.queue, "momentum_encoder": self.encoder}
        self._seen: Tensor | None = None

    @property
    def columns(self) -> int:  # type: ignore[override]
        """Negatives that the queue holds."""
        return len(self.queue)

    def see(self, model: Any, columns: Sequence[Features], learn: bool) -> None:
        """Move the momentum encoder towards the model, then embed the anchors through the model's own head."""
        if not learn:
            return
        encoder = self.encoder.eval()
        in_head = {id(p) for m in encoder for p in m.parameters() if isinstance(m, TrainingModule)}
        for slow, fast in zip(encoder.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast.to(slow), 1.0 if id(slow) in in_head else 1 - self.momentum)
        rows = dict(columns[0])
        order = rows["attention_mask"].sum(1).argsort(stable=True).argsort()
        with training_modules_active(encoder):
            found = [encoder(part)["sentence_embedding"] for part in mini_batches(rows, AT_ONCE)]
        vectors = torch.cat(found)
        self._seen = vectors[order] if len(found) > 1 else vectors

    def follow(self, batch: Batch, learn: bool) -> TermsOf | None:
        """Compare with the queue as it is, and put this batch behind it."""
        before = F.normalize(self.queue.snapshot(), dim=-1)
        if learn:
            assert self._seen is not None
            self.queue.push(gather(self._seen))
            self._seen = None
        if not len(before):
            return None

        def terms(rows: Rows) -> Terms:
            return Terms(negatives=rows.anchors @ before.to(rows.anchors).T)

        return terms

    @torch.no_grad()
    def diagnostics(self, batch: Batch) -> dict[str, Tensor | float]:
        """How near the queue is; the last batch itself is in it."""
        if not len(self.queue):
            return {}
        mean = F.normalize(self.queue.snapshot(), dim=-1).mean(0)
        anchors = F.normalize(batch.all_anchors, dim=-1).to(mean)
        return {"queue_similarity": (anchors @ mean).mean(), "queue_length": len(self.queue)}

    def config(self) -> dict[str, Any]:
        """Settings for the model card."""
        return {"queue_size": len(self.queue.vectors), "queue_momentum": self.momentum}
