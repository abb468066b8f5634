"""BERT-flow's normalizing flow: an invertible map of sentence embeddings to a standard normal.

Three levels of three steps each; a step is an activation norm, a reversal of the channels and an
additive coupling. After the first and second level, half of the channels leave; the output joins
them again. Libraries of flows have these steps, but neither this coupling network nor a way to
write the fitted map as layers of Sentence Transformers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Module
from torch import Tensor, nn

from clusterns.encoder.load import with_modules
from clusterns.encoder.speed import in_batches
from clusterns.encoder.whitening import embed_batch
from clusterns.errors import UserError

LEVELS = 3
STEPS = 3
WIDTH = 32
MIN_DEVIATION = 1e-6


def fit_flow(
    model: SentenceTransformer,
    sentences: Sequence[str],
    *,
    learning_rate: float = 1e-3,
    epochs: float = 1,
    seed: int = 42,
    max_length: int = 64,
    batch_size: int = 64,
    quiet: bool = False,
) -> SentenceTransformer:
    """``model`` followed by a normalizing flow (Li et al., 2020) that is fitted on ``sentences``.

    The encoder is frozen; its dropout is on during the fit.

    Args:
        model: the model to put the flow behind.
        sentences: the corpus.
        learning_rate: constant learning rate of Adam.
        epochs: passes over the corpus.
        seed: seeds the flow's first weights, the order of the sentences and the dropout.
        max_length: number of tokens to read of each sentence during the fit.
        batch_size: batch size.
        quiet: no progress bar.
    """
    width = model.get_embedding_dimension()
    assert width is not None
    if width % 2**LEVELS:
        raise UserError(
            f"a flow halves the channels {LEVELS} times, but the base's embeddings have {width} "
            f"dimensions. Choose a base whose dimension is divisible by {2**LEVELS}."
        )
    if len(sentences) < 2 * batch_size:
        raise UserError(
            f"{len(sentences)} sentences are too few for a flow in batches of {batch_size}. Add "
            "text, or lower the batch size."
        )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        flow = Flow(width).to(model.device).train()
        optimizer = torch.optim.Adam(flow.parameters(), lr=learning_rate)
        model.train()
        rows = _epochs(len(sentences), batch_size, epochs)
        for batch in in_batches(rows, batch_size, "Flow", not quiet):
            vectors = embed_batch(model, [sentences[row] for row in batch], max_length)
            optimizer.zero_grad()
            flow.negative_log_likelihood(vectors).backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            optimizer.step()
    return with_modules(model.eval(), [*model, *flow_layers(flow.eval().cpu())], truncate_dim=None)


def _epochs(count: int, batch_size: int, epochs: float) -> list[int]:
    """Rows in a new order for each epoch, in whole batches."""
    whole = count // batch_size * batch_size
    orders = [torch.randperm(count)[:whole] for _ in range(math.ceil(epochs))]
    steps = max(1, int(whole // batch_size * epochs))
    return torch.cat(orders)[: steps * batch_size].tolist()


class ActNorm(nn.Module):
    """(x + bias) * exp(log_scale) per channel; the first batch gets mean 0 and deviation 1."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.log_scale = nn.Parameter(torch.zeros(channels))
        self.initialized = False

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Take bias and scale from a first batch (n, channels)."""
        self.bias.copy_(-x.mean(dim=0))
        self.log_scale.copy_(-x.std(dim=0).clamp(min=MIN_DEVIATION).log())
        self.initialized = True

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (n, channels)."""
        if self.training and not self.initialized:
            self.initialize(x)
        return (x + self.bias) * self.log_scale.exp()


class CouplingNetwork(nn.Module):
    """Maps one half of the channels to what is added to the other half; to zero, initially."""

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


