"""The example package, installed and trained as a user would."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# Two samples at right angles, tau = 1: log(e^0) - 1, since e^1 has left the denominator.
BY_HAND = """
import torch
from clusterns.losses.part import Batch
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.methods.registry import get_part
part = get_part("decoupling")().make_part(None)
loss = ContrastiveLoss(torch.nn.Identity(), 1.0, parts=[part])
print(loss.compare(Batch.of(torch.eye(2), torch.eye(2))).item())
"""
EXAMPLE = Path(__file__).parents[2] / "examples" / "decoupled"


def test_a_package_outside_adds_a_method(tiny_bert: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
            "--no-index", "--target", str(site), str(EXAMPLE),
        ],
        check=True,
    )  # fmt: skip
    corpus = tmp_path / "corpus.txt"
    corpus.write_text(
        "\n".join(f"the {i} th line of a small corpus about {i % 7}" for i in range(80))
    )
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path,
                   "CLUSTERNS_CACHE": str(tmp_path / "cache")}  # fmt: skip
    settings = ["batch_size=16", "max_steps=3", "eval_steps=3", "heldout=8", "log_steps=1"]
    run = tmp_path / "run"
    subprocess.run(
        [
            sys.executable, "-m", "clusterns", "train", str(corpus), "--output", str(run),
            "--base", str(tiny_bert), "--method", "decoupled",
            *(word for setting in settings for word in ("--set", setting)),
        ],
        check=True, env=environment,
    )  # fmt: skip
    assert json.loads((run / "results.json").read_text())["steps"] == 3
    assert "method: decoupled" in (run / "recipe.yaml").read_text()
    assert (run / "model" / "modules.json").is_file()
    value = subprocess.run(
        [sys.executable, "-c", BY_HAND], check=True, env=environment, capture_output=True, text=True
    )
    assert float(value.stdout) == pytest.approx(-1.0, abs=1e-6)
