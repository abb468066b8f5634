"""Whether a training step fits into memory, found out before the first one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.console import log
from clusterns.encoder.training_modules import preserve_rng_state
from clusterns.errors import UserError, is_out_of_memory
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.features import columns_of
from clusterns.losses.part import max_elements
from clusterns.training.free_memory import free_bytes, held_bytes
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe
from clusterns.views.collator import ViewCollator

SAMPLE = 512  # sentences that are tokenised for it at most: the longest ones decide
AT_ONCE = 8  # rows of the trial: few, since it must fit itself
# Per parameter: its gradient and AdamW's two moments, 4 bytes each.
BYTES_PER_PARAMETER = 12
# Fitted to benchmarks/RESULTS.md: what a backward pass and the allocator take on top of the
# activations, what the libraries load with the first step, copies of each embedding in the
# comparison, and matrices of a slice of rows.
ON_TOP, FIRST_STEP, VECTORS, MATRICES = 1.25, 2**27, 10, 10


@dataclass(frozen=True)
class Memory:
    """What a training step needs, in bytes of this process: an estimate."""

    held: int
    """Held already: the program and the weights."""
    step: int
    """What a step takes on top, as the recipe is."""
    cached: int
    """The same with the gradient cache."""
    free: int | None
    """What the device has left; None where that is not known."""

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.free is None or self.step <= self.free

    @property
    def fits_cached(self) -> bool:
        """Whether there is enough with the gradient cache."""
        return self.free is None or self.cached <= self.free


def estimate_memory(
    recipe: Recipe,
    model: SentenceTransformer,
    loss: ContrastiveLoss,
    collator: ViewCollator,
    texts: Sequence[str],
) -> Memory:
    """Measure what a few rows keep for the backward pass, and scale it to the batch.

    Nothing is changed: no weight, no centroid, no random state.
    """
    sentences = recipe.batch_size // processes().num_processes
    count = min(sentences, SAMPLE, len(texts))
    chosen = range(0, len(texts), len(texts) // count)[:count]
    columns = columns_of(collator([{"text": texts[i]} for i in chosen]), model.device)
    was_training = model.training
    model.train()
    with preserve_rng_state(model.device), precision(recipe, model.device):
        passes = [loss.stacked(columns)]
        if loss.masked_lm is not None:
            passes.append(loss.masked_lm.masked(loss.stacked_for_masked_lm(columns)))
        a_row = [_kept_bytes(model, each) for each in passes]
    model.train(was_training)
    whole = largest = 0.0
    for each, size in zip(passes, a_row, strict=True):
        n = len(each["input_ids"]) * sentences // count
        at_once = n if loss.in_one_call else min(n, loss.mini_batch_size)
        whole += n * size * _padded(each["attention_mask"], math.ceil(n / at_once))
        largest = max(largest, min(n, loss.mini_batch_size) * size)
    with model.truncate_embeddings(None):
        width = model.get_embedding_dimension() or 0
    n, views = recipe.batch_size, loss.views_of(columns)
    compared = VECTORS * views * n * width + MATRICES * min(n**2, max_elements(model.device))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    always = FIRST_STEP + BYTES_PER_PARAMETER * trained + 4 * compared
    cached = always + round(ON_TOP * largest)
    return Memory(
        held=held_bytes(model.device),
        step=cached if recipe.gradient_cache else always + round(ON_TOP * whole),
        cached=cached,
        free=free_bytes(model.device),
    )


def check_memory(recipe: Recipe, memory: Memory, device: torch.device) -> None:
    """Refuse a step that would not fit on a CPU, where the system ends the process without a word.

    Elsewhere, and where check_memory is off, it is only said: running out is an error there.
    """
    if memory.fits:
        return
    if device.type == "cpu" and recipe.check_memory:
        raise UserError(f"{shortage(recipe, memory)} To try all the same, set check_memory=false.")
    log(f"Warning: {shortage(recipe, memory)}")


def shortage(recipe: Recipe, memory: Memory) -> str:
    """Say that a step does not fit, and what would."""
    assert memory.free is not None
    found = (
        f"a step of batch_size = {recipe.batch_size} needs about {gib(memory.step)} of memory, and "
        f"{gib(memory.free)} are free: "
    )
    if recipe.gradient_cache or not memory.fits_cached:
        return f"{found}lower mini_batch_size, max_length or batch_size."
    return f"{found}set gradient_cache=true (about {gib(memory.cached)}), or lower batch_size."


def gib(count: float) -> str:
    """Bytes for a person."""
    return f"{count / 2**30:.1f} GiB"


@contextmanager
def memory_errors(recipe: Recipe) -> Iterator[None]:
    """Within the block, memory that runs out is the user's to mend, and the message says how."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        remedy = "lower mini_batch_size"
        if not recipe.gradient_cache:
            remedy = "set gradient_cache=true, or lower batch_size"
        raise UserError(
            f"a step of batch_size = {recipe.batch_size} does not fit into memory: {remedy}."
        ) from error


def precision(recipe: Recipe, device: torch.device) -> torch.autocast:
    """Within the block the encoder computes as the trainer lets it."""
    half = torch.float16 if recipe.precision == "fp16" else torch.bfloat16
    return torch.autocast(device.type, half, enabled=recipe.precision != "fp32")


def _padded(mask: Tensor, groups: int) -> float:
    """The tokens of (n, length) rows that are padded in ``groups`` from short to long, as a share
    of those of rows that are all padded to the longest."""
    lengths = mask.sum(1).sort().values
    parts = [part for part in lengths.tensor_split(groups) if len(part)]
    return sum(len(part) * int(part[-1]) for part in parts) / (len(lengths) * int(lengths[-1]))


def _kept_bytes(model: SentenceTransformer, rows: dict[str, Any]) -> float:
    """What autograd keeps of a row, besides weights and buffers, padded as the longest one is."""
    few = {
        key: value[:AT_ONCE] if isinstance(value, Tensor) and value.ndim > 1 else value
        for key, value in rows.items()
    }
    weights = {
        tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())
    }
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model(few)  # alive until counted, so that no memory is counted twice
    return sum(kept.values()) / min(AT_ONCE, len(rows["input_ids"])) if output else 0.0
