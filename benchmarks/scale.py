"""Memory and time against the lines of a corpus, of ``clusterns train`` watched from outside.

    CLUSTERNS_DATA=... python -m benchmarks scale

The lines of a corpus are distinct: Wikipedia sentences, each time round with another number behind
them. For each size the command begins a run with an empty cache: it prepares the corpus, trains a
few steps of an epoch and is interrupted, which saves a checkpoint. That checkpoint is then dated at
90 % of the epoch, and the run is resumed up to its next step. Memory is what is not mapped file
pages (RssAnon in Linux's /proc), at its highest in each phase; the program, the encoder and a batch
are in it. Time is processor time, which other work on the machine changes little; wall time is in
the JSON. The start of the program counts to the first phase and to the resume.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import RESULTS, description
from clusterns.data.clean import MAX_CHARS
from clusterns.data.corpus import prepare_corpus
from clusterns.files import atomic_file, read_json, write_json
from clusterns.training.folder import read_metrics

PICTURE = RESULTS / "scale.png"
SIZES = (300_000, 1_000_000, 3_000_000, 10_000_000, 20_000_000)
STEPS = 10
RESUMED_AT = 0.9
PREPARED, FIRST, STEPPED, RESUMED = PHASES = (
    "prepared",
    "first step",
    f"{STEPS} steps",
    f"resumed at {RESUMED_AT:.0%}",
)
# A whole epoch, so that the run can be resumed late in it; no validation but that of the base.
SETTINGS = {"max_steps": "null", "eval_steps": 10**9, "log_steps": 1, "heldout": 200}
INTERRUPTED = 130


class Command:
    """A running ``clusterns train``, measured from one event to the next."""

    def __init__(self, *arguments: str, folder: Path) -> None:
        variables = {"CLUSTERNS_CACHE": str(folder / "cache"), "HF_HUB_OFFLINE": "1"}
        self.log, self.used = folder / "log.txt", 0.0
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "clusterns", "train", *arguments],
                env={**os.environ, **variables},
                stderr=log,
            )

    def until(self, event: Callable[[], bool]) -> dict[str, float]:
        """Wait for an event; time and highest memory on the way to it."""
        begun, peak = time.perf_counter(), 0
        while not event():
            if self.process.poll() is not None:
                raise RuntimeError(f"the command ended too soon:\n{self.log.read_text()}")
            peak = max(peak, anonymous_bytes(self.process.pid))
            time.sleep(0.01)
        used, self.used = self.used, processor_seconds(self.process.pid)
        return {
            "seconds": self.used - used,
            "wall_seconds": time.perf_counter() - begun,
            "peak_bytes": peak,
        }

    def interrupt(self) -> None:
        """Stop it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait() == INTERRUPTED, self.log.read_text()


def anonymous_bytes(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("RssAnon")), 0)


