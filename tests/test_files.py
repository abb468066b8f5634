from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.files import whole_folder


def fill(path: Path) -> None:
    with whole_folder(path) as temporary:
        (temporary / "a.txt").write_text("a")
        (temporary / "b").mkdir()
        (temporary / "b" / "c.txt").write_text("c")


def fail_to_fill(path: Path) -> None:
    with whole_folder(path) as temporary:
        (temporary / "half").write_text("x")
        raise KeyError


def content(path: Path) -> list[str]:
    return sorted(str(each.relative_to(path)) for each in path.rglob("*"))


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    fill(tmp_path / "new" / "run")
    assert content(tmp_path / "new" / "run") == ["a.txt", "b", "b/c.txt"]
    with pytest.raises(KeyError):
        fail_to_fill(tmp_path / "other")
    assert content(tmp_path) == ["new", "new/run", "new/run/a.txt", "new/run/b", "new/run/b/c.txt"]


def test_a_full_folder_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "run" / "old").mkdir(parents=True)
    fill(tmp_path / "run")
    assert content(tmp_path / "run") == ["a.txt", "b", "b/c.txt"]


def test_an_empty_folder_is_filled_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the folder is the current one, behind a link, or a mount point, it must stay itself."""
    (tmp_path / "here").mkdir()
    before = (tmp_path / "here").stat().st_ino
    monkeypatch.chdir(tmp_path / "here")
    fill(Path())
    assert content(tmp_path / "here") == ["a.txt", "b", "b/c.txt"]
    assert (tmp_path / "here").stat().st_ino == before

    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    fill(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "disk") == ["a.txt", "b", "b/c.txt"]
    assert content(tmp_path).count("disk") == len([*tmp_path.glob("*")]) - 2 == 1


def test_what_fails_leaves_an_empty_folder_empty(tmp_path: Path) -> None:
    with pytest.raises(KeyError):
        fail_to_fill(tmp_path)
    assert content(tmp_path) == []
