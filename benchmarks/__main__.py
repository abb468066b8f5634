"""Run the benchmarks and write benchmarks/RESULTS.md from what they recorded.

    make bench                                   all of them
    python -m benchmarks training clustering     some of them
    python -m benchmarks --table                 none: only write the table again

Each runs in a process of its own, one after the other, and keeps its record in benchmarks/results.
Needs CLUSTERNS_DATA, the folder of the evaluation data with the Wikipedia file.
"""

from __future__ import annotations

import argparse
import importlib
import os
import subprocess
import sys
from types import ModuleType

from benchmarks.harness import HERE, RESULTS, machine
from clusterns.files import atomic_file, read_json, write_json

NAMES = (
    "training", "clustering", "cost", "encoding", "evaluation", "memory", "scale", "waiting", "explore",
    "similar", "near_duplicates", "search", "adapt",
)  # fmt: skip
# Those that would hold each other up on two cores are measured on one.
ONE_THREAD = ("evaluation", "scale", "similar", "search", "adapt")


def module(name: str) -> ModuleType:
    """A benchmark: ``run()`` gives its record, ``markdown(record)`` its part of the page."""
    return importlib.import_module(f"benchmarks.{name}")


def record(name: str) -> None:
    """Run one benchmark in this process and keep what it found."""
    found = module(name).run()
    write_json(RESULTS / f"{name}.json", {**machine(), **found})


def write_table() -> None:
    """The page, from the records that there are."""
    parts = [
        "# Benchmarks",
        "Written by `python -m benchmarks` from `benchmarks/results/*.json`, which hold the seconds, "
        "the machine and the versions. Contenders take turns in one process and their medians are "
        "compared: read the ratios, not the seconds.",
    ]
    for name in NAMES:
        path = RESULTS / f"{name}.json"
        if path.exists():
            found = read_json(path)
            versions = ", ".join(f"{k} {v}" for k, v in found["versions"].items())
            threads = "thread" if found["threads"] == 1 else "threads"
            parts += [
                module(name).markdown(found).strip(),
                f"*`python -m benchmarks {name}`; {found['machine']}, {found['cores']} cores, "
                f"{found['threads']} {threads}; {versions}.*",
            ]
    with atomic_file(HERE / "RESULTS.md") as temporary:
        temporary.write_text("\n\n".join(parts) + "\n", "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; none: all")
    parser.add_argument("--table", action="store_true", help="only write the table again")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {min(unknown)}: choose from {', '.join(NAMES)}")
    if arguments.here:
        record(arguments.names[0])
        return
    if not arguments.table:
        if "CLUSTERNS_DATA" not in os.environ:
            parser.error("set CLUSTERNS_DATA to the folder of the evaluation data")
        for name in arguments.names or NAMES:
            print(f"benchmark: {name}", file=sys.stderr)
            threads = {"OMP_NUM_THREADS": "1"} if name in ONE_THREAD else {}
            subprocess.run(
                [sys.executable, "-m", "benchmarks", "--here", name],
                check=True,
                env={**os.environ, **threads},
            )
    write_table()
    print(f"{HERE / 'RESULTS.md'} is written.")


main()
