"""BERT-flow's normalizing flow: an invertible map of sentence embeddings to a standard normal.

Three levels of three steps each; a step is an activation norm, a reversal of the channels and an
additive coupling. After the first and second level, half of the channels exit; the output joins
them again. Flow libraries have these steps, but neither this coupling network nor a way to
export the fitted map as layers of Sentence Transformers.
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
    """Append a normalizing flow (Li et al., 2020), fitted on ``sentences``, to ``model``.

    The encoder is frozen, but its dropout is active during the fit.

    Args:
        model: the model before the flow.
        sentences: the corpus.
        learning_rate: constant learning rate of Adam.
        epochs: passes over the corpus.
        seed: random seed of the flow's initial weights, the order of the sentences and the dropout.
        max_length: maximum number of tokens per sentence during the fit.
        batch_size: batch size.
        quiet: hide the progress bar.
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
            f"{len(sentences)} sentences are too few to fit a flow in batches of {batch_size}. Add "
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
    """Row numbers, shuffled for each epoch, in full batches."""
    used = count // batch_size * batch_size
    orders = [torch.randperm(count)[:used] for _ in range(math.ceil(epochs))]
    steps = max(1, int(used // batch_size * epochs))
    return torch.cat(orders)[: steps * batch_size].tolist()


class ActNorm(nn.Module):
    """(x + bias) * exp(log_scale) per channel, initialized to standardize the first batch."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels))
        self.log_scale = nn.Parameter(torch.zeros(channels))
        self.initialized = False

    def forward(self, x: Tensor) -> Tensor:
        """Normalize (n, channels)."""
        if self.training and not self.initialized:
            with torch.no_grad():
                self.bias.copy_(-x.mean(dim=0))
                self.log_scale.copy_(-x.std(dim=0).clamp(min=MIN_DEVIATION).log())
            self.initialized = True
        return (x + self.bias) * self.log_scale.exp()


class CouplingNetwork(nn.Module):
    """Map one half of the channels to the addend of the other half; initially to zero."""

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
    """The complete flow, from vectors (n, d) to (n, d).

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
        """Map embeddings to latent vectors."""
        leaving: list[Tensor] = []
        for number, step in enumerate(self.steps):
            if number in (STEPS, 2 * STEPS):
                x, left = x.chunk(2, dim=1)
                leaving.append(left)
            x = step(x)
        return torch.cat([x, *reversed(leaving)], dim=1)

    @property
    def log_determinant(self) -> Tensor:
        """The log-determinant of the Jacobian, which is constant.

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
    """Convert a fitted flow to dense layers of Sentence Transformers, exact up to rounding.

    A residual layer out = relu(W s + b) + s passes the vector x of the state s = (x, h1, h2) through
    and writes a hidden layer of the coupling network into its own, empty part of s; then a linear
    layer adds the network's output to x, applies the next step's activation norm and reversal, and
    empties h1 and h2. That makes three layers per step, with (d + 64) x (d + 64) weights each.
    """
    with torch.no_grad():
        return list(_layers(flow.double()))


def _layers(flow: Flow) -> Iterator[Module]:
    steps = [step for step in flow.steps if isinstance(step, Step)]
    d, width = flow.dimension, steps[0].network.second.out_features
    state = d + 2 * width
    first, second = slice(d, d + width), slice(d + width, state)  # h1 and h2 in the state
    yield _dense(*_norm_and_reversal(steps[0], state, d))
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        network, cut = step.network, step.cut
        yield _hidden_layer(network.first, network.first_norm, state, first, slice(cut))
        yield _hidden_layer(network.second, network.second_norm, state, second, first)
        # x + network, then the next step's activation norm and reversal.
        scale = (3 * network.log_scale).exp()
        weight, bias = torch.eye(d, state).double(), torch.zeros(d).double()
        weight[cut : 2 * cut, second] = network.last.weight * scale[:, None]
        bias[cut : 2 * cut] = network.last.bias * scale
        if following is not None:
            after, shift = _norm_and_reversal(following, state, d)
            weight, bias = after @ weight, after @ bias + shift
        yield _dense(weight, bias)


def _norm_and_reversal(step: Step, state: int, dimension: int) -> tuple[Tensor, Tensor]:
    """Weight and bias for the activation norm and reversal of a step's channels, the first of the state."""
    channels = 2 * step.cut
    scale = step.norm.log_scale.exp()
    weight, bias = torch.eye(state, dimension).double(), torch.zeros(state).double()
    weight[:channels, :channels] = scale.diag().flip(0)
    bias[:channels] = (step.norm.bias * scale).flip(0)
    return weight, bias


def _hidden_layer(
    linear: nn.Linear, norm: ActNorm, state: int, rows: slice, columns: slice
) -> Dense:
    """A hidden layer and the following activation norm, from one part of the state to another."""
    scale = norm.log_scale.exp()
    weight, bias = torch.zeros(state, state).double(), torch.zeros(state).double()
    weight[rows, columns], bias[rows] = linear.weight * scale[:, None], norm.bias * scale
    return _dense(weight, bias, residual=True)


def _dense(weight: Tensor, bias: Tensor, residual: bool = False) -> Dense:
    return Dense(
        weight.shape[1],
        weight.shape[0],
        activation_function=nn.ReLU() if residual else None,
        init_weight=weight.float().contiguous(),
        init_bias=bias.float(),
        use_residual=residual,
    )
