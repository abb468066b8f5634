"""Files written whole or not at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clusterns.errors import UserError


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour of ``path`` that takes its place when the block succeeds."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary neighbour of the folder ``path`` that takes its place on success."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with disk_errors(path):
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        try:
            yield temporary
            shutil.rmtree(path, ignore_errors=True)
            temporary.replace(path)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn a full, read-only or forbidden disk into one clear sentence."""
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is None:
            raise
        raise UserError(f"cannot write {path}: {error.strerror or error}.") from error


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as indented JSON, whole or not at all."""
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text("utf-8"))
