"""A run on two processes is the run on one: same recipe, same rows, same numbers."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from tests.training.test_resume import WORDS, environment

SETTINGS = {
    "batch_size": 16, "clusters": 4, "start_step": 3, "positives": "crop", "pooling": "cls",
    "dropout": 0.0, "max_steps": 12, "eval_steps": 4, "patience": 0, "log_steps": 1,
    "learning_rate": 1e-4, "margin_weight": 1.0, "heldout": 20,
}  # fmt: skip
PAIR = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "clusterns"]


def command(launch: list[str], corpus: Path, base: Path, output: Path) -> list[str]:
    pairs = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
    return [
        sys.executable, *launch, "train", str(corpus), "--output", str(output),
        "--base", str(base), "--dev", "none", *pairs,
    ]  # fmt: skip


def metrics(run: Path) -> list[dict[str, float]]:
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in line.items() if not k.endswith(("time", "second"))} for line in lines]


def test_two_processes_killed_and_resumed_on_one_equal_one_process(
    tiny_bert: Path, tmp_path: Path
) -> None:
    generator = random.Random(1)
    corpus = tmp_path / "corpus.txt"
    lines = [" ".join(generator.choices(WORDS, k=generator.randint(6, 12))) for _ in range(220)]
    corpus.write_text("\n".join(lines))
    env = environment(tmp_path)
    one, two = tmp_path / "one", tmp_path / "two"
    subprocess.run(
        command(["-m", "clusterns"], corpus, tiny_bert, one),
        env=env,
        check=True,
        capture_output=True,
    )
    process = subprocess.Popen(
        command(PAIR, corpus, tiny_bert, two),
        env=env,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    deadline = time.monotonic() + 300
    while not (two / "checkpoints" / "checkpoint-8" / "trainer_state.json").exists():
        assert process.poll() is None, process.stderr.read().decode()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)  # the launcher and both of its processes
    process.wait()
    resumed = [*command(["-m", "clusterns"], corpus, tiny_bert, two), "--resume"]
    subprocess.run(resumed, env=env, check=True, capture_output=True)

    for a, b in zip(metrics(one), metrics(two), strict=True):
        assert (a["step"], a.keys()) == (b["step"], b.keys())
        # Exact equality is the losses' own test; here the last digit of a near tie may move a
        # sample to another cluster.
        for key in {
            "loss",
            "positive_similarity",
            "negative_similarity",
            "learning_rate",
        } & a.keys():
            assert b[key] == pytest.approx(a[key], rel=0.02, abs=1e-4), (key, a["step"])
    last = [run / "checkpoints" / "checkpoint-12" for run in (one, two)]
    base = load_file(tiny_bert / "model.safetensors")
    weights = [load_file(folder / "model.safetensors") for folder in last]
    moved = apart = 0.0
    for key, value in weights[0].items():
        if f"bert.{key}" in base:
            moved += float(abs(value - base[f"bert.{key}"]).sum())
            apart += float(abs(value - weights[1][key]).sum())
    assert 0 < apart < 0.1 * moved
    started = [load_file(folder / "loss.safetensors")["centroids.vectors"] for folder in last]
    assert abs(started[0] - started[1]).max() < 1e-3
