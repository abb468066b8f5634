"""An encoding handed out: a share of the shards for each worker, on any engine."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.lab.engines.driver import Driver, Task
from clusterns.lab.engines.program import Program
from clusterns.vectors.manifest import COMPLETE

if TYPE_CHECKING:
    from clusterns.api.encode import EncodingPlan
    from clusterns.lab.engines.engine import Engine


def scratch_of(output: Path) -> Path:
    """A folder beside the vectors for the logs of the programs and the files of an engine."""
    output = output.resolve()
    return output.with_name(f".{output.name}.encode")


def encode_on(plan: EncodingPlan, engine: Engine, workers: int) -> dict[str, int]:
    """Hand out a share for each worker; what a killed one had finished is kept.

    Returns:
        How many shards and texts there are.
    """
    scratch = scratch_of(plan.output)
    tasks = []
    for index in range(workers):
        log = scratch / f"share-{index}.txt"
        program = Program(tuple(arguments(plan, index, workers)), str(log))
        tasks.append(Task(f"share {index} of {workers}", program))
    failed = Driver(engine, workers, unit="share", title="Encode").run(tasks)
    if failed:
        name, why = next(iter(failed.items()))
        raise UserError(f"{len(failed)} of {workers} shares failed, first {name}: {why}")
    shutil.rmtree(scratch, ignore_errors=True)
    return read_json(plan.output / COMPLETE)


def arguments(plan: EncodingPlan, index: int, count: int) -> list[str]:
    """The command that makes one share of a plan."""
    settings, loading = plan.settings, plan.loading
    options = {
        "output": plan.output, "format": settings.format, "precision": settings.precision,
        "shard": f"{index}/{count}", "shard-size": settings.shard_size, "column": settings.column,
        "id-column": settings.id_column, "batch-size": plan.batch_size,
        "pooling": loading.pooling, "max-length": loading.max_length,
        "prompt-name": loading.prompt_name, "truncate-dim": loading.truncate_dim,
        "dtype": loading.dtype,
    }  # fmt: skip
    words = ["encode", plan.model, *plan.corpus]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name}", str(value)]
    for device in plan.devices:
        words += ["--device", device]
    if settings.normalize:
        words.append("--normalise")
    if not settings.text:
        words.append("--no-text")
    return words