def processor_seconds(process: int) -> float:
    # The name of the program, which may hold blanks, ends with the last bracket.
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def write_corpus(path: Path, sentences: Sequence[str], lines: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for first in range(0, lines, len(sentences)):
            some = sentences[: lines - first]
            file.writelines([f"{sentence} {first}\n" for sentence in some])


def measure(sentences: Sequence[str], lines: int) -> dict[str, Any]:
    """Begin and resume a run on a corpus of so many lines."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        corpus, run, cache = folder / "corpus.txt", folder / "run", folder / "cache"
        write_corpus(corpus, sentences, lines)
        settings = [part for pair in SETTINGS.items() for part in ("--set", "{}={}".format(*pair))]
        begin = [str(corpus), "--recipe", "cpu-small", "--dev", "none", *settings]
        phases = {}
        command = Command(*begin, "--output", str(run), folder=folder)
        phases[PREPARED] = command.until(lambda: any(cache.glob("*.arrow")))
        phases[FIRST] = command.until(lambda: steps_of(run) >= 1)
        phases[STEPPED] = command.until(lambda: steps_of(run) >= STEPS)
        command.interrupt()
        (report,) = cache.glob("*.json")
        assert read_json(report)["kept"] == lines, "the lines are not distinct"
        step = date_checkpoint(run / "checkpoints", RESUMED_AT)
        command = Command("--output", str(run), "--resume", folder=folder)
        phases[RESUMED] = command.until(lambda: steps_of(run) > step)
        command.interrupt()
        return {"lines": lines, "file_bytes": corpus.stat().st_size, "phases": phases}


def steps_of(run: Path) -> int:
    metrics = run / "metrics.jsonl"
    return (
        max((line["step"] for line in read_metrics(metrics)), default=0) if metrics.exists() else 0
    )


def date_checkpoint(checkpoints: Path, share: float) -> int:
    """Let the only checkpoint be one of a later step."""
    (found,) = checkpoints.glob("checkpoint-*")
    state = read_json(found / "trainer_state.json")
    state["global_step"] = int(share * state["max_steps"])
    write_json(found / "trainer_state.json", state)
    found.rename(checkpoints / f"checkpoint-{state['global_step']}")
    return int(state["global_step"])


def slope(results: Sequence[dict[str, Any]], phase: str, key: str) -> float:
    """What a line adds: least squares."""
    lines = [result["lines"] for result in results]
    return float(np.polyfit(lines, [result["phases"][phase][key] for result in results], 1)[0])


def run() -> dict[str, Any]:
    """Measure every size."""
    wikipedia = Path(os.environ["CLUSTERNS_DATA"]) / "wiki" / "enwiki_1m.txt.xz"
    with tempfile.TemporaryDirectory() as cache:
        # Room for the number behind a sentence.
        corpus = prepare_corpus(
            [str(wikipedia)], cache=Path(cache), max_chars=MAX_CHARS - 20, progress=False
        )
        sentences = corpus.dataset["text"][:]
    results = [measure(sentences, lines) for lines in SIZES]
    return {
        "bytes_a_line": {phase: slope(results, phase, "peak_bytes") for phase in PHASES},
        "seconds_a_million": {phase: slope(results, phase, "seconds") * 1e6 for phase in PHASES},
        "results": results,
    }


def draw(record: dict[str, Any]) -> None:
    """Memory on the left, time on the right."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    panels = zip(
        figure.subplots(1, 2),
        ("peak_bytes", "seconds"),
        (2**20, 1),
        ("memory that is not mapped file pages, MiB", "processor seconds"),
        ("bytes_a_line", "seconds_a_million"),
        ("{:.1f} bytes a line", "{:.2f} s a million lines"),
        strict=True,
    )
    millions = [result["lines"] / 1e6 for result in record["results"]]
    for axes, key, unit, label, slopes, what in panels:
        for phase, marker in zip(PHASES, "osD^", strict=True):
            values = [result["phases"][phase][key] / unit for result in record["results"]]
            name = f"{phase}: {what.format(record[slopes][phase])}"
            axes.plot(millions, values, marker=marker, label=name)
        axes.set_xlabel("distinct lines, millions")
        axes.xaxis.get_major_locator().set_params(integer=True, steps=[1, 2, 5, 10])
        axes.set_ylabel(label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=9)
    with atomic_file(PICTURE) as temporary:
        figure.savefig(temporary, format="png", dpi=150)


def markdown(record: dict[str, Any]) -> str:
    """The picture and the table."""
    draw(record)
    head = "".join(f" {phase}: s / MiB |" for phase in PHASES)
    lines = [
        "## Memory and time against the lines of a corpus",
        "",
        f"{description(__doc__)} Minibert, recipe cpu-small.",
        "",
        f"![Memory and time against lines](results/{PICTURE.name})",
        "",
        f"| lines | text, GB |{head}",
        "|---:|---:|" + "---:|" * len(PHASES),
    ]
    for result in record["results"]:
        cells = "".join(
            f" {phase['seconds']:.1f} / {phase['peak_bytes'] / 2**20:,.0f} |"
            for phase in result["phases"].values()
        )
        lines.append(f"| {result['lines']:,} | {result['file_bytes'] / 1e9:.2f} |{cells}")
    cells = "".join(
        f" **{record['seconds_a_million'][phase]:.2f} s** a million lines / "
        f"**{record['bytes_a_line'][phase]:.1f} bytes** a line |"
        for phase in PHASES
    )
    lines.append(f"| each line adds | |{cells}")
    return "\n".join(lines) + "\n"
