"""Shards handed out to workers that may be killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from clusterns.commands.encode import EncodeCommand
from clusterns.commands.workers import program
from clusterns.errors import UserError
from tests.helpers.commands import run_cli


def command(model: Path, corpus: Path, output: Path, **options: Any) -> EncodeCommand:
    return EncodeCommand(
        model=model, corpus=[corpus], output=output, pooling="mean", shard_size=50, **options
    )


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    lines = [f"line {n} is about {'rivers ' * (n % 13)}and {n % 7} towns" for n in range(3000)]
    file.write_text("\n".join(lines), "utf-8")
    return file


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def kill_a_worker(output: Path, killed: list[int]) -> None:
    """Kill the process that makes share 1, once that has made something."""
    while not (output / "shard-00001.parquet").is_file():
        time.sleep(0.01)
    lock = output.with_name(f".{output.name}, part 1 of 2.lock")
    killed.append(int(lock.read_text("utf-8").split()[1]))
    os.kill(killed[0], signal.SIGKILL)


@pytest.mark.slow
def test_a_ray_worker_killed_in_the_middle_changes_nothing(
    ray_place: Path, tiny_bert: Path, corpus: Path, tmp_path: Path, capsys
) -> None:
    command(tiny_bert, corpus, tmp_path / "whole").execute()
    asked = command(tiny_bert, corpus, tmp_path / "shared", on="ray")
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_worker, args=(tmp_path / "shared", killed))
    killer.start()
    capsys.readouterr()
    asked.execute()
    killer.join()
    assert killed
    out, err = capsys.readouterr()
    assert "3,000 texts in 60 shards" in out
    assert "share 1 of 2 was lost with its worker; retrying 2/3" in err
    assert content(tmp_path / "shared") == content(tmp_path / "whole")
    assert not asked.scratch.exists()


def test_a_worker_receives_every_option(
    tiny_bert: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = EncodeCommand(
        model=tiny_bert, corpus=[corpus, corpus], output=tmp_path / "out",
        precision="int8", normalize=True, text=False, column="body", id_column="key", shard="1/3",
        shard_size=7, batch_size=3, pooling="mean", max_length=9, prompt_name="query",
        truncate_dim=5, device=["cpu", "cuda:1"], dtype="bfloat16", slurm={"timeout_min": 2},
    )  # fmt: skip
    seen: list[EncodeCommand] = []
    monkeypatch.setattr(EncodeCommand, "run", lambda self: seen.append(self))
    monkeypatch.setattr(EncodeCommand, "show", lambda *_: None)
    assert run_cli(*program("encode", asked, tmp_path / "log").arguments).code == 0
    assert [each.model_dump_json() for each in seen] == [asked.model_dump_json()]


def test_a_share_that_fails_is_named_with_its_reason(
    tiny_bert: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = command(tiny_bert, corpus, tmp_path / "out", on="local", workers=1)
    monkeypatch.setattr(EncodeCommand, "check", lambda self: corpus.unlink(missing_ok=True))
    with pytest.raises(UserError, match=r"1 of 1 shares failed, first share 0 of 1: .*corpus.txt"):
        asked.execute()
    assert (asked.scratch / "share-0.txt").is_file()
