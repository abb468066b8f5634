"""Shards handed out to workers that may be killed."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from clusterns.api import encode as api
from clusterns.api.encode import encode, plan_encoding
from clusterns.api.encode_on import arguments, encode_on, scratch_of
from clusterns.cli import main
from clusterns.errors import UserError
from clusterns.lab.engines.engine import make_engine
from clusterns.vectors.settings import Share

OPTIONS = {"pooling": "mean", "shard_size": 50}


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
    lock = output.with_name(f".{output.name}, share 1 of 2.lock")
    killed.append(int(lock.read_text("utf-8").split()[1]))
    os.kill(killed[0], signal.SIGKILL)


@pytest.mark.slow
def test_a_ray_worker_killed_in_the_middle_changes_nothing(
    ray_place: Path, tiny_bert: Path, corpus: Path, tmp_path: Path, capsys
) -> None:
    encode(tiny_bert, corpus, tmp_path / "whole", quiet=True, **OPTIONS)
    plan = plan_encoding(tiny_bert, corpus, tmp_path / "shared", **OPTIONS)
    engine = make_engine("ray", tmp_path)
    killed: list[int] = []
    killer = threading.Thread(target=kill_a_worker, args=(plan.output, killed))
    killer.start()
    try:
        assert encode_on(plan, engine, 2) == {"shards": 60, "texts": 3000}
    finally:
        engine.close()
    killer.join()
    assert killed
    assert "share 1 of 2 was lost (exit code -1): handed out again" in capsys.readouterr().err
    assert content(plan.output) == content(tmp_path / "whole")
    assert not scratch_of(plan.output).exists()


def test_a_share_is_asked_for_with_every_option(
    tiny_bert: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = plan_encoding(
        tiny_bert, [corpus, corpus], tmp_path / "out", format="npy", precision="int8", normalise=True,
        text=False, column="body", id_column="key", shard_size=7, batch_size=3, pooling="mean",
        max_length=9, prompt_name="query", truncate_dim=5, device=["cpu", "cuda:1"],
        dtype="bfloat16",
    )  # fmt: skip
    seen = []

    def run(self: api.EncodingPlan, *, quiet: bool = False) -> None:
        seen.append(self)
        raise UserError("enough")

    monkeypatch.setattr(api.EncodingPlan, "run", run)
    monkeypatch.setattr("sys.argv", ["clusterns", *arguments(plan, 1, 3)])
    with pytest.raises(SystemExit):
        main()
    assert seen == [replace(plan, share=Share(1, 3))]


def test_a_share_that_fails_is_named_with_its_reason(
    tiny_bert: Path, corpus: Path, tmp_path: Path
) -> None:
    plan = plan_encoding(tiny_bert, corpus, tmp_path / "out", **OPTIONS)
    engine = make_engine("local", tmp_path)
    broken = replace(plan, corpus=[str(tmp_path / "none.txt")])
    with pytest.raises(UserError, match=r"2 of 2 shares failed, first share . of 2: .*none.txt"):
        encode_on(broken, engine, 2)
    engine.close()
    assert (scratch_of(plan.output) / "share-0.txt").is_file()