class Flow(nn.Module):
    """The whole map of vectors (n, d) to (n, d).

    Args:
        dimension: d, which must be divisible by 8, since the channels are halved three times.
        width: width of the networks' hidden layers.
    """

    def __init__(self, dimension: int, width: int = WIDTH) -> None:
        super().__init__()
        assert dimension % 2**LEVELS == 0
        self.dimension = dimension
        # One list, level after level.
        self.steps = nn.ModuleList(
            Step(dimension >> level, width) for level in range(LEVELS) for _ in range(STEPS)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map vectors to their places under the normal."""
        leaving: list[Tensor] = []
        for number, step in enumerate(self.steps):
            if number in (STEPS, 2 * STEPS):
                x, left = x.chunk(2, dim=1)
                leaving.append(left)
            x = step(x)
        return torch.cat([x, *reversed(leaving)], dim=1)

    @property
    def log_determinant(self) -> Tensor:
        """The log-determinant of the Jacobian, the same everywhere.

        Couplings and reversals contribute 0.
        """
        steps = (step for step in self.steps if isinstance(step, Step))
        return torch.stack([step.norm.log_scale.sum() for step in steps]).sum()

    def negative_log_likelihood(self, x: Tensor) -> Tensor:
        """The mean over vectors (n, d), in nats per dimension."""
        z = self(x)
        normal = 0.5 * (z.square() + math.log(2 * math.pi)).sum(dim=1).mean()
        return (normal - self.log_determinant) / self.dimension


def flow_layers(flow: Flow) -> list[Module]:
    """A fitted flow as dense layers of Sentence Transformers, exact up to rounding.

    A residual layer out = relu(W s + b) + s passes the vector x of the state s = (x, h1, h2) through
    and writes a hidden layer of the coupling network into its own, empty part of s; then a linear
    layer adds the network's output to x, applies the next step's activation norm and reversal, and
    empties h1 and h2. That makes three layers per step, with (d + 64) x (d + 64) weights each.
    """
    with torch.no_grad():
        return list(_layers(flow.double()))


def _layers(flow: Flow) -> Iterator[Module]:
    steps = [step for step in flow.steps if isinstance(step, Step)]
    d = flow.dimension
    width = steps[0].network.second.out_features
    state = d + 2 * width
    weight, bias = _padded(*_norm_and_reversal(steps[0], d), rows=state)
    yield _dense(weight, bias)
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        network, cut = step.network, step.cut
        first = torch.zeros(state, state, dtype=torch.float64)
        first_bias = torch.zeros(state, dtype=torch.float64)
        first[d : d + width, :cut], first_bias[d : d + width] = _normed(
            network.first.weight, network.first_norm
        )
        yield _dense(first, first_bias, residual=True)
        second, second_bias = torch.zeros_like(first), torch.zeros_like(first_bias)
        second[d + width :, d : d + width], second_bias[d + width :] = _normed(
            network.second.weight, network.second_norm
        )
        yield _dense(second, second_bias, residual=True)
        # x + network, then what comes before the next step's network.
        scale = (3 * network.log_scale).exp()
        joined = torch.eye(d, state, dtype=torch.float64)
        joined_bias = torch.zeros(d, dtype=torch.float64)
        joined[cut : 2 * cut, d + width :] = network.last.weight * scale[:, None]
        joined_bias[cut : 2 * cut] = network.last.bias * scale
        if following is None:
            yield _dense(joined, joined_bias)
            return
        weight, bias = _norm_and_reversal(following, d)
        yield _dense(*_padded(weight @ joined, weight @ joined_bias + bias, rows=state))


def _norm_and_reversal(step: Step, dimension: int) -> tuple[Tensor, Tensor]:
    """Activation norm and reversal of a step's channels, the first ones, as weight and bias."""
    channels = 2 * step.cut
    scale = step.norm.log_scale.exp()
    weight = torch.eye(dimension, dtype=torch.float64)
    bias = torch.zeros(dimension, dtype=torch.float64)
    weight[:channels, :channels] = scale.diag().flip(0)
    bias[:channels] = (step.norm.bias * scale).flip(0)
    return weight, bias


def _normed(weight: Tensor, norm: ActNorm) -> tuple[Tensor, Tensor]:
    """A linear layer and the activation norm behind it as one."""
    scale = norm.log_scale.exp()
    return weight * scale[:, None], norm.bias * scale


def _padded(weight: Tensor, bias: Tensor, rows: int) -> tuple[Tensor, Tensor]:
    """With rows of zeros below."""
    missing = rows - len(weight)
    return nn.functional.pad(weight, (0, 0, 0, missing)), nn.functional.pad(bias, (0, missing))


def _dense(weight: Tensor, bias: Tensor, residual: bool = False) -> Dense:
    return Dense(
        weight.shape[1],
        weight.shape[0],
        activation_function=nn.ReLU() if residual else None,
        init_weight=weight.float().contiguous(),
        init_bias=bias.float(),
        use_residual=residual,
    )
