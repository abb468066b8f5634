"""DCLR: noise as negatives, and a frozen guide that identifies false negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.encoder.load import load_model
from clusterns.encoder.locate import is_sentence_transformer, resolve_model
from clusterns.losses.distributed import gather
from clusterns.losses.features import Features, embed
from clusterns.losses.functional import info_nce
from clusterns.losses.part import Batch, Part, Rows, Terms, TermsOf, max_elements, step_generator
from clusterns.methods.dclr import GuideSettings, NoiseSettings


class NoiseNegatives(Part):
    """Extra negatives drawn from a standard normal distribution in each step, shared by the whole
    batch, and moved up the gradient of the loss.

    The noise depends only on seed and step, so it is the same on every process and after a resume.
    No gradient flows through it; the anchors get their gradient from it.

    Args:
        settings: the settings.
        temperature: tau of the loss that the noise ascends.
        seed: seed of the samples.
    """

    settings: NoiseSettings
    counters = ("step",)
    citation = "zhou2022dclr"

    def __init__(
        self, settings: NoiseSettings, temperature: float = 0.05, *, seed: int = 42
    ) -> None:
        super().__init__(settings)
        self.temperature = temperature
        self.seed = seed
        self.step = 0

    def terms(self, batch: Batch, training: bool) -> TermsOf | None:
        """Sample the noise of this step and move it up the gradient of the loss."""
        self.step += training
        self.n_negatives = int(self.settings.noise_ratio * len(batch.all_anchors))
        if not self.n_negatives:
            return None
        unit = F.normalize(self.ascend(self.sample(batch.all_anchors), batch), dim=-1)
        return lambda rows: Terms(negatives=rows.anchors @ unit.T)

    def sample(self, like: Tensor) -> Tensor:
        """(m, d) noise of this step."""
        # On the CPU, where the same seed gives the same numbers on every machine.
        generator = step_generator(self.seed, self.step)
        size = self.n_negatives, like.shape[1]
        return torch.randn(size, generator=generator, dtype=torch.float64).to(like)

    def ascend(self, noise: Tensor, batch: Batch) -> Tensor:
        """The (m, d) noise after its steps up the gradient of the loss over all rows."""
        views = [F.normalize(view.detach(), dim=-1) for view in batch.all_views[:2]]
        for _ in range(self.settings.noise_steps):
            gradient = F.normalize(self._gradient(noise, *views), dim=-1)
            noise = noise + self.settings.noise_step_size * gradient
        return noise

    @torch.enable_grad()
    def _gradient(self, noise: Tensor, anchors: Tensor, positives: Tensor) -> Tensor:
        """(m, d) gradient of the mean loss of the (N, d) anchors, computed in chunks."""
        n = len(anchors)
        size = max(1, max_elements(noise.device) // (n + len(noise)))
        gradient = torch.zeros_like(noise)
        for index in torch.arange(n, device=noise.device).split(size):
            moving = noise.detach().requires_grad_()
            chunk = anchors[index]
            negatives = chunk @ F.normalize(moving, dim=-1).T
            losses = info_nce(chunk @ positives.T, index, self.temperature, negatives=negatives)
            gradient += torch.autograd.grad(losses.sum() / n, moving)[0]
        return gradient


class Guide(Part):
    """In-batch negatives that a frozen guide model finds too similar are removed from the denominator.

    Args:
        settings: the settings.
        guide: the frozen model.
        column: the column that the guide reads, in its own tokens.
    """

    settings: GuideSettings

    def __init__(
        self, settings: GuideSettings, guide: SentenceTransformer, *, column: int = 0
    ) -> None:
        super().__init__(settings)
        # In a list, so that it is not a submodule: it can be loaded again, so checkpoints need not contain it.
        self._guide = [guide.eval().requires_grad_(False)]
        self.column = column
        self._vectors: Tensor | None = None

    @property
    def guide(self) -> SentenceTransformer:
        """The frozen model."""
        return self._guide[0]

    def observe(self, model: Any, columns: Sequence[Features], training: bool) -> None:
        """Embed the sentences of all processes: (N, d) unit vectors."""
        column = columns[self.column]
        vectors = embed(self.guide.to(column["attention_mask"].device), column)
        # Half precision could not distinguish cosines of 0.90 and 0.904.
        vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
        self._vectors = gather(F.normalize(vectors, dim=-1))

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        """Mask the false negatives."""
        vectors = self._vectors
        assert vectors is not None

        def terms_of(rows: Rows) -> Terms:
            similar = vectors[rows.index] @ vectors.T > self.settings.guide_threshold
            return Terms(mask=similar.scatter(1, rows.index[:, None], False))

        return terms_of

    def diagnostics(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The share of in-batch negatives that the guide finds false."""
        if self._vectors is None:
            return {}
        vectors, n = self._vectors, len(self._vectors)
        chunks = vectors.split(max(1, max_elements(vectors.device) // n))
        similar = sum((chunk @ vectors.T > self.settings.guide_threshold).sum() for chunk in chunks)
        themselves = (vectors.square().sum(1) > self.settings.guide_threshold).sum()
        return {"judged_false_negatives": (similar - themselves) / max(1, n * n - n)}


@lru_cache(maxsize=1)
def load_guide(name: str) -> SentenceTransformer:
    """Load the guide by its name, once for loss and collator. For a plain encoder, such as SimCSE's
    releases, the embedding is the state of the first token."""
    plain = not is_sentence_transformer(resolve_model(name))
    return load_model(name, pooling="cls" if plain else None)
