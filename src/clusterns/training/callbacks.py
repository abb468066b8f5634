"""What happens around the steps: one idea a callback."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

from transformers import ProgressCallback, TrainerCallback, TrainerControl, TrainerState
from transformers import TrainingArguments as Arguments

from clusterns.console import bar
from clusterns.files import atomic_file, wrap_os_errors
from clusterns.record import current_metric
from clusterns.training.processes import any_process
from clusterns.training.trainer import ContrastiveTrainer


class Metrics(TrainerCallback):
    """Every log line as a line of JSON in the run folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def on_train_begin(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """On a resume, forget the lines that the run will write again."""
        if not state.is_world_process_zero:
            return
        lines = read_metrics(self.path) if self.path.exists() else []
        with atomic_file(self.path) as temporary, temporary.open("w", encoding="utf-8") as file:
            for line in lines:
                if line["step"] <= state.global_step:
                    file.write(json.dumps(line) + "\n")

    def on_log(
        self,
        args: Arguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Append a line."""
        if state.is_world_process_zero and logs and "train_runtime" not in logs:
            write_metrics(self.path, state.global_step, logs)


def write_metrics(path: Path, step: int, values: dict[str, Any]) -> None:
    """Append one line of metrics."""
    with wrap_os_errors(path), path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"step": step, **values}) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a metrics file; a line cut short by a kill is left out."""
    lines = []
    for line in path.read_text("utf-8").splitlines():
        try:
            values = json.loads(line)
            lines.append({current_metric(name): value for name, value in values.items()})
        except ValueError:
            continue
    return lines


class Validation(TrainerCallback):
    """The base takes part in the choice of the best model, and the last step is validated too."""

    def __init__(self, base_score: float) -> None:
        self.base_score = base_score

    def on_train_begin(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The score to beat at first is that of step 0."""
        if state.global_step == 0:
            state.best_metric = self.base_score

    def on_step_end(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Validate after the last step, whatever the interval."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = True


class Epochs(TrainerCallback):
    """Tells the collator which epoch it is in: a crop depends on it."""

    def __init__(self, trainer: ContrastiveTrainer) -> None:
        self.collator = trainer.data_collator

    def on_epoch_begin(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Another epoch, other crops."""
        self.collator.epoch = int(state.epoch or 0)


class Guard(TrainerCallback):
    """Nothing but numbers is logged, validated or saved."""

    def __init__(self, trainer: ContrastiveTrainer) -> None:
        self.trainer = trainer

    def on_step_end(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Check whenever something is about to be written."""
        if control.should_log or control.should_evaluate or control.should_save:
            self.trainer.check_finite()


class Events(TrainerCallback):
    """The news of the loss's parts ("clustering starts") as lines of the log."""

    def __init__(self, trainer: ContrastiveTrainer) -> None:
        self.trainer = trainer

    def on_step_end(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Log what happened in the step."""
        wanted = control.should_log
        for event in self.trainer.loss.pop_events():
            self.trainer.log({"event": event})  # type: ignore[dict-item]
        control.should_log = wanted  # any line takes it for done


class Interrupt(TrainerCallback):
    """Ctrl-C (or a polite kill) ends the run after the step, with a checkpoint. Ctrl-C twice: at
    once.

    It listens within its ``with`` block, and only in the main thread: signals reach no other.
    """

    def __init__(self) -> None:
        self.asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._before = {s: signal.signal(s, self._ask) for s in (signal.SIGINT, signal.SIGTERM)}

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        # A scheduler and a launcher may each send their SIGTERM.
        if self.asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.asked = True

    def on_step_end(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Save and stop when asked; several processes agree on the step.

        On GPUs they do so with a line of the log, which waits for the device anyway.
        """
        if args.world_size > 1 and args.device.type != "cpu" and not control.should_log:
            return
        if any_process(self.asked):
            self.asked = control.should_save = control.should_training_stop = True


class Progress(ProgressCallback):
    """The library's bar with rate and time left; a line for each event and each validation."""

    def __init__(self, metric: str) -> None:
        super().__init__()
        self.metric = metric

    def on_train_begin(
        self, args: Arguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """The library's bar, on a terminal only; the lines are written everywhere."""
        if state.is_world_process_zero:
            self.training_bar = bar(total=state.max_steps, dynamic_ncols=True)
        self.current_step = 0

    def on_log(
        self,
        args: Arguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Show the loss beside the bar, and an event above it."""
        if self.training_bar is None or not logs:
            return
        if "loss" in logs:
            self.training_bar.set_postfix(loss=f"{logs['loss']:.3f}")
        if "event" in logs:
            self.training_bar.write(f"step {state.global_step}: {logs['event']}", file=sys.stderr)

    def on_evaluate(
        self,
        args: Arguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: dict[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """One line for each validation."""
        super().on_evaluate(args, state, control, metrics=metrics, **kwargs)
        if self.training_bar is not None and metrics and self.metric in metrics:
            # The library has not yet compared this score with the best one.
            score, best = metrics[self.metric], state.best_metric
            mark = "  best so far" if best is None or score > best else f"  (best {best:.4f})"
            line = f"step {state.global_step}: {self.metric[5:]} {score:.4f}{mark}"
            self.training_bar.write(line, file=sys.stderr)
