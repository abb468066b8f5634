"""The processes of the tests are what they claim to be."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

from tests.helpers.commands import Program, run_apart, run_cli_apart


def loaded() -> None:
    heavy = ["torch", "sentence_transformers", "datasets", "clusterns.training.run"]
    print([name for name in heavy if name not in sys.modules])


def fail() -> None:
    raise ValueError("on purpose")


def test_a_process_of_the_server_begins_with_everything_imported(tmp_path: Path) -> None:
    assert run_apart(loaded, folder=tmp_path).out == "[]\n"


def test_a_process_says_how_it_ended(tmp_path: Path) -> None:
    code, out, err = run_cli_apart("fly", folder=tmp_path)
    assert (code, out, "No such command 'fly'" in err) == (2, "", True)
    code, _, err = run_apart(fail, folder=tmp_path)
    assert (code, "ValueError: on purpose" in err) == (1, True)
    asleep = Program(time.sleep, 100)
    assert asleep.poll() is None
    asleep.send_signal(signal.SIGKILL)
    assert asleep.wait() == -signal.SIGKILL
