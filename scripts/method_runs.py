"""Every method on the same small budget; step 0 of each run is its untrained model.

    python scripts/method_runs.py sentences.txt runs/methods --steps 50

Runs one after the other; a run that was stopped goes on, and a finished one is left alone. Validated on
STS-B dev (CLUSTERNS_DATA). `--record` keeps the finished ones under results/methods.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from record_run import keep

SHARED = {"batch_size": 64, "learning_rate": 2e-4, "patience": 0, "dev": "stsb"}
MEAN = {"pooling": "mean"}  # minibert's first position was never trained
CLUSTERS = {"clusters": 32, "sigma": 0.4}
# With dropout in the bare template, as published, the small encoder hardly learns.
CLEAN = {"denoising": "clean"}
RUNS = {
    "simcse": MEAN,
    "esimcse": MEAN,
    "mixcse": MEAN,
    "dclr": {**MEAN, "judge_steps": 50},
    "clusterns": {**MEAN, **CLUSTERS},
    "clusterns-global": {"method": "clusterns", **MEAN, **CLUSTERS, "initialisation": "corpus"},
    "clusterns-queue": {"method": "clusterns", **MEAN, **CLUSTERS, "parts": "[queue]"},
    "promptbert": CLEAN,
    "conpvp": CLEAN,
    "sncse": {},
    "clusterns-prompt": {"method": "clusterns", "template": "bert", **CLEAN, **CLUSTERS},
    "average": {},
    "prompt": {},
    "whitening": {"fit_sentences": 4000},
    "flow": {"fit_sentences": 4000},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus")
    parser.add_argument("output", type=Path)
    parser.add_argument("--base", default="minibert")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--only", nargs="*", choices=RUNS, default=list(RUNS))
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    budget = {"max_steps": given.steps, "eval_steps": max(1, given.steps // 5)}
    for name in given.only:
        output = given.output / name
        if not (output / "results.json").exists():
            command = [sys.executable, "-m", "clusterns", "train", "--output", str(output)]
            if (output / "run.json").exists():
                command += ["--resume"]
            else:
                settings = {"method": name, **SHARED, **budget, **RUNS[name]}
                command += [given.corpus, "--base", given.base]
                command += [w for k, v in settings.items() for w in ("--set", f"{k}={v}")]
            subprocess.run(command, check=True)
        if given.record:
            keep(output, f"methods/{name}")


if __name__ == "__main__":
    main()
