from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from clusterns.data.sources import FileSource
from clusterns.vectors.encode import _Progress
from clusterns.vectors.settings import Partition


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def source(tmp_path: Path) -> FileSource:
    (tmp_path / "a.txt").write_text("x" * 1000)
    return FileSource(tmp_path / "a.txt")


def test_the_end_is_guessed_from_the_bytes(
    source: FileSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with _Progress([source], Partition(0, 2), shown=True) as progress:
        assert not progress.bar.disable
        progress.expect(10)  # before a byte is known to be read, there is no guess
        progress.read_bytes(100)
        progress.expect(20)
        progress.skip(10)
        progress.bar.update(5)
    # A tenth of the bytes held 20 rows; half of 200 rows are ours.
    last = sys.stderr.getvalue().split("\r")[-1]  # type: ignore[attr-defined]
    assert "15/100" in last
    assert "texts/s" in last


def test_without_a_terminal_there_is_no_bar(
    source: FileSource, capsys: pytest.CaptureFixture[str]
) -> None:
    with _Progress([source], Partition(), shown=True) as progress:
        progress.read_bytes(1000)
        progress.expect(10)
        progress.skip(5)
        progress.bar.update(5)
    assert capsys.readouterr().err == ""
