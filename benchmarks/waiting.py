"""How threads wait for each other: spinning as they come, a short spin, or asleep.

    CLUSTERNS_DATA=... python -m benchmarks waiting

A training step of minibert (64 Wikipedia sentences of at most 32 tokens), with
all cores of the machine, idle and beside a busy loop on one core. "Passive" is
`OMP_WAIT_POLICY=PASSIVE`, which `import clusterns` sets unless the user has said otherwise; "short
spin" is `GOMP_SPINCOUNT=1000`. The runtime reads them once, so each way has a process of its own;
the processes take turns. Sentence Transformers is measured as it comes and with the same settings.
"""

from __future__ import annotations

import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO, Any

# Not before this: clusterns would set the policy, which torch reads when it is loaded.
from benchmarks.harness import alternate, description, wikipedia

SETTINGS: dict[str, dict[str, str]] = {
    "as it comes": {},
    "short spin": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
}
ST, OURS = "Sentence Transformers", "clusterns"
LOADS = ("idle", "beside a busy loop")
BATCH = 64


class Worker:
    """A process that makes a step whenever it is asked to."""

    def __init__(self, way: str, setting: str, errors: IO[str]) -> None:
        plain = {
            name: value
            for name, value in os.environ.items()
            if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")
        }
        self.errors = errors
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.waiting", way],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
            env={**plain, **SETTINGS[setting], "OMP_DISPLAY_ENV": "VERBOSE"},
        )  # fmt: skip
        self.processor: list[float] = []

    def step(self) -> None:
        """Wait for one step; its processor seconds are kept."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(file=self.process.stdin, flush=True)
        self.processor.append(float(self.process.stdout.readline()))

    def spin_count(self) -> str:
        """What the runtime has made of the setting."""
        self.errors.seek(0)
        found = re.search(r"GOMP_SPINCOUNT = '(.*?)'", self.errors.read())
        return found[1] if found else "unknown"

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def busy_loop(on: bool) -> Iterator[None]:
    """Within the block one core has something else to do."""
    if not on:
        yield
        return
    loop = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        loop.kill()
        loop.wait()


def run(rounds: int = 11) -> dict[str, Any]:
    """Let all ways take turns, idle and busy."""
    with ExitStack() as stack:
        workers: dict[str, Worker] = {}
        for way in (ST, OURS):
            for setting in SETTINGS:
                errors = stack.enter_context(tempfile.TemporaryFile("w+"))
                worker = workers[f"{way}, {setting}"] = Worker(way, setting, errors)
                stack.callback(worker.end)
                worker.step()  # one after the other: its first step loads the model
        found: dict[str, Any] = {"spin_counts": {n: w.spin_count() for n, w in workers.items()}}
        for load in LOADS:
            for worker in workers.values():
                worker.processor.clear()
            with busy_loop(load != LOADS[0]):
                times = alternate({name: worker.step for name, worker in workers.items()}, rounds)
                average = os.getloadavg()[0]
            for name, worker in workers.items():
                times[name]["processor_seconds"] = statistics.median(worker.processor[1:])
            found[load] = {"load_average": average, "steps": times}
    return found


def work(way: str) -> None:
    """The other side of :class:`Worker`."""
    import torch

    torch.manual_seed(0)
    from benchmarks.training import batches, ours, sentence_transformers
    from clusterns.encoder.load import load_base

    if way == ST:
        contender = sentence_transformers(load_base("minibert", "cls"))
    else:
        contender = ours("clusterns", "minibert", BATCH, "cls")
    feed = batches(wikipedia(4 * BATCH), BATCH)
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever else is printed is no answer
    for _ in sys.stdin:
        before = time.process_time()
        contender.step(next(feed))
        print(time.process_time() - before, file=answers, flush=True)


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    lines = [
        "## Waiting",
        "",
        description(__doc__),
        "",
        "| seconds a step (processor seconds) | spin count | idle | beside a busy loop |",
        "|---|---:|---:|---:|",
    ]
    for name, spin in record["spin_counts"].items():
        cells = []
        for load in LOADS:
            step = record[load]["steps"][name]
            cells.append(f"{step['seconds']:.2f} ({step['processor_seconds']:.2f})")
        lines.append(f"| {name} | {spin} | {' | '.join(cells)} |")
    loads = " and ".join(f"{record[load]['load_average']:.1f} {load}" for load in LOADS)
    lines += ["", f"Load average at the end: {loads}."]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    work(sys.argv[1])
