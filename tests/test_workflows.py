"""The workflows run the commands of the Makefile, so that what passes there passes here."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]


def test_workflows_run_targets_of_the_makefile() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    files = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
    runs = [
        step["run"]
        for file in files
        for job in yaml.safe_load(file.read_text("utf-8"))["jobs"].values()
        for step in job["steps"]
        if "run" in step
    ]
    assert {"make lint", "make docs", "make oldest", "make dist"} <= set(runs)
    for run in runs:
        command, target, *_ = run.split()
        assert command == "make"
        assert target in targets
