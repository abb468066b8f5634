"""The order of the rows in an epoch, in 8 bytes a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from accelerate.data_loader import DataLoaderShard, SeedableRandomSampler
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

BLOCK = 2**16


class BlockwiseSampler(SeedableRandomSampler):
    """Accelerate's random sampler, in the same order for the same seed and epoch.

    That one makes a list of Python numbers of the whole order, 40 bytes a row, and a second order
    at the end of the epoch that it throws away; this one makes a list of one block at a time.
    """

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.initial_seed + self.epoch)
        order = torch.randperm(len(self.data_source), generator=generator)
        for block in order.split(BLOCK):
            yield from block.tolist()
        self.set_epoch(self.epoch + 1)


class Order(TrainerCallback):
    """Puts the sampler into the trainer's loader.

    Not as its ``batch_sampler`` argument: of that one, several processes that resume would not
    learn the epoch.
    """

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        *,
        train_dataloader: DataLoaderShard,
        **kwargs: Any,
    ) -> None:
        """Take the place of the library's sampler, with the same seed in every process."""
        rows = train_dataloader.dataset
        train_dataloader.set_sampler(BlockwiseSampler(rows, data_seed=args.seed))
