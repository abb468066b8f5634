"""Callbacks and the sampler of the trainer."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from accelerate.data_loader import DataLoaderShard, SeedableRandomSampler
from transformers import ProgressCallback, TrainerCallback
from transformers import TrainerControl as Control
from transformers import TrainerState as State
from transformers import TrainingArguments as Args

from clusterns.console import bar
from clusterns.files import atomic_file, wrap_os_errors
from clusterns.training.folder import read_metrics
from clusterns.training.processes import any_process
from clusterns.training.trainer import ContrastiveTrainer


class History(TrainerCallback):
    """Write each log line as a line of JSON, and include the base in the selection of the best model."""

    def __init__(self, path: Path, base_score: float) -> None:
        self.path = path
        self.base_score = base_score

    def on_train_begin(self, args: Args, state: State, control: Control, **kwargs: Any) -> None:
        """Set the first score to beat; on a resume, drop the lines that the run will write again."""
        if state.global_step == 0:
            state.best_metric = self.base_score
        if state.is_world_process_zero:
            base = [line for line in read_metrics(self.path) if line["step"] == 0]
            with atomic_file(self.path) as temporary:
                temporary.write_text("".join(map(_json_line, [*base, *state.log_history])), "utf-8")

    def on_log(
        self, args: Args, state: State, control: Control, logs: Any = None, **kwargs: Any
    ) -> None:
        """Append a line."""
        if state.is_world_process_zero and logs and "train_runtime" not in logs:
            write_metrics(self.path, state.global_step, logs)


def write_metrics(path: Path, step: int, values: dict[str, Any]) -> None:
    """Append one line of metrics."""
    with wrap_os_errors(path), path.open("a", encoding="utf-8") as file:
        file.write(_json_line({**values, "step": step}))


def _json_line(values: dict[str, Any]) -> str:
    return json.dumps({"step": values["step"], **values}) + "\n"


class Steps(TrainerCallback):
    """Set the epoch of random views before a step; check values and log events after it."""

    def __init__(self, trainer: ContrastiveTrainer) -> None:
        self.trainer = trainer

    def on_epoch_begin(self, args: Args, state: State, control: Control, **kwargs: Any) -> None:
        """Set the epoch of the collator; random views depend on it."""
        self.trainer.data_collator.epoch = int(state.epoch or 0)

    def on_step_end(self, args: Args, state: State, control: Control, **kwargs: Any) -> None:
        """Stop before NaN is logged, validated or saved; log the events of the loss ("clustering starts")."""
        if control.should_log or control.should_evaluate or control.should_save:
            self.trainer.check_finite()
        should_log = control.should_log
        for event in self.trainer.loss.pop_events():
            self.trainer.log({"event": event})  # type: ignore[dict-item]
        control.should_log = should_log  # which any log line resets


class Interrupt(TrainerCallback):
    """Ctrl-C or SIGTERM ends the run after the step, with a checkpoint. A second Ctrl-C ends it at once.

    It handles signals within its ``with`` block, and only in the main thread, which receives them.
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {
                s: signal.signal(s, self._request) for s in (signal.SIGINT, signal.SIGTERM)
            }

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _request(self, number: int, frame: FrameType | None) -> None:
        # A scheduler and a launcher may both send SIGTERM.
        if self.requested and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = True

    def on_step_end(self, args: Args, state: State, control: Control, **kwargs: Any) -> None:
        """Save and stop if a signal was received; all processes stop at the same step.

        On GPUs they synchronize only in logged steps, which wait for the device anyway.
        """
        if args.world_size > 1 and args.device.type != "cpu" and not control.should_log:
            return
        if any_process(self.requested):
            self.requested = control.should_save = control.should_training_stop = True


class Progress(ProgressCallback):
    """The library's progress bar, with a line for each event and each validation."""

    def __init__(self, metric: str) -> None:
        super().__init__()
        self.metric = metric

    def on_train_begin(self, args: Args, state: State, control: Control, **kwargs: Any) -> None:
        """Show the bar on a terminal only; the lines are always written."""
        if state.is_world_process_zero:
            self.training_bar = bar(total=state.max_steps, dynamic_ncols=True)
        self.current_step = 0

    def on_log(
        self, args: Args, state: State, control: Control, logs: Any = None, **kwargs: Any
    ) -> None:
        """Show the loss next to the bar, and events above it."""
        if self.training_bar is None or not logs:
            return
        if "loss" in logs:
            self.training_bar.set_postfix(loss=f"{logs['loss']:.3f}")
        if "event" in logs:
            self.training_bar.write(f"step {state.global_step}: {logs['event']}", file=sys.stderr)

    def on_evaluate(
        self, args: Args, state: State, control: Control, metrics: Any = None, **kwargs: Any
    ) -> None:
        """Write a line for each validation."""
        super().on_evaluate(args, state, control, metrics=metrics, **kwargs)
        if self.training_bar is not None and metrics and self.metric in metrics:
            # The library has not yet compared this score with the best one.
            score, best = metrics[self.metric], state.best_metric
            mark = "  best so far" if best is None or score > best else f"  (best {best:.4f})"
            line = f"step {state.global_step}: {self.metric[5:]} {score:.4f}{mark}"
            self.training_bar.write(line, file=sys.stderr)


class BlockwiseSampler(SeedableRandomSampler):
    """Accelerate's random sampler in blocks: the same order for the same seed and epoch.

    The library's sampler converts the entire order to Python numbers, 40 bytes per row, and at the end of an
    epoch also a second order, which it discards.
    """

    BLOCK = 2**16

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.initial_seed + self.epoch)
        order = torch.randperm(len(self.data_source), generator=generator)
        for block in order.split(self.BLOCK):
            yield from block.tolist()
        self.set_epoch(self.epoch + 1)


class Order(TrainerCallback):
    """Makes the trainer's loader use the blockwise sampler.

    The trainer's ``batch_sampler`` argument does not work here: if several processes resume, that sampler
    does not receive the epoch.
    """

    def on_train_begin(
        self, args: Args, state: State, control: Control, *, train_dataloader: DataLoaderShard,
        **kwargs: Any,
    ) -> None:  # fmt: skip
        """Replace the library's sampler, with the same seed in every process."""
        rows = train_dataloader.dataset
        train_dataloader.set_sampler(BlockwiseSampler(rows, data_seed=args.seed))
