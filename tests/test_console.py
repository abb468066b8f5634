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


def test_nothing_that_is_printed_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    log(EVIL)
    log_error(EVIL)
    for console in (status, stdout):
        console.print(EVIL)
        console.print(Text(EVIL))
        Table(EVIL, [EVIL], [(EVIL, [1.0]), ("b", [EVIL])], notes=[EVIL]).show(console)
        rich = RichTable(EVIL, title=EVIL)
        rich.add_row(EVIL)
        console.print(rich)
    for output in capsys.readouterr():
        assert "[2J" in output
        assert not [character for character in output if ord(character) < 32 and character != "\n"]
        assert "\x9b" not in output


def test_a_replaced_character_costs_no_other(capsys: pytest.CaptureFixture[str]) -> None:
    rich = RichTable("\x1b[31m[cls]")
    rich.add_row("x")
    stdout.print(rich)
    Table("", ["\x1b[31m[set]"], [("\x1b[31m[row]", [1.0])]).show(stdout)
    shown = capsys.readouterr().out
    for name in ("cls", "set", "row"):
        assert f"\ufffd[31m[{name}]" in shown


def test_text_is_never_markup(capsys: pytest.CaptureFixture[str]) -> None:
    log("bert [cls] :smile:")
    log_error("[/old]")
    rich = RichTable("bert [cls]")
    rich.add_row("[/old]")
    stdout.print(rich)
    found = capsys.readouterr()
    assert "bert [cls] :smile:\n" in found.err
    assert "[/old]" in found.err
    assert "bert [cls]" in found.out
    assert "[/old]" in found.out


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
    ("stream", "quiet", "shown", "seen"),
    [
        (Terminal, False, True, True),
        (Terminal, True, True, False),
        (Terminal, False, False, False),
        (io.StringIO, False, True, False),
    ],
)
def test_bars_are_drawn_on_a_terminal_where_they_are_wanted(
    stream: type[io.StringIO], quiet: bool, shown: bool, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with silenced(quiet):
        assert list(bar(range(3), desc="Counting", shown=shown)) == [0, 1, 2]
    assert ("Counting" in sys.stderr.getvalue()) == seen  # type: ignore[attr-defined]


def test_every_bar_is_drawn_here() -> None:
    source = Path(__file__).parents[1] / "src" / "clusterns"
    importing = {
        path.relative_to(source).as_posix()
        for path in source.rglob("*.py")
        if any(line.split()[:1] == ["from"] and line.split()[1].startswith("tqdm")
               for line in path.read_text("utf-8").splitlines() if len(line.split()) > 1)
    }  # fmt: skip
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


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(5, "5 s"), (89, "89 s"), (600, "10 min"), (4380, "73 min"), (7260, "2 h 01 min")],
)
def test_durations_are_short(seconds: float, words: str) -> None:
    assert duration(seconds) == words
