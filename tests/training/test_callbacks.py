from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from datasets import Dataset
from transformers import TrainerControl, TrainerState, TrainingArguments

from clusterns.training.callbacks import Interrupt
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from clusterns.views.collator import ViewCollator
from tests.helpers.models import Scripted


@pytest.fixture
def arguments() -> TrainingArguments:
    return TrainingArguments(use_cpu=True, report_to="none")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_once_the_run_is_saved_and_ends_ctrl_c_again_ends_it_at_once(
    arguments: TrainingArguments, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    interrupt, control = Interrupt(), TrainerControl()
    with interrupt:
        interrupt.on_step_end(arguments, TrainerState(), control)
        assert not control.should_training_stop
        os.kill(os.getpid(), number)
        interrupt.on_step_end(arguments, TrainerState(), control)
        assert interrupt.requested
        assert control.should_save
        assert control.should_training_stop
        os.kill(os.getpid(), signal.SIGTERM)  # a scheduler's and a launcher's: one wish
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(number) is before


def test_each_epoch_has_crops_of_its_own(tiny_bert: Path, tmp_path: Path) -> None:
    chosen = load_recipe(
        "default",
        {"base": str(tiny_bert), "method": "simcse", "positives": "crop", "batch_size": 4,
         "max_steps": 6, "epochs": 3, "eval_steps": 6, "dropout": 0.0},
    )  # fmt: skip
    texts = [f"{word} and the old stone bridge over the river" for word in "abcdefgh"]
    seen: list[tuple[int, tuple[int, ...]]] = []
    call = ViewCollator.__call__

    def collate(self: ViewCollator, rows: list[dict[str, Any]]) -> dict[str, Any]:
        batch = call(self, rows)
        seen.extend((self.epoch, tuple(ids)) for ids in batch["anchor_input_ids"].tolist())
        return batch

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ViewCollator, "__call__", collate)
        rows = Dataset.from_dict({"text": texts})
        train(chosen, rows, Scripted([0.1, 0.2]), RunFolder(tmp_path / "run"), quiet=True)
    epochs = [{ids for epoch, ids in seen[1:] if epoch == number} for number in range(3)]
    assert all(len(each) >= 7 for each in epochs)
    assert not epochs[0] == epochs[1] == epochs[2]
    assert epochs[1] - epochs[0]


def test_an_error_in_training_gives_the_signals_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="disk"), Interrupt():
        raise OSError("disk")
    assert signal.getsignal(signal.SIGINT) is before
