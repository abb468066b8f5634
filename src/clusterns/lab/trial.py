"""Trials: one method with one seed and one setting, each in its own folder.

    OUTPUT/cells/simcse-1-0f3a9c21d4/cell.json     the task
                                     run/          the run folder, as `clusterns train` leaves it
                                     log.txt       the output of the trial
                                     result.json   the results, written last

A trial that was restored from a record has its curves in result.json, and its predictions per example
(answers.json, answers.npz) instead of run/ and log.txt.

The digits identify everything that determines the numbers: settings, base and text
(:mod:`clusterns.lab.identity`). So a trial that two experiments share runs once.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.console import duration, log
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import resolve_base
from clusterns.errors import UserError
from clusterns.evaluation.catalog import VARIABLE
from clusterns.files import read_json, write_json
from clusterns.lab.experiment import RECIPE, WIKIPEDIA, Budget, Experiment
from clusterns.lab.identity import (
    WIKIPEDIA_FILE,
    Identity,
    identity_of,
    trial_name,
)
from clusterns.lab.launch import Launcher, Task, launch
from clusterns.lab.program import Program
from clusterns.locks import is_free
from clusterns.methods.recipe import current_names
from clusterns.training.recipe import DEFAULT_RECIPE, load_recipe

# File names, shared with earlier versions.
TRIALS = "cells"
SPEC = "cell.json"
CURVES = "curves"
PREDICTIONS = "answers.json"


@dataclass(frozen=True)
class Trial:
    """One method, one seed, one setting."""

    line: str
    """The line of the table that contains it."""
    seed: int
    recipe: str
    changes: Mapping[str, Any]
    corpus: str
    suites: tuple[str, ...]
    kmeans_seeds: int
    folder: Path
    identity: Identity
    shows_cases: bool = False
    """Whether the table shows clusters of its model, so that recorded numbers are not enough."""

    @property
    def name(self) -> str:
        """The displayed name."""
        return f"{self.line}, seed {self.seed}"

    @property
    def log(self) -> Path:
        """The output of the trial."""
        return self.folder / "log.txt"

    @property
    def result(self) -> dict[str, Any] | None:
        """The results; None until it has finished."""
        file = self.folder / "result.json"
        try:
            return read_json(file) if file.is_file() else None
        except ValueError as error:
            raise UserError(f"{file} is broken: remove it, and the trial runs again.") from error

    @property
    def is_done(self) -> bool:
        """Whether there is a result with everything that this experiment needs."""
        result = self.result
        if result is None or (self.shows_cases and is_restored(result)):
            return False
        evaluated = result["suites"]
        return all(
            # Only clustering has an option.
            suite in evaluated
            and evaluated[suite]["settings"].get("kmeans_seeds", self.kmeans_seeds)
            == self.kmeans_seeds
            for suite in self.suites
        )

    def write_spec(self) -> None:
        """Write the task to its folder."""
        write_json(
            self.folder / SPEC,
            {
                "name": self.folder.name,
                "identity": self.identity,
                "recipe": self.recipe,
                "settings": dict(self.changes),
                "corpus": self.corpus,
                "suites": list(self.suites),
                "kmeans_seeds": self.kmeans_seeds,
            },
        )

    def task(self) -> Task:
        """The task for a launcher; another lab in this folder may be running it."""
        return Task(
            self.name,
            Program(("lab", "trial", str(self.folder)), str(self.log)),
            lambda: self.is_done,
            lambda: is_free(self.folder),
            lambda: summary(self.result or {}),
        )


def is_restored(result: Mapping[str, Any]) -> bool:
    """Whether a result comes from a record rather than a run."""
    return CURVES in result


def trials_of(
    experiment: Experiment,
    output: Path,
    budget: Budget,
    *,
    seeds: int | None = None,
    base: str | None = None,
    corpus: str | None = None,
    only: Sequence[str] = (),
) -> list[Trial]:
    """All trials of an experiment, the first seed of every line first, so that an interrupted lab has
    comparable lines.

    Args:
        experiment: the experiment.
        output: folder of the lab.
        budget: the budget whose settings apply.
        seeds: number of seeds for every line, instead of the experiment's.
        base: another encoder to start from.
        corpus: another text to learn from.
        only: only these lines, by their labels or the names of their rows.
    """
    text = find_corpus(corpus or experiment.corpus)
    found: list[tuple[int, Trial]] = []
    lines = experiment.lines()
    labels = [label for label, _, _ in lines]
    for name in only:
        if name not in labels and name not in experiment.rows:
            raise UserError(f"--row {name}: there is no such row; choose from {', '.join(labels)}.")
    for label, row, point in lines:
        if only and not {label, row} & {*only}:
            continue
        changes = experiment.changes(budget, row, point) | ({"base": base} if base else {})
        for place, seed in enumerate(experiment.seeds_of(row, seeds)):
            trial = make_trial(
                label, {**changes, "seed": seed}, text, output, experiment.evaluate,
                experiment.kmeans_seeds, shows_cases=experiment.cases > 0,
            )  # fmt: skip
            found.append((place, trial))
    return [trial for _, trial in sorted(found, key=lambda each: each[0])]


def make_trial(
    label: str,
    changes: Mapping[str, Any],
    corpus: str,
    output: Path,
    suites: tuple[str, ...] = (),
    kmeans_seeds: int = 10,
    *,
    shows_cases: bool = False,
) -> Trial:
    """The trial of some settings, including ``recipe`` and ``seed``, on the text ``corpus``."""
    rest = current_names({key: value for key, value in changes.items() if key != RECIPE})
    recipe = str(changes.get(RECIPE, DEFAULT_RECIPE))
    try:
        resolved = load_recipe(recipe, rest)
    except UserError as error:
        raise UserError(f"row {label}: {error}") from None
    identity = identity_of(resolved, corpus)
    folder = output / TRIALS / trial_name(identity)
    return Trial(
        label, resolved.seed, recipe, rest, corpus, suites, kmeans_seeds, folder, identity,
        shows_cases,
    )  # fmt: skip


def find_corpus(name: str) -> str:
    """The corpus of an experiment: Wikipedia in the folder of the data (the bare word if it is not
    there), a file by its full path, a Hub dataset unchanged."""
    if name != WIKIPEDIA:
        path = Path(name).expanduser()
        return str(path.resolve()) if path.exists() else name
    folder = os.environ.get(VARIABLE)
    if folder and (Path(folder) / WIKIPEDIA_FILE).is_file():
        return str((Path(folder) / WIKIPEDIA_FILE).resolve())
    return WIKIPEDIA


def run_trials(trials: Sequence[Trial], launcher: Launcher, workers: int) -> dict[str, str]:
    """Run every trial without a result.

    Returns:
        The reason of each failure, by the name of the trial.
    """
    distinct = {trial.folder: trial for trial in trials}
    left = [trial for trial in distinct.values() if not trial.is_done]
    if len(left) < len(distinct):
        log(f"{len(distinct) - len(left)} of {len(distinct)} trials already have their result.")
    if not left:
        return {}
    _check_inputs(left)
    for trial in left:
        trial.write_spec()
    return launch([trial.task() for trial in left], launcher, workers)


def _check_inputs(trials: Sequence[Trial]) -> None:
    """Refuse to run trials whose corpus or base is missing; finished ones need neither."""
    if any(trial.corpus == WIKIPEDIA for trial in trials):
        raise UserError(
            f"the corpus {WIKIPEDIA} is {WIKIPEDIA_FILE.as_posix()} in the folder that the variable {VARIABLE} "
            "names, but is missing: pass a text with --corpus, such as SimCSE's wiki1m_for_simcse.txt."
        )
    check_sources(sorted({trial.corpus for trial in trials}))
    for base in {trial.changes["base"] for trial in trials if trial.changes.get("base")}:
        resolve_base(base)


def summary(result: dict[str, Any]) -> str:
    """The results of a trial in a few words."""
    values = result["values"]
    metric = "STS-B dev" if result["metric"].startswith("STS-B") else result["metric"]
    scores = [f"{metric} {values['dev']:.1f}"]
    scores += [f"{name} {value:.1f}" for name, value in values.items() if name.endswith("/Avg.")]
    return f"{', '.join(scores)}; {duration(result['processor_seconds'])} of processor time"
