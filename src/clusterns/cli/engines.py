"""Options of commands that hand out programs: where they run."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.lab.launch import Launcher


class On(str, Enum):
    """What can be asked for with --on."""

    local = "local"
    ray = "ray"
    slurm = "slurm"


OnOption = Annotated[
    On,
    typer.Option(
        help="Where it runs: processes here, Ray (a cluster by RAY_ADDRESS, else here), or Slurm."
    ),
]
GpusOption = Annotated[int, typer.Option(min=0, help="GPUs for each (ray, slurm).")]
SlurmOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Of each Slurm job, as submitit takes it: slurm_partition=gpu, timeout_min=120. May "
        "be given several times.",
        show_default=False,
    ),
]


def find_launcher(on: On, folder: Path, gpus: int, slurm: list[str] | None) -> Launcher:
    """The launcher that the options ask for."""
    from clusterns.lab.launchers import make_launcher

    pairs = [each.partition("=") for each in slurm or ()]
    for key, equals, _ in pairs:
        if not key or not equals:
            raise UserError(f"--slurm {key}: write KEY=VALUE, such as timeout_min=120.")
    parameters = {key: int(v) if v.isdecimal() else v for key, _, v in pairs}
    return make_launcher(on.value, folder, gpus, parameters)
