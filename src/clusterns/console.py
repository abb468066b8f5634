"""Output for people: status on stderr, results on stdout.

All text goes through these two consoles. They never interpret it as markup and replace control
characters, since names of files and models come from other people.
"""

from __future__ import annotations

import io
import json
import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

if TYPE_CHECKING:
    from tqdm import tqdm

# Control characters except line ends and tabs, and those that change the text direction.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    """``text`` with each control character replaced by U+FFFD."""
    return _CONTROL.sub("\ufffd", text)


class SafeConsole(Console):
    """A console that prints untrusted text safely, whatever renders it."""

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **options: Any) -> Text:
        """Convert a string to text of the width that it will have when printed."""
        return super().render_str(printable(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render; all printed text passes through here."""
        for segment in super().render(renderable, options):
            if segment.control:  # the library's own
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)


status = SafeConsole(stderr=True)
stdout = SafeConsole()
# Processes that fail for the same reason fail within seconds of each other.
ERROR_DELAY = 15.0
# Without a terminal, progress is logged at this interval.
LINE_INTERVAL = 30.0  # seconds
SHARE_DONE = (
    "{desc}: {n_fmt} of {total_fmt} ({percentage:.0f}%), {remaining} left, {rate_fmt}{postfix}"
)
COUNT_DONE = "{desc}: {n_fmt} in {elapsed}, {rate_fmt}{postfix}"
_silenced = ContextVar("silenced", default=False)
_verbose = False
_QUIET = {
    "DATASETS_VERBOSITY": "error",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TRANSFORMERS_VERBOSITY": "error",
}
_LIBRARIES = (
    "accelerate", "datasets", "filelock", "httpx", "huggingface_hub", "sentence_transformers",
    "transformers",
)  # fmt: skip


@contextmanager
def silenced(on: bool = True) -> Iterator[None]:
    """Within the block, print no status and draw no progress bars; errors are still printed."""
    before = _silenced.set(on or _silenced.get())
    try:
        yield
    finally:
        _silenced.reset(before)


def shows_status() -> bool:
    """Whether status is printed; of several processes, only the first one prints it."""
    return os.environ.get("RANK", "0") == "0" and not _silenced.get()


def set_verbose(on: bool) -> None:
    """Turn verbose mode on or off for this process."""
    global _verbose
    _verbose = on


def is_verbose() -> bool:
    """Whether verbose mode is on, which shows library logs and tracebacks."""
    return _verbose


def quiet_libraries() -> None:
    """Hide the progress bars and logs of the libraries, except errors; in verbose mode, show them.

    This imports nothing: libraries that are imported later read the environment, and loaded ones are configured here.
    """
    if _verbose:
        logging.basicConfig(level=logging.INFO)
        return
    for variable, value in _QUIET.items():
        os.environ.setdefault(variable, value)
    for name in _LIBRARIES:
        logging.getLogger(name).setLevel(logging.ERROR)
    if loaded := sys.modules.get("transformers.utils.logging"):
        loaded.disable_progress_bar()
    if loaded := sys.modules.get("datasets"):
        loaded.disable_progress_bars()
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    warnings.filterwarnings("ignore", message=".*pin_memory.*")


def bar(iterable: Iterable[Any] | None = None, *, shown: bool = True, **options: Any) -> tqdm[Any]:
    """A progress bar of tqdm; if stderr is not a terminal, a line of status every half minute."""
    from tqdm import tqdm

    class Lines(tqdm):
        logged_at = time.monotonic()

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:
            now = time.monotonic()
            if msg is None and now - self.logged_at >= LINE_INTERVAL:
                self.logged_at = now
                self.bar_format = SHARE_DONE if self.total else COUNT_DONE
                log(str(self))
            return True

    disable = not shown or not shows_status()
    if sys.stderr.isatty():
        return tqdm(iterable, disable=disable, **options)
    # Discard the output of tqdm itself.
    return Lines(iterable, disable=disable, file=io.StringIO(), **options)


def log(message: str) -> None:
    """Print one line of status; of several processes, only the first one prints it."""
    if shows_status():
        status.print(message, soft_wrap=True)


def duration(seconds: float) -> str:
    """``40 s``, ``73 min`` or ``2 h 05 min``."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def print_json(value: Any) -> None:
    """Print a result as JSON on stdout, in plain ASCII."""
    sys.stdout.write(json.dumps(value, indent=2) + "\n")


def log_error(message: str) -> None:
    """Print an error; if several processes of a machine fail, only the first one prints it."""
    if os.environ.get("LOCAL_RANK", "0") != "0":
        # The launcher stops all processes once one has failed, so the first process needs time to print its error.
        # If it did not fail, this process prints its own.
        time.sleep(ERROR_DELAY)
    status.print(f"error: {message}", style="bold red", soft_wrap=True)
