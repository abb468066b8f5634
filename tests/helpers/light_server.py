"""Forks a process for each line of stdin, a command; see ``LightPrograms``."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from clusterns.cli import COMMANDS, main

# What most refusals need, and is light.
for name in ("numpy", "pyarrow.parquet", *(f"clusterns.commands.{name}" for name in COMMANDS)):
    with suppress(ImportError):
        import_module(name)


def child(order: dict, places: list[Path]) -> None:
    for number, place in enumerate(places[:2], start=1):
        os.dup2(os.open(place, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(order["environment"])
    os.chdir(order["cwd"])
    sys.argv = ["clusterns", *order["arguments"]]
    code = 0
    try:
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    modules = sorted({name.partition(".")[0] for name in sys.modules})
    places[2].write_text(json.dumps({"code": code, "modules": modules}))
    os._exit(0)


def serve(folder: Path) -> None:
    places = [folder / name for name in ("out", "err", "modules")]
    for line in sys.stdin:
        for place in places:
            place.unlink(missing_ok=True)
        pid = os.fork()
        if not pid:
            child(json.loads(line), places)
        os.waitpid(pid, 0)
        out, err = (place.read_text("utf-8") for place in places[:2])
        found = json.loads(places[2].read_text())
        print(json.dumps({**found, "out": out, "err": err}), flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        serve(Path(folder))
