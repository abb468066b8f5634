"""The processes that train together."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from datetime import timedelta
from functools import cache
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from accelerate import PartialState
from accelerate.utils import gather_object, parse_flag_from_env, reduce

from clusterns.errors import UserError

Result = TypeVar("Result")

# Timeouts after which a process reports that another one is lost. Preparing a corpus, which only the
# first process does, may take hours.
TIMEOUT, CORPUS_TIMEOUT = timedelta(minutes=30), timedelta(hours=12)
# Environment variables of accelerate's launcher for features that are not supported.
UNSUPPORTED = {
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "a parallelism configuration",
}


def check_launcher() -> None:
    """Refuse launchers that split the model: the losses embed a batch with all of it."""
    for variable, name in UNSUPPORTED.items():
        if parse_flag_from_env(variable):
            raise UserError(
                f"the launcher asks for {name}, which splits the model over devices, but every device "
                "must hold all of it. Start with torchrun or `accelerate launch --multi_gpu`; if memory "
                "is short, set gradient_cache=true."
            )


def processes() -> PartialState:
    """This process's rank among those that a launcher (torchrun, accelerate) has started."""
    return PartialState(cpu=not torch.accelerator.is_available(), timeout=TIMEOUT)


def first_process_does(work: Callable[[], Result], *, for_hours: bool = False) -> Result | None:
    """Run ``work`` in the first process while the others wait; its UserError is raised in all of them.

    Args:
        work: the function to run.
        for_hours: use the long timeout, as for preparing a corpus.

    Returns:
        The result of ``work`` in the first process, and None in the others.
    """
    here = processes()
    several = here.num_processes > 1
    group = _patient_group() if several and for_hours else None
    refused: list[UserError | None] = [None]
    result = None
    if here.is_main_process:
        try:
            result = work()
        except UserError as error:
            refused = [error]
    if several:
        dist.broadcast_object_list(refused, src=0, group=group)
    if refused[0] is not None:
        raise refused[0]
    return result


def wait_for_others() -> None:
    """Wait for all processes, with the long timeout."""
    if processes().num_processes > 1:
        dist.barrier(group=_patient_group())


@cache
def _patient_group() -> Any:
    """A second group of all processes, with the long timeout."""
    return dist.new_group(backend="gloo", timeout=CORPUS_TIMEOUT)


def averaged(values: dict[str, float]) -> dict[str, float]:
    """The mean of each value over the processes, which must all call this at the same time."""
    everywhere: list[dict[str, float]] = gather_object([values])
    return {key: statistics.fmean(each[key] for each in everywhere) for key in values}


def any_process(flag: bool) -> bool:
    """Whether ``flag`` holds in any of the processes, which must all call this at the same time."""
    here = processes()
    if here.num_processes == 1:
        return flag
    return bool(reduce(torch.tensor(int(flag), device=here.device), "sum"))
