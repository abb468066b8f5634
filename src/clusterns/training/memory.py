"""Whether a training step fits into memory, found out before the first one."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.console import say
from clusterns.encoder.randomness import kept_random_state
from clusterns.errors import UserError, is_out_of_memory
from clusterns.losses.batch import most_cells
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.tokenised import columns_of, mini_batches
from clusterns.training.free_memory import free_bytes, held_bytes
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe
from clusterns.views.collator import ViewCollator

SAMPLE = 32  # sentences of the trial
AT_ONCE = 8  # rows of the trial: few, since it must fit itself
# Per parameter: its gradient and AdamW's two moments, 4 bytes each.
BYTES_PER_PARAMETER = 12
# Fitted to benchmarks/RESULTS.md. What a backward pass and the allocator take on top of the
# activations, and what the libraries load with the first step.
ON_TOP = 1.25
FIRST_STEP = 2**27
# Copies of each embedding in the comparison (joined, sorted, normalised, their gradients), and
# matrices of a slice of rows.
VECTORS = 10
MATRICES = 10


@dataclass(frozen=True)
class Memory:
    """What a training step needs, in bytes of this process: an estimate."""

    held: int
    """Held already: the program and the weights."""
    optimizer: int
    """Gradients and the optimizer's state."""
    activations: int
    """What forward and backward pass take as the recipe is."""
    cached_activations: int
    """The same with the gradient cache."""
    free: int | None
    """What the device has left; None where that is not known."""

    @property
    def total(self) -> int:
        """All of this process."""
        return self.held + self.optimizer + self.activations

    @property
    def cached_total(self) -> int:
        """All of this process with the gradient cache."""
        return self.held + self.optimizer + self.cached_activations

    @property
    def fits(self) -> bool:
        """Whether there is enough."""
        return self.free is None or self.total - self.held <= self.free

    @property
    def fits_cached(self) -> bool:
        """Whether there is enough with the gradient cache."""
        return self.free is None or self.cached_total - self.held <= self.free


def estimate_memory(
    recipe: Recipe,
    model: SentenceTransformer,
    loss: ContrastiveLoss,
    collator: ViewCollator,
    texts: Sequence[str],
) -> Memory:
    """Measure what some sentences keep for the backward pass, and scale it to the batch.

    Nothing is changed: no weight, no centroid, no random state.
    """
    chosen = range(0, len(texts), max(1, len(texts) // SAMPLE))[:SAMPLE]
    columns = columns_of(collator([{"text": texts[i]} for i in chosen]), model.device)
    was_training = model.training
    model.train()
    sentences = recipe.batch_size // processes().num_processes
    count = loss.views_of(columns)
    at_once = count * sentences if loss.in_one_call else loss.mini_batch_size
    with kept_random_state(model.device), precision(recipe, model.device):
        views = _bytes_per_row(model, loss.stacked(columns), count * sentences / at_once)
        masked = [0.0]
        if loss.masked_lm is not None:
            rows = loss.masked_lm.masked(columns[0])
            masked = _bytes_per_row(model, rows, sentences / at_once)
    model.train(was_training)
    whole = sentences * (count * statistics.fmean(views) + statistics.fmean(masked))
    cached = min(count * sentences, loss.mini_batch_size) * max(*views, *masked)
    always = FIRST_STEP + _comparison_bytes(recipe.batch_size, count, model)
    return Memory(
        held=held_bytes(model.device),
        optimizer=BYTES_PER_PARAMETER
        * sum(p.numel() for p in model.parameters() if p.requires_grad),
        activations=always + round(ON_TOP * (cached if recipe.gradient_cache else whole)),
        cached_activations=always + round(ON_TOP * cached),
        free=free_bytes(model.device),
    )


def check_memory(recipe: Recipe, memory: Memory, device: torch.device) -> None:
    """Tell the user where a step would not fit.

    On a CPU it is refused, since the system ends a process that takes too much without a word; a
    user who has set gradient_cache has decided, and is only told.
    """
    if memory.fits:
        return
    if device.type == "cpu" and "gradient_cache" not in recipe.model_fields_set:
        raise UserError(
            f"{shortage(recipe, memory)} To try all the same, set gradient_cache=false."
        )
    say(f"Warning: {shortage(recipe, memory)}")


def shortage(recipe: Recipe, memory: Memory) -> str:
    """Say that a step does not fit, and what would."""
    assert memory.free is not None
    found = (
        f"a step of batch_size = {recipe.batch_size} needs about "
        f"{gib(memory.total - memory.held)} of memory, and {gib(memory.free)} are free: "
    )
    if recipe.gradient_cache or not memory.fits_cached:
        return f"{found}lower mini_batch_size, max_length or batch_size."
    cached = gib(memory.cached_total - memory.held)
    return f"{found}set gradient_cache=true (about {cached}), or lower batch_size."


def gib(count: float) -> str:
    """Bytes for a person."""
    return f"{count / 2**30:.1f} GiB"


@contextmanager
def memory_errors(recipe: Recipe) -> Iterator[None]:
    """Within the block, memory that runs out is the user's to mend, and the message says how."""
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            first = "mini_batch_size" if recipe.gradient_cache else "batch_size"
            cache = "" if recipe.gradient_cache else "set gradient_cache=true, or "
            raise UserError(
                f"a step of batch_size = {recipe.batch_size} does not fit into memory: {cache}lower "
                f"{first}."
            ) from error
        raise


def precision(recipe: Recipe, device: torch.device) -> torch.autocast:
    """Within the block the encoder computes as the trainer lets it."""
    half = torch.float16 if recipe.precision == "fp16" else torch.bfloat16
    return torch.autocast(device.type, half, enabled=recipe.precision != "fp32")


def _comparison_bytes(batch_size: int, views: int, model: SentenceTransformer) -> int:
    """What the rows of a batch take once they are embedded."""
    width = model.get_embedding_dimension() or 0
    most = most_cells(model.device)
    cells = VECTORS * views * batch_size * width + MATRICES * min(batch_size**2, most)
    return 4 * cells


def _bytes_per_row(
    model: SentenceTransformer, rows: dict[str, Any], mini_batches_of_a_step: float
) -> list[float]:
    """What a row keeps for the backward pass, in mini-batches from short to long.

    A step's mini-batches are larger; in as many of them, rows are padded as in a step.
    """
    n = len(rows["input_ids"])
    size = max(AT_ONCE, math.ceil(n / math.ceil(mini_batches_of_a_step)))
    found = []
    for part in mini_batches(rows, size):
        few = {
            key: value[-AT_ONCE:] if isinstance(value, Tensor) and value.ndim > 1 else value
            for key, value in part.items()
        }
        found.append(_saved_bytes(model, few) / len(few["input_ids"]))
    return found


def _saved_bytes(model: SentenceTransformer, rows: dict[str, Any]) -> int:
    """What autograd keeps of a forward pass, besides the weights and the buffers."""
    weights = {
        tensor.untyped_storage().data_ptr() for tensor in (*model.parameters(), *model.buffers())
    }
    saved: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in weights:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        output = model({**rows})  # alive until counted, so that no memory is counted twice
    return sum(saved.values()) if output else 0
