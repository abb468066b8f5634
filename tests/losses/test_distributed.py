"""Two processes with half of the rows each equal one process with all of them, for every part."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import Tensor

from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.dclr import Guide, NoiseNegatives
from clusterns.losses.esimcse import MomentumQueue
from clusterns.losses.mixcse import MixedNegatives
from clusterns.losses.part import Part
from clusterns.losses.third_view import SoftNegatives, ThirdViewNegatives
from clusterns.methods.dclr import GuideSettings, NoiseSettings
from clusterns.methods.esimcse import QueueSettings
from clusterns.methods.mixcse import MixingSettings
from clusterns.methods.sncse import SoftNegativeSettings
from tests.helpers.two_processes import join, start_two
from tests.helpers.vectors import STEPS, LinearEncoder, N, Vectors, batches, features
from tests.losses.by_hand import views

CLUSTERING: dict[str, dict[str, Any]] = {
    "paper": {"margin_weight": 3.0, "momentum": 0.1},
    "released": {"margin_weight": 3.0, "momentum": 0.1, "variant": "released"},
    "random": {"margin_weight": 3.0, "random_clusters": True},
    "masked": {"false_negatives": "mask"},
    "clustering cached": {"margin_weight": 3.0, "gradient_cache": True, "mini_batch_size": 3},
}
PARTS: dict[str, Callable[[Any], Part]] = {
    "queue": lambda encoder: MomentumQueue(QueueSettings(queue_momentum=0.8), encoder, 30),
    "noise": lambda _: NoiseNegatives(
        NoiseSettings(noise_ratio=1.5, noise_steps=2, noise_step_size=0.5)
    ),
    "guide": lambda _: Guide(GuideSettings(guide_threshold=0.3), Vectors(), column=-1),  # type: ignore[arg-type]
    "mixing": lambda _: MixedNegatives(MixingSettings(mixed_both_sides=True)),
    "third view": lambda _: ThirdViewNegatives(),
    "soft": lambda _: SoftNegatives(SoftNegativeSettings(soft_weight=2.0)),
}
ALL = {"all": {}, "all cached": {"gradient_cache": True, "mini_batch_size": 5}}


def steps(name: str, rank: int = 0, world: int = 1) -> dict[str, Tensor]:
    """Values, gradients (averaged as data parallelism does) and the state after a few steps."""
    encoder: Any = LinearEncoder()
    if name in CLUSTERING:
        loss: ContrastiveLoss = ClusterNSLoss(encoder, clusters=4, sigma=0.9, **CLUSTERING[name])
        columns = batches()
    else:
        made = [make(encoder) for key, make in PARTS.items() if name in (key, *ALL)]
        frame: dict[str, Any] = ALL.get(name, {})
        loss = ContrastiveLoss(encoder, parts=made, views=3, auxiliary_columns=1, **frame)
        columns = [(*some, some[0]) for some in views(3)]
    loss = loss.double()
    mine = slice(rank * N // world, (rank + 1) * N // world)
    values, gradients = [], []
    for some in columns:
        encoder.zero_grad()
        # Labels go along, for parts that read them.
        value = loss([features(view.detach()[mine]) for view in some], torch.arange(N)[mine] // 2)
        value.backward()
        result = [value.detach(), encoder.linear.weight.grad.clone()]
        if world > 1:
            for tensor in result:
                dist.all_reduce(tensor)
                tensor /= world
        with torch.no_grad():
            encoder.linear.weight -= 0.05 * result[1]
        values.append(result[0])
        gradients.append(result[1])
    state = {k: v for k, v in loss.state_dict().items() if not k.startswith("model.")}
    return {"values": torch.stack(values), "gradients": torch.stack(gradients), **state}


def process(rank: int, folder: Path) -> None:
    join(rank, folder)
    for name in (*CLUSTERING, *PARTS, *ALL):
        torch.save(steps(name, rank, 2), folder / f"{name}-{rank}.pt")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    start_two(process, folder)
    return folder


@pytest.mark.parametrize("name", [*CLUSTERING, *PARTS, *ALL])
def test_two_processes_equal_one(two_processes: Path, name: str) -> None:
    one = steps("all" if name in ALL else name)
    ranks = [torch.load(two_processes / f"{name}-{rank}.pt", weights_only=True) for rank in (0, 1)]
    for key, value in one.items():
        torch.testing.assert_close(ranks[0][key], value, atol=1e-9, rtol=1e-9)
        near = 0 if name in CLUSTERING else 1e-12
        torch.testing.assert_close(ranks[1][key], ranks[0][key], atol=near, rtol=near)
    if name in CLUSTERING:
        part = "ReleasedClustering" if name == "released" else "Clustering"
        step, started_at = one[f"parts.{part}._extra_state"].tolist()
        assert step == STEPS
        assert started_at > 0, "clustering never started: the test shows nothing"
    if name in {"queue", *ALL}:
        assert one["parts.MomentumQueue._extra_state"].tolist() == [30]
        assert one["parts.MomentumQueue.vectors"].abs().min(1).values.gt(0).all()
