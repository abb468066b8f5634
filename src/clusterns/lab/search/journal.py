"""The journal of a search: a file that several processes share and that survives their end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from clusterns.files import wrap_os_errors

if TYPE_CHECKING:
    from optuna import Study

JOURNAL = "journal.jsonl"
PATIENCE = 120.0  # seconds that the others take, at most, to read and write the journal


class _Held:
    """Optuna's own lock outlives a killed process; ours is held around all that it does."""

    def acquire(self) -> bool:
        return True

    def release(self) -> None:
        pass


@contextmanager
def opened(folder: Path) -> Iterator[Study]:
    """The study of a folder, for this process alone within the block.

    The sampler draws from a seed that is the number of trials: with a fixed one, a search that
    goes on would draw its first values again.
    """
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    file = folder / JOURNAL
    with wrap_os_errors(file):
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / ".journal.lock", PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            cut_unfinished_line(file)
            storage = JournalStorage(JournalFileBackend(str(file), lock_obj=_Held()))
            study = optuna.create_study(
                storage=storage, study_name="search", direction="maximize", load_if_exists=True
            )
            count = len(study.get_trials(deepcopy=False))
            study.sampler = optuna.samplers.TPESampler(seed=count)
            yield study


def cut_unfinished_line(file: Path) -> None:
    """Remove what a killed process left of a line: the next one would be written behind it."""
    if file.is_file():
        text = file.read_bytes()
        if text and not text.endswith(b"\n"):
            with file.open("r+b") as opened_file:
                opened_file.truncate(text.rfind(b"\n") + 1)


def hold(folder: Path, number: int) -> FileLock | None:
    """Take hold of a trial; None where a living process has it."""
    lock = _lock(folder / f".trial-{number}.lock", 0)
    try:
        lock.acquire()
    except Timeout:
        return None
    return lock


def fail_dead_trials(study: Study, folder: Path) -> None:
    """Mark the trials of processes that are gone as failed, and line up their values again: what
    their cells had saved is not lost."""
    from optuna.trial import TrialState

    for trial in study.get_trials(states=(TrialState.RUNNING,)):
        lock = hold(folder, trial.number)
        if lock is not None:
            study.tell(trial.number, state=TrialState.FAIL)
            study.enqueue_trial(trial.params)
            lock.release()


def _lock(file: Path, wait: float) -> FileLock:
    # No soft lock, which a dead process keeps.
    return FileLock(file, timeout=wait, thread_local=False, fallback_to_soft=False)
