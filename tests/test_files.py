from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.files import atomic_file, atomic_folder, is_empty, recover_folder, write_json
from clusterns.training.folder import RunFolder

NEW = ["a.txt", "b", "b/c.txt"]


def fill(path: Path) -> None:
    with atomic_folder(path) as temporary:
        (temporary / "a.txt").write_text("a")
        (temporary / "b").mkdir()
        (temporary / "b" / "c.txt").write_text("c")


def fail_to_fill(path: Path) -> None:
    with atomic_folder(path) as temporary:
        (temporary / "half").write_text("x")
        raise KeyError


def content(path: Path) -> list[str]:
    """All but the rests that a kill leaves, which nobody reads."""
    names = (str(each.relative_to(path)) for each in path.rglob("*"))
    return sorted(name for name in names if ".partial" not in name)


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    fill(tmp_path / "new" / "run")
    assert content(tmp_path / "new" / "run") == NEW
    (tmp_path / "empty").mkdir()
    for name in ("other", "empty"):
        with pytest.raises(KeyError):
            fail_to_fill(tmp_path / name)
    assert content(tmp_path) == ["empty", "new", "new/run", *(f"new/run/{name}" for name in NEW)]


def test_a_full_folder_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "run" / "old").mkdir(parents=True)
    fill(tmp_path / "run")
    assert [*tmp_path.iterdir()] == [tmp_path / "run"]
    assert content(tmp_path / "run") == NEW
    with pytest.raises(UserError, match="Not a directory"):
        fill(tmp_path / "run" / "a.txt")
    assert (tmp_path / "run" / "a.txt").read_text() == "a"


def test_an_empty_folder_is_filled_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is the current one, behind a link or a mount point must stay itself."""
    (tmp_path / "here").mkdir()
    before = (tmp_path / "here").stat().st_ino
    monkeypatch.chdir(tmp_path / "here")
    fill(Path())
    assert content(tmp_path / "here") == NEW
    assert (tmp_path / "here").stat().st_ino == before

    (tmp_path / "disk").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "disk")
    fill(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert content(tmp_path / "disk") == NEW
    assert content(tmp_path).count("disk") == len([*tmp_path.glob("*")]) - 2 == 1


STEPS = ("rename", "replace", "unlink", "rmdir")


def killed_at(step: int, work: Callable[[], None]) -> bool:
    """Do ``work`` in a child that dies before the ``step``-th change of a name; whether it died."""
    child = os.fork()
    if child == 0:
        left = step

        def dying(real: Callable[..., None]) -> Callable[..., None]:
            def change(*args: object, **kwargs: object) -> None:
                nonlocal left
                left -= 1
                if left == 0:
                    os._exit(9)
                real(*args, **kwargs)

            return change

        for name in STEPS:
            setattr(os, name, dying(getattr(os, name)))
        shutil.rmtree = dying(shutil.rmtree)  # type: ignore[assignment]
        try:
            work()
        except BaseException:
            os._exit(1)
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code in (0, 9)
    return code == 9


@pytest.mark.parametrize("before", ["nothing", "empty", "old", "interrupted"])
def test_a_kill_at_any_step_leaves_the_old_or_the_new_folder(tmp_path: Path, before: str) -> None:
    old = {"nothing": None, "empty": []}.get(before, ["old.txt"])
    found, step = [], 1
    while True:
        path = tmp_path / str(step) / "run"
        path.parent.mkdir()
        if old is not None:
            path.mkdir()
        if old:
            (path / "old.txt").write_text("old")
        if before == "interrupted":
            path.rename(path.parent / ".run.aside")
        died = killed_at(step, lambda path=path: fill(path))  # type: ignore[misc]
        # Opening may be killed as well.
        killed_at(1, lambda path=path: recover_folder(path))  # type: ignore[misc]
        recover_folder(path)
        now = None
        if path.exists():
            now = [] if is_empty(path) else content(path)
        assert now in (old, NEW)
        assert died or now == NEW
        fill(path)  # what was left does not stand in the way
        assert content(path) == NEW
        assert not (path.parent / ".run.aside").exists()
        found.append(now)
        if not died:
            break
        step += 1
    assert found.index(NEW) > 0
    assert found == sorted(found, key=lambda now: now == NEW)


def test_a_reader_that_recovers_the_old_folder_does_not_stop_the_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It opens the folder in the moment between the two renames."""
    path = tmp_path / "run"
    path.mkdir()
    (path / "old.txt").write_text("old")
    rename, times = os.rename, []

    def slow(source: Path, target: Path) -> None:
        rename(source, target)
        if str(target).endswith(".aside") and not times:
            times.append(1)
            recover_folder(path)
            assert content(path) == ["old.txt"]

    monkeypatch.setattr(os, "rename", slow)
    fill(path)
    assert content(tmp_path) == ["run", *(f"run/{name}" for name in NEW)]
    assert times


def test_opening_a_run_recovers_it(tmp_path: Path) -> None:
    (tmp_path / ".run.aside").mkdir()
    (tmp_path / ".run.aside" / "run.json").write_text("{}")
    assert RunFolder(tmp_path / "run").is_run


def test_durable_files_are_flushed_before_they_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (events.append("flush"), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda *names: (events.append("name"), replace(*names)))
    write_json(tmp_path / "a.json", {}, durable=True)
    assert events == ["flush", "name", "flush"]
    events.clear()
    with atomic_file(tmp_path / "b") as temporary:
        temporary.write_text("b")
    assert events == ["name"]
    fill(tmp_path / "run")
    assert events.count("flush") >= 5  # two files, two folders, the folder around them
