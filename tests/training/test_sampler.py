"""The order of the library's sampler, without its list of all rows."""

from __future__ import annotations

from collections.abc import Sized
from pathlib import Path

import pytest
from accelerate import PartialState, skip_first_batches
from accelerate.data_loader import DataLoaderShard, SeedableRandomSampler, prepare_data_loader
from sentence_transformers.base.sampler import DefaultBatchSampler
from torch.utils.data import DataLoader, RandomSampler
from transformers import TrainerControl, TrainerState, TrainingArguments

from clusterns.training.callbacks import BlockwiseSampler, Order

SEED = 7
BLOCK = BlockwiseSampler.BLOCK


@pytest.mark.parametrize("rows", [1, 63, BLOCK, 2 * BLOCK + 3])
def test_the_order_is_the_library_s_epoch_after_epoch(rows: int) -> None:
    ours = BlockwiseSampler(range(rows), data_seed=SEED)
    theirs = SeedableRandomSampler(range(rows), data_seed=SEED)
    for _ in range(2):
        assert list(ours) == list(theirs)
    for epoch in (5, 0):
        ours.set_epoch(epoch)
        theirs.set_epoch(epoch)
        assert list(ours) == list(theirs)
    assert len(ours) == rows


def loader(rows: Sized, processes: int, index: int) -> DataLoaderShard:
    """The trainer's loader, as one of several processes has it."""
    PartialState(cpu=True)
    sampler = DefaultBatchSampler(RandomSampler(rows), batch_size=4, drop_last=True)
    return prepare_data_loader(
        DataLoader(rows, batch_sampler=sampler, collate_fn=list),  # type: ignore[arg-type]
        num_processes=processes,
        process_index=index,
        even_batches=False,
        use_seedable_sampler=True,
        data_seed=SEED,
    )


def epoch_of(loader: DataLoaderShard, epoch: int, skipped: int) -> list[list[int]]:
    if skipped:
        loader = skip_first_batches(loader, skipped)
    loader.set_epoch(epoch)
    return list(loader)


@pytest.mark.parametrize(("processes", "index"), [(1, 0), (2, 0), (2, 1)])
@pytest.mark.parametrize("skipped", [0, 3])
def test_every_process_gets_the_library_s_batches_also_on_a_resume(
    processes: int, index: int, skipped: int, tmp_path: Path
) -> None:
    rows = range(50)
    arguments = TrainingArguments(output_dir=str(tmp_path), seed=SEED, use_cpu=True)
    for epoch in (0, 3):
        theirs, ours = (loader(rows, processes, index) for _ in range(2))
        Order().on_train_begin(arguments, TrainerState(), TrainerControl(), train_dataloader=ours)
        batches = epoch_of(ours, epoch, skipped)
        assert batches == epoch_of(theirs, epoch, skipped)
        assert len(batches) == 12 // processes - skipped
        assert isinstance(ours.get_sampler(), BlockwiseSampler)
        assert batches[0] != epoch_of(ours, epoch + 1, skipped)[0]
