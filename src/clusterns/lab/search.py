"""A search for the best settings of a method, with the same number of trials for every method.

The Optuna study is kept in memory and is filled with the recorded trials before each new one. So the
record is the only state on disk, and several processes may share a search.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock, Timeout

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.files import read_json, wrap_os_errors, write_json
from clusterns.lab.trial import Trial
from clusterns.methods.registry import get_method
from clusterns.record import make_record
from clusterns.settings import Settings
from clusterns.training.recipe import Recipe

SEED = 0  # not used in any table
VALUE = "dev"
RECORD = "record.json"
WRITE_TIMEOUT = 120.0  # seconds to wait while another process writes the record


class Range(Settings):
    """Numbers between two bounds, uniform or log-uniform."""

    low: float
    high: float
    log: bool = False


Space = Mapping[str, Range | list[Any]]


def space_of(recipe: Recipe, only: Sequence[str] = ()) -> Space:
    """The search space of a recipe's method (of all settings or ``only`` some), extended to the recipe's own values."""
    if not get_method(recipe.method).trains:
        raise UserError(f"{recipe.method} is not trained: there is nothing to search.")
    known = yaml.safe_load((files("clusterns.lab") / "search_space.yaml").read_text("utf-8"))
    space = {**known["all"], **known.get(recipe.method, {})}
    for key in only:
        if key not in space:
            raise UserError(f"--over {key}: choose from {', '.join(space)}.")
    found: dict[str, Range | list[Any]] = {}
    for key in only or space:
        values, own = space[key], getattr(recipe, key)
        if isinstance(values, list):
            found[key] = sorted({*values, own})
        else:
            wide = Range.model_validate(values)
            low, high = min(wide.low, own), max(wide.high, own)
            found[key] = Range(low=low, high=high, log=wide.log and low > 0)
    return found


@dataclass(frozen=True)
class Search:
    """A search in a folder.

    Args:
        folder: folder of the record.
        space: the search space.
        first: values of the first trial: the recipe's own.
        make_trial: makes the trial for some values.
        run_trial: runs a trial, and returns the reason of a failure.
        about: further facts for the record.
    """

    folder: Path
    space: Space
    first: Mapping[str, Any]
    make_trial: Callable[[Mapping[str, Any]], Trial]
    run_trial: Callable[[Trial], str | None]
    about: Mapping[str, Any]

    def run(self, trials: int) -> dict[str, Any]:
        """Run trials until all processes together have run ``trials``; return the record."""
        while True:
            with self._open() as known:
                chosen = self._next(known, trials)
                if chosen is None:
                    return self._record([one for one in known if _is_finished(one)])
            one, lock = chosen
            try:
                self._try(one)
            finally:
                lock.release()

    def _next(
        self, known: list[dict[str, Any]], trials: int
    ) -> tuple[dict[str, Any], FileLock] | None:
        """A trial to run, with its lock: an unfinished one of a killed process, or a new one."""
        unfinished = [one for one in known if not _is_finished(one)]
        for one in unfinished:
            lock = self._lock(f".trial-{one['number']}.lock")
            with suppress(Timeout):  # another process is running it
                lock.acquire()
                return one, lock
        if len(known) >= trials:
            if unfinished:
                log(f"{len(unfinished)} trials are still running in other processes.")
            return None
        number = 1 + max((one["number"] for one in known), default=-1)
        values = self._ask(known) if known else dict(self.first)
        one = {"number": number, "value": None, "settings": values, "reason": None}
        known.append(one)
        lock = self._lock(f".trial-{number}.lock")
        lock.acquire()
        return one, lock

    def _ask(self, known: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """New values from a sampler that knows all scores.

        Its seed is the number of trials: a resumed search draws the same values as an uninterrupted one.
        """
        import optuna
        from optuna.distributions import CategoricalDistribution, FloatDistribution

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        distributions: dict[str, Any] = {
            key: FloatDistribution(values.low, values.high, log=values.log)
            if isinstance(values, Range)
            else CategoricalDistribution(values)
            for key, values in self.space.items()
        }
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=len(known))
        )
        for one in known:
            if one["value"] is not None:
                study.add_trial(
                    optuna.trial.create_trial(
                        params=dict(one["settings"]),
                        distributions=distributions,
                        value=one["value"],
                    )
                )
        return dict(study.ask(distributions).params)

    def _try(self, one: dict[str, Any]) -> None:
        number, values = one["number"], one["settings"]
        shown = {k: f"{v:.3g}" if isinstance(v, float) else v for k, v in values.items()}
        log(f"Trial {number}: {', '.join(f'{key} {value}' for key, value in shown.items())}")
        try:
            trial = self.make_trial(values)
            reason = None if trial.is_done else self.run_trial(trial)
            result = trial.result
        except UserError as error:  # incompatible values
            reason, result = str(error), None
        if reason is None and result is not None:
            changed = {"value": result["values"][VALUE]}
            log(f"Trial {number}: {result['metric']} {changed['value']:.2f}")
        else:
            changed = {"reason": reason or "no result"}
            log(f"Trial {number} failed: {changed['reason']}")
        with self._open() as known:
            next(each for each in known if each["number"] == number).update(changed)

    @contextmanager
    def _open(self) -> Iterator[list[dict[str, Any]]]:
        """The recorded trials, locked for this process; changes to them are written back."""
        file = self.folder / RECORD
        with self._lock(".record.lock", WRITE_TIMEOUT):
            known = read_json(file)["trials"] if file.is_file() else []
            yield known
            if known:
                write_json(file, self._record(known))

    def _record(self, trials: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        scored = [one for one in trials if one["value"] is not None]
        return {
            **self.about,
            "seed": SEED,
            "space": {
                key: values.model_dump() if isinstance(values, Range) else list(values)
                for key, values in self.space.items()
            },
            "trials": list(trials),
            "best": max(scored, key=lambda one: one["value"])["number"] if scored else None,
            "record": make_record(),
        }

    def _lock(self, name: str, timeout: float = 0) -> FileLock:
        with wrap_os_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        # Not a soft lock, which would remain after a killed process.
        return FileLock(
            self.folder / name, timeout=timeout, thread_local=False, fallback_to_soft=False
        )


def _is_finished(one: Mapping[str, Any]) -> bool:
    """Whether it has a score, or failed for a reason of its own."""
    return one["value"] is not None or one["reason"] is not None
