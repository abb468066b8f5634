from __future__ import annotations

import os
import signal

import pytest
from transformers import TrainerControl, TrainerState, TrainingArguments

from clusterns.training.callbacks import Interrupt


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
        assert interrupt.asked
        assert control.should_save
        assert control.should_training_stop
        os.kill(os.getpid(), signal.SIGTERM)  # a scheduler's and a launcher's: one wish
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(number) is before


def test_an_error_in_training_gives_the_signals_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(OSError, match="disk"), Interrupt():
        raise OSError("disk")
    assert signal.getsignal(signal.SIGINT) is before
