"""The processes that train together."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

import torch
from accelerate import PartialState
from accelerate.utils import broadcast_object_list, gather_object, parse_flag_from_env, reduce

from clusterns.errors import UserError

Result = TypeVar("Result")

# The others wait while the first process prepares a corpus, which may take hours.
LONGEST_WAIT = timedelta(hours=12)


# What accelerate's launcher says in the environment of the processes that it starts.
UNSUPPORTED = {
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "a parallelism configuration",
}


def check_launcher() -> None:
    """Refuse ways to train that split a model: a loss here embeds a batch with a whole one."""
    for variable, name in UNSUPPORTED.items():
        if parse_flag_from_env(variable):
            raise UserError(
                f"the launcher asks for {name}, which splits the model over devices; here every "
                "device holds all of it. Start with torchrun or `accelerate launch --multi_gpu`, and "
                "where memory is short set gradient_cache=true."
            )


def processes() -> PartialState:
    """This process's place among those that a launcher (torchrun, accelerate) has started."""
    return PartialState(cpu=not torch.accelerator.is_available(), timeout=LONGEST_WAIT)


def first_process_does(work: Callable[[], Result]) -> Result | None:
    """Let the first process work while the others wait; what it refuses, all of them refuse.

    Returns:
        What came of it, to the first process only.
    """
    refused: list[UserError | None] = [None]
    found = None
    if processes().is_main_process:
        try:
            found = work()
        except UserError as error:
            refused = [error]
    (error_of_first,) = broadcast_object_list(refused)
    if error_of_first is not None:
        raise error_of_first
    return found


def averaged(values: dict[str, float]) -> dict[str, float]:
    """The mean of each value over the processes, all of which must ask at the same time."""
    everywhere: list[dict[str, float]] = gather_object([values])
    return {key: statistics.fmean(each[key] for each in everywhere) for key in values}


def any_process(flag: bool) -> bool:
    """Whether ``flag`` holds in any of the processes, all of which must ask at the same time."""
    here = processes()
    if here.num_processes == 1:
        return flag
    return bool(reduce(torch.tensor(int(flag), device=here.device), "sum"))
