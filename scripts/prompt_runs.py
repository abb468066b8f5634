"""Prompt-based next to non-prompt training, on the same budget; step 0 of each run is the untrained model.

    python scripts/prompt_runs.py sentences.txt runs/prompt --steps 250

Runs one after the other; a run that was stopped goes on, and a finished one is left alone. Validated on
STS-B dev (CLUSTERNS_DATA). Keep a run with scripts/record_run.py.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

SHARED = {"batch_size": 64, "learning_rate": 1e-4, "positives": "dropout", "patience": 0}
CLUSTERNS = {"method": "clusterns", "clusters": 32, "sigma": 0.4}
RUNS = {
    "simcse": {"method": "simcse", "pooling": "mean"},
    "clusterns": {**CLUSTERNS, "pooling": "mean"},
    "promptbert": {"method": "simcse", "template": "bert"},
    "promptbert-dropout": {"method": "simcse", "template": "bert", "denoising": "dropout"},
    "promptbert-without-denoising": {"method": "simcse", "template": "bert", "denoising": "none"},
    "clusterns-prompt": {**CLUSTERNS, "template": "bert"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("output", type=Path)
    parser.add_argument("--base", default="minibert")
    parser.add_argument("--steps", type=int, default=250)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    given = parser.parse_args()
    budget = {"max_steps": given.steps, "eval_steps": max(1, given.steps // 5)}
    for name in given.only:
        output = given.output / name
        if (output / "results.json").exists():
            continue
        command = [sys.executable, "-m", "clusterns", "train", "--output", str(output)]
        if (output / "run.json").exists():
            command += ["--resume"]
        else:
            command += [given.corpus, "--base", given.base]
            for key, value in {**SHARED, **budget, **RUNS[name]}.items():
                command += ["--set", f"{key}={value}"]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
