from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest
from rich.table import Table as RichTable
from rich.text import Text

from clusterns import console as module
from clusterns.console import (
    bar,
    duration,
    log,
    log_error,
    print_json,
    printable,
    silenced,
    status,
    stdout,
)
from clusterns.tables import Table

EVIL = "a\x1b[2J\x9b31m\x07b\r\x7f\u202ec"


def test_steering_characters_are_replaced_one_by_one() -> None:
    assert printable(EVIL) == "a\ufffd[2J\ufffd31m\ufffdb\ufffd\ufffd\ufffdc"
    assert printable("tab\tand\nline, é, שלום, 汉") == "tab\tand\nline, é, שלום, 汉"


def test_nothing_that_is_printed_steers_the_terminal_or_is_markup(
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = f"{EVIL} [cls] :smile: [/old]"
    log(text)
    log_error(text)
    for console in (status, stdout):
        console.print(text)
        console.print(Text(text))
        Table(text, [text], [(text, [1.0]), ("b", [text])], notes=[text]).show(console)
        rich = RichTable(text, title=text)
        rich.add_row(text)
        console.print(rich)
    for output in capsys.readouterr():
        assert "\ufffd[2J" in output
        assert not [character for character in output if ord(character) < 32 and character != "\n"]
        assert "\x9b" not in output
        # A replaced character costs no other: tables are wide enough.
        words = " ".join(output.split())
        assert words.count("c [cls] :smile: [/old]") >= 8


def test_json_is_plain_ascii_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": EVIL})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"name": EVIL}
    assert out.isascii()
    assert "\x1b" not in out
    assert not err


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "shown"),
    [
        (Terminal, False, True),
        (Terminal, True, True),
        (Terminal, False, False),
        (io.StringIO, False, True),
    ],
)
def test_bars_are_drawn_on_a_terminal_where_they_are_wanted(
    stream: type[io.StringIO], quiet: bool, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = stream()
    monkeypatch.setattr(sys, "stderr", written)
    with silenced(quiet):
        assert list(bar(range(3), desc="Counting", shown=shown)) == [0, 1, 2]
    assert ("Counting" in written.getvalue()) == (stream is Terminal and shown and not quiet)


def test_every_bar_is_drawn_here() -> None:
    source = Path(__file__).parents[1] / "src" / "clusterns"
    lines = {path: path.read_text("utf-8").splitlines() for path in source.rglob("*.py")}
    importing = {path.name for path, of in lines.items() if any("from tqdm" in line for line in of)}
    assert importing == {"console.py"}


def test_without_a_terminal_progress_is_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    now = iter(range(0, 10_000, 20))  # each look at the clock is 20 seconds later
    monkeypatch.setattr(module.time, "monotonic", lambda: next(now))
    shown = bar(total=8, desc="Counting", unit=" texts", mininterval=0, miniters=1)
    for _ in range(8):
        shown.update(1)
        shown.set_postfix(loss="0.3")
    shown.close()
    lines = sys.stderr.getvalue().splitlines()  # type: ignore[attr-defined]
    assert 4 <= len(lines) < 16
    assert lines[-1].startswith("Counting: 8 of 8 (100%), ")
    assert all(line.isprintable() for line in lines)


def test_durations_are_short() -> None:
    words = {5: "5 s", 89: "89 s", 600: "10 min", 4380: "73 min", 7260: "2 h 01 min"}
    assert {seconds: duration(seconds) for seconds in words} == words
