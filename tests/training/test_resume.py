"""A run that is killed and resumed ends with the weights of one that was not."""

from __future__ import annotations

import json
import shutil
import signal
import time
from pathlib import Path

import pytest
from safetensors.numpy import load_file

from clusterns.training.checkpoints import last_checkpoint, remove_half_written
from tests.helpers.commands import Program, run_cli, run_cli_apart, start_cli
from tests.helpers.texts import sentences


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(sentences(220)))
    return path


def command(corpus: Path, base: Path, output: Path) -> list[str]:
    """Everything that has a state is on: crops, head, masked LM, centroids, several epochs.

    Each step is logged: the mean over several steps starts anew with a resume.
    """
    settings = {
        "batch_size": 16, "clusters": 4, "start_step": 3, "positives": "crop", "pooling": "cls",
        "masked_lm_weight": 0.1, "max_steps": 24, "epochs": 9, "eval_steps": 4, "patience": 30,
        "log_steps": 1, "learning_rate": 1e-3, "heldout": 20,
    }  # fmt: skip
    pairs = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
    return [
        "train",
        str(corpus),
        "--output",
        str(output),
        "--base",
        str(base),
        "--dev",
        "none",
        *pairs,
    ]


def kill_when(process: Program, path: Path, number: int) -> None:
    """Send ``number`` as soon as ``path`` exists."""
    deadline = time.monotonic() + 240
    while not path.exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(number)
    process.wait()


def test_killed_twice_and_resumed_equals_never_killed(
    corpus: Path, tiny_bert: Path, cache: Path, tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert run_cli_apart(*command(corpus, tiny_bert, whole), folder=tmp_path).code == 0

    process = start_cli(*command(corpus, tiny_bert, killed))
    # The folder appears while its files are still being written.
    kill_when(process, killed / "checkpoints" / "checkpoint-8", signal.SIGKILL)
    assert not (killed / "results.json").exists()
    resume = [*command(corpus, tiny_bert, killed), "--resume"]
    process = start_cli(*resume, err=tmp_path / "errors.txt")
    kill_when(process, killed / "checkpoints" / "checkpoint-16", signal.SIGINT)
    assert process.returncode == 130
    assert "--resume" in (tmp_path / "errors.txt").read_text()
    assert run_cli("train", "--output", killed, "--resume").code == 0

    # Killed after the last step, before the results: nothing is left to train.
    (killed / "results.json").unlink()
    shutil.rmtree(killed / "model")
    assert run_cli(*resume).code == 0

    for name in ("model/model.safetensors", "checkpoints/checkpoint-24/loss.safetensors"):
        a, b = load_file(whole / name), load_file(killed / name)
        assert a.keys() == b.keys()
        for key in a:
            assert a[key].tobytes() == b[key].tobytes(), f"{name}: {key}"
    assert (whole / "results.json").read_text() == (killed / "results.json").read_text()
    assert json.loads((whole / "results.json").read_text())["clustering_started_at"] == 3

    def metrics(run: Path) -> list[dict[str, float]]:
        lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        timing = ("runtime", "per_second")
        return [{k: v for k, v in line.items() if not k.endswith(timing)} for line in lines]

    assert metrics(whole) == metrics(killed)


def test_a_half_written_checkpoint_is_never_taken(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    for step, state in (
        (5, '{"global_step": 5}'),
        (10, '{"global_step": 10}'),
        (15, '{"glob'),
        (20, None),
    ):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "model.safetensors").write_bytes(b"half")
        if state is not None:
            (folder / "trainer_state.json").write_text(state)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    remove_half_written(tmp_path)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-10"
    assert not (tmp_path / "checkpoint-15").exists()
    assert not (tmp_path / "checkpoint-20").exists()
