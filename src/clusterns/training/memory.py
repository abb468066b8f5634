"""Check whether a training step fits into memory, before the first one."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.console import log
from clusterns.encoder.training_modules import preserve_rng_state
from clusterns.errors import UserError, is_out_of_memory
from clusterns.losses.part import max_elements
from clusterns.training.build import Setup
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe

SAMPLE = 512  # maximum number of sentences to tokenize; the longest ones are measured
TRIAL_ROWS = 8  # few, since the measurement itself must fit
# Per parameter: its gradient and AdamW's two moments, 4 bytes each.
BYTES_PER_PARAMETER = 12
# Fitted to benchmarks/RESULTS.md: the factor of a backward pass and the allocator over the activations,
# memory of libraries loaded in the first step, copies of each embedding in the comparison, and
# matrices of a chunk of rows.
OVERHEAD, FIRST_STEP, VECTORS, MATRICES = 1.25, 2**27, 10, 10
CONTROL_GROUPS, LIMITS = Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")


@dataclass(frozen=True)
class Memory:
    """An estimate of the memory of a training step, in bytes of this process."""

    held: int
    """Already in use: the program and the weights."""
    step: int
    """Additional memory of a step."""
    cached: int
    """Additional memory of a step with the gradient cache."""
    free: int | None
    """Free memory of the device, or None if unknown."""

    @property
    def fits(self) -> bool:
        """Whether a step fits."""
        return self.free is None or self.step <= self.free

    @property
    def fits_cached(self) -> bool:
        """Whether a step fits with the gradient cache."""
        return self.free is None or self.cached <= self.free


def estimate_memory(setup: Setup) -> Memory:
    """Measure the memory that a few rows keep for the backward pass, and scale it to the batch.

    Weights, centroids and random states are unchanged.
    """
    recipe, model, loss, texts = setup.recipe, setup.model, setup.loss, setup.texts
    sentences = recipe.batch_size // processes().num_processes
    count = min(sentences, SAMPLE, len(texts))
    rows = range(0, len(texts), len(texts) // count)[:count]
    columns = setup.columns([{"text": texts[row]} for row in rows])
    was_training = model.training
    model.train()
    with preserve_rng_state(model.device), precision(recipe, model.device):
        passes = [loss.stacked(columns)]
        if loss.masked_lm is not None:
            passes.append(loss.masked_lm.masked(loss.stacked_for_masked_lm(columns)))
        bytes_per_row = [_kept_bytes(model, each) for each in passes]
    model.train(was_training)
    whole = largest = 0.0
    for each, size in zip(passes, bytes_per_row, strict=True):
        n = len(each["input_ids"]) * sentences // count
        chunk = n if loss.in_one_call else min(n, loss.mini_batch_size)
        whole += n * size * _padded(each["attention_mask"], math.ceil(n / chunk))
        largest = max(largest, min(n, loss.mini_batch_size) * size)
    with model.truncate_embeddings(None):
        width = model.get_embedding_dimension() or 0
    n, views = recipe.batch_size, loss.views_of(columns)
    compared = VECTORS * views * n * width + MATRICES * min(n**2, max_elements(model.device))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    always = FIRST_STEP + BYTES_PER_PARAMETER * trained + 4 * compared
    cached = always + round(OVERHEAD * largest)
    return Memory(
        held=held_bytes(model.device),
        step=cached if recipe.gradient_cache else always + round(OVERHEAD * whole),
        cached=cached,
        free=free_bytes(model.device),
    )


def check_memory(recipe: Recipe, memory: Memory, device: torch.device) -> None:
    """Refuse a step that would not fit on a CPU, since the system would kill the process without a message.

    On a GPU, or with check_memory off, only warn.
    """
    if memory.fits:
        return
    if device.type == "cpu" and recipe.check_memory:
        raise UserError(f"{shortage(recipe, memory)} To try anyway, set check_memory=false.")
    log(f"Warning: {shortage(recipe, memory)}")


def shortage(recipe: Recipe, memory: Memory) -> str:
    """The message for a step that does not fit, with the remedy."""
    assert memory.free is not None
    problem = (
        f"a step of batch_size = {recipe.batch_size} needs about {gib(memory.step)} of memory, and "
        f"{gib(memory.free)} are free: "
    )
    if recipe.gradient_cache or not memory.fits_cached:
        return f"{problem}lower mini_batch_size, max_length or batch_size."
    return f"{problem}set gradient_cache=true (about {gib(memory.cached)}), or lower batch_size."


def gib(count: float) -> str:
    """Bytes in GiB, for messages."""
    return f"{count / 2**30:.1f} GiB"


@contextmanager
def memory_errors(recipe: Recipe) -> Iterator[None]:
    """Within the block, running out of memory is a UserError with the remedy."""
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
    """Within the block, the encoder computes in the trainer's precision."""
    half = torch.float16 if recipe.precision == "fp16" else torch.bfloat16
    return torch.autocast(device.type, half, enabled=recipe.precision != "fp32")


def _padded(mask: Tensor, chunks: int) -> float:
    """Number of tokens of (n, length) rows sorted by length and padded in ``chunks``, relative to padding all rows
    to the longest one."""
    lengths = mask.sum(1).sort().values
    parts = [part for part in lengths.tensor_split(chunks) if len(part)]
    return sum(len(part) * int(part[-1]) for part in parts) / (len(lengths) * int(lengths[-1]))


def _kept_bytes(model: SentenceTransformer, rows: dict[str, Any]) -> float:
    """Memory that autograd keeps per row, without weights and buffers, for rows padded to the longest one."""
    few = {
        key: value[:TRIAL_ROWS] if isinstance(value, Tensor) and value.ndim > 1 else value
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
        output = model(few)  # referenced until counted, so that no memory is counted twice
    return sum(kept.values()) / min(TRIAL_ROWS, len(rows["input_ids"])) if output else 0.0


def held_bytes(device: torch.device) -> int:
    """Memory used by this process: of the machine for a CPU, else of the device."""
    if device.type == "cuda":
        return torch.cuda.memory_allocated(device)
    return int(psutil.Process().memory_info().rss)


def free_bytes(device: torch.device) -> int | None:
    """Memory that this process can still allocate on ``device``, or None if unknown.

    On a CPU, the processes of this machine that train together share it evenly.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    if device.type != "cpu":
        return None
    machine = psutil.virtual_memory()
    free = min(machine.available, machine.total, *_left_by_limits())
    return free // int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def _left_by_limits() -> Iterator[int]:
    """The memory left under each limit of a container, a job scheduler or the system."""
    # Not on every system, and in two layouts: one group for all resources, or one for memory alone.
    lines = CONTROL_GROUPS.read_text().splitlines() if CONTROL_GROUPS.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        root, names = LIMITS, ("memory.max", "memory.current")
        if controllers:
            root, names = LIMITS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
        if not controllers or "memory" in controllers.split(","):
            # The limits of parent groups apply as well.
            for folder in (group := root / path.lstrip("/"), *group.parents):
                if folder.is_relative_to(root):
                    yield from _left(folder, *names)


def _left(folder: Path, limit: str, usage: str) -> Iterator[int]:
    """The memory left under the limit of one group, if it has one."""
    try:
        maximum, used = int((folder / limit).read_text()), int((folder / usage).read_text())
        stat = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):  # no such group, or "max"
        return
    # The system releases the page cache when memory runs short.
    kinds = ("active_file", "inactive_file")
    files = sum(int(stat.get(f"total_{kind}", stat.get(kind, 0))) for kind in kinds)
    yield max(maximum - used + files, 0)
