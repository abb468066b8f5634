"""Train sentence embeddings from plain text, without labels."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

# Threads that spin while they wait for each other cost most of the time on a machine that does
# something else as well. The runtime reads this once, when torch is loaded.
if "GOMP_SPINCOUNT" not in os.environ:
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from clusterns.commands.adapt import adapt as adapt
    from clusterns.commands.compare import compare as compare
    from clusterns.commands.encode import encode as encode
    from clusterns.commands.evaluate import evaluate as evaluate
    from clusterns.commands.explore import explore as explore
    from clusterns.commands.inspect import inspect as inspect
    from clusterns.commands.lab import lab_list as lab_list
    from clusterns.commands.lab import lab_run as lab_run
    from clusterns.commands.lab import lab_search as lab_search
    from clusterns.commands.lab_results import lab_figures as lab_figures
    from clusterns.commands.lab_results import lab_record as lab_record
    from clusterns.commands.lab_results import lab_report as lab_report
    from clusterns.commands.lab_results import lab_restore as lab_restore
    from clusterns.commands.lab_results import lab_table as lab_table
    from clusterns.commands.lance import lance as lance
    from clusterns.commands.push import push as push
    from clusterns.commands.recipes import recipes as recipes
    from clusterns.commands.report import report as report
    from clusterns.commands.search import search as search
    from clusterns.commands.similar import similar as similar
    from clusterns.commands.topics import topics as topics
    from clusterns.commands.train import train as train
    from clusterns.encoder.load import load_base as load_base
    from clusterns.losses.clusterns import ClusterNSLoss as ClusterNSLoss
    from clusterns.losses.contrastive import ContrastiveLoss as ContrastiveLoss
    from clusterns.training.trainer import ContrastiveTrainer as ContrastiveTrainer

_COMMANDS = (
    "adapt", "compare", "encode", "evaluate", "explore", "inspect", "lance", "push", "recipes", "report",
    "search", "similar", "topics", "train",
)  # fmt: skip
_LAB_RESULTS = ("lab_figures", "lab_record", "lab_report", "lab_restore", "lab_table")
# Where each public name is defined; it is imported when it is first used.
_HOMES = {
    **{name: f"clusterns.commands.{name}" for name in _COMMANDS},
    **dict.fromkeys(("lab_list", "lab_run", "lab_search"), "clusterns.commands.lab"),
    **dict.fromkeys(_LAB_RESULTS, "clusterns.commands.lab_results"),
    "ClusterNSLoss": "clusterns.losses.clusterns",
    "ContrastiveLoss": "clusterns.losses.contrastive",
    "ContrastiveTrainer": "clusterns.training.trainer",
    "load_base": "clusterns.encoder.load",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    # On first use: the command line must not wait for torch.
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'clusterns' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
