"""Noise negatives (DCLR): random vectors that climb the loss before they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from clusterns.losses.batch import Batch, Rows, most_cells
from clusterns.losses.functional import info_nce
from clusterns.losses.part import Part, Terms, TermsOf, step_generator


class NoiseNegatives(Part):
    """Extra negatives drawn from a standard normal distribution anew in each step, shared by the
    whole batch, and moved up the gradient of the loss.

    Noise is a function of seed and step: equal on every process and after a resume. It is no source
    of gradient; the anchors get theirs from it.

    Args:
        times: number of noise vectors, in batches (of N).
        temperature: tau of the loss that the noise climbs.
        steps: how often it is moved.
        rate: how far, each time; the published 1e-3 hardly moves vectors of length sqrt(d).
        seed: of the draws.
    """

    citation = """
@inproceedings{zhou2022dclr,
    title = "Debiased Contrastive Learning of Unsupervised Sentence Representations",
    author = "Zhou, Kun and Zhang, Beichen and Zhao, Xin and Wen, Ji-Rong",
    booktitle = "Proceedings of ACL",
    year = "2022"
}
"""

    def __init__(
        self,
        times: float = 1.0,
        temperature: float = 0.05,
        *,
        steps: int = 4,
        rate: float = 1e-3,
        seed: int = 42,
    ) -> None:
        super().__init__()
        self.times = times
        self.temperature = temperature
        self.steps = steps
        self.rate = rate
        self.seed = seed
        self.counter = StepCounter()
        self.state = {"noise": self.counter}

    def follow(self, batch: Batch, learn: bool) -> TermsOf | None:
        """Draw the noise of this step and let it climb."""
        self.counter.step += learn
        self.columns = int(self.times * len(batch.all_anchors))
        if not self.columns:
            return None
        noise = self.climbed(self.drawn(batch.all_anchors), batch)
        unit = F.normalize(noise, dim=-1)

        def terms(rows: Rows) -> Terms:
            return Terms(negatives=rows.anchors @ unit.T)

        return terms

    def drawn(self, like: Tensor) -> Tensor:
        """(columns, d) noise of this step."""
        # Drawn on the host, where the same seed gives the same numbers on every machine.
        generator = step_generator(self.seed, self.counter.step)
        size = self.columns, like.shape[1]
        return torch.randn(size, generator=generator, dtype=torch.float64).to(like)

    def climbed(self, noise: Tensor, batch: Batch) -> Tensor:
        """The (m, d) noise, moved up the gradient of the loss over all rows."""
        views = [F.normalize(view.detach(), dim=-1) for view in batch.all_views[:2]]
        for _ in range(self.steps):
            gradient = F.normalize(self._gradient(noise, *views), dim=-1)
            noise = noise + self.rate * gradient
        return noise

    @torch.enable_grad()
    def _gradient(self, noise: Tensor, anchors: Tensor, positives: Tensor) -> Tensor:
        """(m, d) gradient of the mean loss of the (N, d) anchors, a slice of them at a time."""
        n = len(anchors)
        size = max(1, most_cells(noise.device) // (n + len(noise)))
        gradient = torch.zeros_like(noise)
        for targets in torch.arange(n, device=noise.device).split(size):
            moving = noise.detach().requires_grad_()
            some = anchors[targets]
            loss = info_nce(
                some @ positives.T,
                targets,
                self.temperature,
                negatives=some @ F.normalize(moving, dim=-1).T,
            )
            gradient += torch.autograd.grad(loss.sum() / n, moving)[0]
        return gradient

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {
            "noise_times": self.times,
            "noise_steps": self.steps,
            "noise_rate": self.rate,
        }


class StepCounter(nn.Module):
    """Training steps so far, on the host, in the checkpoint."""

    def __init__(self) -> None:
        super().__init__()
        self.step = 0

    def get_extra_state(self) -> Tensor:
        """The number of steps."""
        return torch.tensor(self.step)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore it."""
        self.step = int(state)
