"""BERT-flow's normalising flow: an invertible map of sentence vectors to a standard normal.

Three levels of three steps; a step is an activation norm, a reversal of the channels and an
additive coupling. After the first and the second level half of the channels leave; the output joins
them again. Libraries of flows have the steps, but neither this coupling's network nor a way to
write the fitted map as layers of Sentence Transformers (:mod:`clusterns.encoder.flow_layers`).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

LEVELS = 3
STEPS = 3
WIDTH = 32
SMALLEST_DEVIATION = 1e-6


class ActNorm(nn.Module):
    """(x + bias) * exp(log_scale) for each channel; the first batch comes out with mean 0 and
    deviation 1."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.log_scale = nn.Parameter(torch.zeros(channels))
        self.started = False

    @torch.no_grad()
    def start(self, x: Tensor) -> None:
        """Take bias and scale from a first batch (n, channels)."""
        self.bias.copy_(-x.mean(dim=0))
        self.log_scale.copy_(-x.std(dim=0).clamp(min=SMALLEST_DEVIATION).log())
        self.started = True

    def forward(self, x: Tensor) -> Tensor:
        """Normalise (n, channels)."""
        if self.training and not self.started:
            self.start(x)
        return (x + self.bias) * self.log_scale.exp()

    def inverse(self, y: Tensor) -> Tensor:
        """Undo :meth:`forward`."""
        return y * (-self.log_scale).exp() - self.bias


class CouplingNetwork(nn.Module):
    """Half of the channels to what is added to the other half; nothing, at the start."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.first = nn.Linear(channels, width, bias=False)
        self.first_norm = ActNorm(width)
        self.second = nn.Linear(width, width, bias=False)
        self.second_norm = ActNorm(width)
        self.last = nn.Linear(width, channels)
        self.log_scale = nn.Parameter(torch.zeros(channels))
        for layer in (self.first, self.second):
            nn.init.normal_(layer.weight, std=0.05)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels) to (n, channels)."""
        x = self.first_norm(self.first(x)).relu()
        x = self.second_norm(self.second(x)).relu()
        # Glow's learned scale of a layer that starts at zero.
        return self.last(x) * (3 * self.log_scale).exp()


class Step(nn.Module):
    """Activation norm, reversal, and the second half += network(first half)."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        self.cut = channels // 2
        self.norm = ActNorm(channels)
        self.network = CouplingNetwork(self.cut, width)

    def forward(self, x: Tensor) -> Tensor:
        """(n, channels) to (n, channels)."""
        x = self.norm(x).flip(1)
        kept, changed = x[:, : self.cut], x[:, self.cut :]
        return torch.cat([kept, changed + self.network(kept)], dim=1)

    def inverse(self, y: Tensor) -> Tensor:
        """Undo :meth:`forward`."""
        kept, changed = y[:, : self.cut], y[:, self.cut :]
        x = torch.cat([kept, changed - self.network(kept)], dim=1)
        return self.norm.inverse(x.flip(1))

    @property
    def log_determinant(self) -> Tensor:
        """That of the Jacobian, the same at every place: a coupling and a reversal have 0."""
        return self.norm.log_scale.sum()


class Flow(nn.Module):
    """The whole map of vectors (n, d) to (n, d).

    Args:
        dimension: d, which must be divisible by 8 so that the channels can be halved thrice.
        width: of the networks' hidden layers.
    """

    def __init__(self, dimension: int, width: int = WIDTH) -> None:
        super().__init__()
        assert dimension % 2**LEVELS == 0
        self.dimension = dimension
        # One list, level after level.
        self.steps = nn.ModuleList(
            Step(dimension >> level, width) for level in range(LEVELS) for _ in range(STEPS)
        )

    @property
    def levels(self) -> list[list[Step]]:
        """The steps of each level."""
        steps = [step for step in self.steps if isinstance(step, Step)]
        return [steps[start : start + STEPS] for start in range(0, len(steps), STEPS)]

    def forward(self, x: Tensor) -> Tensor:
        """Vectors to their places under the normal."""
        leaving: list[Tensor] = []
        for level, steps in enumerate(self.levels):
            for step in steps:
                x = step(x)
            if level < LEVELS - 1:
                x, left = x.chunk(2, dim=1)
                leaving.append(left)
        return torch.cat([x, *reversed(leaving)], dim=1)

    def inverse(self, z: Tensor) -> Tensor:
        """Undo :meth:`forward`."""
        for level in reversed(range(LEVELS)):
            width = self.dimension >> level
            x = z[:, :width]
            for step in reversed(self.levels[level]):
                x = step.inverse(x)
            z = torch.cat([x, z[:, width:]], dim=1)
        return z

    @property
    def log_determinant(self) -> Tensor:
        """That of the Jacobian, the same at every place."""
        return torch.stack([step.log_determinant for steps in self.levels for step in steps]).sum()

    def negative_log_likelihood(self, x: Tensor) -> Tensor:
        """The mean over vectors (n, d), in nats a dimension."""
        z = self(x)
        normal = 0.5 * (z.square() + math.log(2 * math.pi)).sum(dim=1).mean()
        return (normal - self.log_determinant) / self.dimension
