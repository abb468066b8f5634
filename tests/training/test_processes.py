"""What two processes say to each other, and how long they wait."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from clusterns.errors import UserError
from clusterns.training import processes
from tests.helpers.two_processes import join, start_two


def process(rank: int, folder: Path) -> None:
    join(rank, folder)
    assert processes.first_process_does(lambda: 7) == (None if rank else 7)
    groups = dist.distributed_c10d._world.pg_map
    before = set(groups)
    assert processes.first_process_does(lambda: 8, for_hours=True) == (None if rank else 8)
    (patient,) = set(groups) - before
    waits = patient._get_backend(torch.device("cpu")).options._timeout
    assert waits == processes.CORPUS_TIMEOUT == timedelta(hours=12)

    def refuse() -> None:
        raise UserError("no such corpus")

    for for_hours in (False, True):
        with pytest.raises(UserError, match="no such corpus"):
            processes.first_process_does(refuse, for_hours=for_hours)
    if rank == 1:
        (folder / "prepared").touch()
    processes.wait_for_others()
    assert (folder / "prepared").exists()
    assert processes.any_process(rank == 1)
    assert not processes.any_process(False)
    assert processes.averaged({"value": float(rank)}) == {"value": 0.5}


def test_only_the_wait_for_the_corpus_lasts_hours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_two(process, tmp_path)
    asked: dict[str, object] = {}
    monkeypatch.setattr(processes, "PartialState", lambda **options: asked.update(options))
    processes.processes()
    assert asked["timeout"] == processes.TIMEOUT <= timedelta(minutes=30)
