"""Two processes with half of the rows each equal one process with all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn

from clusterns.losses.clusterns import ClusterNSLoss
from tests.helpers.two_processes import join, start_two
from tests.helpers.vectors import STEPS, Vectors, batches, features

SETTINGS = {
    "paper": {"margin_weight": 3.0, "momentum": 0.1},
    "released": {"margin_weight": 3.0, "momentum": 0.1, "variant": "released"},
    "random": {"margin_weight": 3.0, "random_clusters": True},
    "masked": {"false_negatives": "mask"},
    "cached": {"margin_weight": 3.0, "gradient_cache": True, "mini_batch_size": 3},
}


class Encoder(Vectors):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = nn.Linear(self.dimension, self.dimension, dtype=torch.float64)

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        return {"sentence_embedding": self.linear(features["vectors"])}


def steps(settings: dict, rank: int = 0, world: int = 1) -> dict[str, Tensor]:
    """Values, gradients (averaged as data parallelism does) and centroids of a few steps."""
    encoder = Encoder()
    loss = ClusterNSLoss(encoder, clusters=4, sigma=0.9, **settings).double()
    values, gradients = [], []
    for anchors, positives in batches():
        mine = slice(rank * len(anchors) // world, (rank + 1) * len(anchors) // world)
        encoder.zero_grad()
        value = loss([features(anchors.detach()[mine]), features(positives.detach()[mine])])
        value.backward()
        result = [value.detach(), encoder.linear.weight.grad.clone()]
        if world > 1:
            for tensor in result:
                dist.all_reduce(tensor)
                tensor /= world
        values.append(result[0])
        gradients.append(result[1])
    return {
        "values": torch.stack(values),
        "gradients": torch.stack(gradients),
        "centroids": loss.centroids,
        "counters": loss.clustering.get_extra_state(),
    }


def process(rank: int, folder: Path) -> None:
    join(rank, folder)
    for name, settings in SETTINGS.items():
        torch.save(steps(settings, rank, 2), folder / f"{name}-{rank}.pt")


@pytest.fixture(scope="module")
def two_processes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ranks")
    start_two(process, folder)
    return folder


@pytest.mark.parametrize("name", SETTINGS)
def test_two_processes_equal_one(two_processes: Path, name: str) -> None:
    one = steps(SETTINGS[name])
    ranks = [torch.load(two_processes / f"{name}-{rank}.pt", weights_only=True) for rank in (0, 1)]
    assert one["counters"].tolist()[0] == STEPS
    assert one["counters"].tolist()[1] > 0, "clustering never started: the test shows nothing"
    for key, value in one.items():
        torch.testing.assert_close(ranks[0][key], value, atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(ranks[1][key], ranks[0][key], atol=0, rtol=0)
