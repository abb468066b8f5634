"""Fits over a frozen encoder: whitening and flow, on the sentences of a corpus."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device
from torch import Tensor

from clusterns.console import bar
from clusterns.encoder.base import with_modules
from clusterns.encoder.flow import LEVELS, Flow
from clusterns.encoder.flow_layers import flow_layers
from clusterns.encoder.whitening import Moments, whitening
from clusterns.errors import UserError


def whiten(
    model: SentenceTransformer,
    sentences: Sequence[str],
    dimensions: int | None = None,
    *,
    floor: float = 0.0,
    max_length: int = 64,
    batch_size: int = 64,
    quiet: bool = False,
) -> SentenceTransformer:
    """``model`` with whitening behind it (Su et al., 2021), fitted on ``sentences``.

    Args:
        model: whose vectors are whitened.
        sentences: the corpus.
        dimensions: how many directions to keep; all by default.
        floor: the smallest variance, as a share of the largest.
        max_length: tokens that are read of a sentence while fitting.
        batch_size: sentences a forward pass.
        quiet: no progress bar.
    """
    width = model.get_embedding_dimension()
    assert width is not None
    wanted = dimensions or width
    if wanted > width:
        raise UserError(f"dimensions = {wanted} is more than the {width} of the base's vectors.")
    if len(sentences) <= wanted:
        raise UserError(
            f"{len(sentences)} sentences cannot tell the covariance of {wanted} dimensions: add "
            "text, or set dimensions to less than the sentences."
        )
    moments = Moments(width)
    model.eval()
    # Sentences of one length pad little.
    order = sorted(range(len(sentences)), key=lambda row: len(sentences[row]))
    for batch in _batches(order, batch_size, "Whitening", quiet):
        moments.add(_vectors(model, [sentences[row] for row in batch], max_length))
    return with_modules(model, [*model, *whitening(moments, wanted, floor)], truncate_dim=None)


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
    """``model`` with a normalising flow behind it (Li et al., 2020), fitted on ``sentences``.

    The encoder is frozen; its dropout is on while the flow is fitted.

    Args:
        model: whose vectors are mapped.
        sentences: the corpus.
        learning_rate: of Adam, constant.
        epochs: passes over the corpus.
        seed: of the flow's first weights, the order of the sentences and the dropout.
        max_length: tokens that are read of a sentence while fitting.
        batch_size: sentences a step.
        quiet: no progress bar.
    """
    width = model.get_embedding_dimension()
    assert width is not None
    if width % 2**LEVELS:
        raise UserError(
            f"a flow halves the channels {LEVELS} times, and the base's vectors have {width} "
            f"numbers: take a base whose width is divisible by {2**LEVELS}."
        )
    if len(sentences) < 2 * batch_size:
        raise UserError(
            f"{len(sentences)} sentences are too few for a flow in batches of {batch_size}: add "
            "text, or lower the batch size."
        )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        flow = Flow(width).to(model.device).train()
        optimizer = torch.optim.Adam(flow.parameters(), lr=learning_rate)
        model.train()
        rows = _epochs(len(sentences), batch_size, epochs)
        for batch in _batches(rows, batch_size, "Flow", quiet):
            vectors = _vectors(model, [sentences[row] for row in batch], max_length)
            optimizer.zero_grad()
            flow.negative_log_likelihood(vectors).backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), 1.0)
            optimizer.step()
    return with_modules(model.eval(), [*model, *flow_layers(flow.eval().cpu())], truncate_dim=None)


def _epochs(count: int, batch_size: int, epochs: float) -> list[int]:
    """Rows in a new order each epoch, in whole batches."""
    whole = count // batch_size * batch_size
    orders = [torch.randperm(count)[:whole] for _ in range(math.ceil(epochs))]
    steps = max(1, int(whole // batch_size * epochs))
    return torch.cat(orders)[: steps * batch_size].tolist()


def _batches(
    rows: Sequence[int], batch_size: int, what: str, quiet: bool
) -> Iterator[Sequence[int]]:
    with bar(total=len(rows), desc=what, unit=" sentences", shown=not quiet) as shown:
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            yield batch
            shown.update(len(batch))


@torch.no_grad()
def _vectors(model: SentenceTransformer, sentences: list[str], max_length: int) -> Tensor:
    """(n, d) vectors in the model's mode: dropout is on where it trains."""
    length = min(max_length, model.max_seq_length or max_length)
    prompt = model.prompts.get(model.default_prompt_name) if model.default_prompt_name else None
    features = model.preprocess(
        sentences, prompt=prompt, processing_kwargs={"text": {"max_length": length}}
    )
    vectors: Tensor = model(batch_to_device(features, model.device))["sentence_embedding"]
    return vectors
