"""Cells: one method with one seed and one setting, a folder each.

    OUTPUT/cells/simcse-1-0f3a9c21d4/cell.json     what is to be done
                                     run/          the run folder, as `clusterns train` leaves it
                                     log.txt       what the cell said
                                     result.json   what came out, written whole at the end

One that was restored from a record has its curves in result.json, and in place of run/ and log.txt what the
model answered row by row (answers.json, answers.npz).

The digits stand for all that decides the numbers: settings, base and text (:mod:`clusterns.lab.identity`). So a
cell that several experiments have is run once, and one that was changed is another one.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.data.sources import check_sources
from clusterns.encoder.locate import resolve_base
from clusterns.errors import UserError
from clusterns.evaluation.catalog import VARIABLE
from clusterns.files import read_json, write_json
from clusterns.lab.experiment import RECIPE, WIKIPEDIA, Budget, Experiment
from clusterns.lab.identity import (
    WIKIPEDIA_FILE,
    Identity,
    current_keys,
    identity_of,
    trial_name,
)
from clusterns.training.recipe import DEFAULT_RECIPE, load_recipe

CELLS = "cells"
CURVES = "curves"
ANSWERS = "answers.json"


@dataclass(frozen=True)
class Cell:
    """One method, one seed, one setting."""

    line: str
    """The line of the table that it belongs to."""
    seed: int
    recipe: str
    changes: Mapping[str, Any]
    corpus: str
    suites: tuple[str, ...]
    kmeans_seeds: int
    folder: Path
    identity: Identity
    shows_cases: bool = False
    """Whether the table shows what its model puts together, so that numbers of a record are not enough."""

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.line}, seed {self.seed}"

    @property
    def log(self) -> Path:
        """What the cell said while it ran."""
        return self.folder / "log.txt"

    @property
    def result(self) -> dict[str, Any] | None:
        """What came out; None before."""
        file = self.folder / "result.json"
        try:
            return read_json(file) if file.is_file() else None
        except ValueError as error:
            raise UserError(f"{file} is broken: remove it, and the cell runs again.") from error

    @property
    def is_done(self) -> bool:
        """Whether there is a result, with all that this experiment asks for."""
        result = self.result
        if result is None or (self.shows_cases and is_restored(result)):
            return False
        judged = result["suites"]
        return all(
            suite in judged and self._fits(judged[suite]["settings"]) for suite in self.suites
        )

    def _fits(self, settings: Mapping[str, Any]) -> bool:
        """Whether a suite was judged as this experiment asks; only clustering has something to ask."""
        return settings.get("kmeans_seeds", self.kmeans_seeds) == self.kmeans_seeds

    def order(self) -> None:
        """Write down what is to be done."""
        write_json(
            self.folder / "cell.json",
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


def is_restored(result: Mapping[str, Any]) -> bool:
    """Whether a result was put here from a record, without a run."""
    return CURVES in result


def cells_of(
    experiment: Experiment,
    output: Path,
    budget: Budget,
    *,
    seeds: int | None = None,
    base: str | None = None,
    corpus: str | None = None,
    only: Sequence[str] = (),
) -> list[Cell]:
    """All cells of an experiment; the first seed of every line first, so that what is there of a lab
    that was stopped can be compared.

    Args:
        experiment: what is to be done.
        output: the folder of the lab.
        budget: whose settings.
        seeds: so many for every line, instead of what the experiment says.
        base: another encoder to start from.
        corpus: another text to learn from.
        only: these lines only, by their labels or by the names of their rows.
    """
    text = find_corpus(corpus or experiment.corpus)
    found: list[tuple[int, Cell]] = []
    known = [label for label, _, _ in experiment.lines()]
    for name in only:
        if name not in known and name not in experiment.rows:
            raise UserError(f"--only {name}: there is no such row; there are {', '.join(known)}.")
    rows = {id(row): name for name, row in experiment.rows.items()}
    for label, row, point in experiment.lines():
        if only and label not in only and rows[id(row)] not in only:
            continue
        changes = experiment.changes(budget, row, point)
        if base is not None:
            changes["base"] = base
        for place, seed in enumerate(experiment.seeds_of(row, seeds)):
            cell = make_cell(
                label, {**changes, "seed": seed}, text, output, experiment.evaluate,
                experiment.kmeans_seeds, shows_cases=experiment.cases > 0,
            )  # fmt: skip
            found.append((place, cell))
    return [cell for _, cell in sorted(found, key=lambda each: each[0])]


def make_cell(
    label: str,
    changes: Mapping[str, Any],
    corpus: str,
    output: Path,
    suites: tuple[str, ...] = (),
    kmeans_seeds: int = 10,
    *,
    shows_cases: bool = False,
) -> Cell:
    """The cell of some settings, ``recipe`` and ``seed`` among them, on the text ``corpus``."""
    rest = current_keys({key: value for key, value in changes.items() if key != RECIPE})
    recipe = str(changes.get(RECIPE, DEFAULT_RECIPE))
    try:
        resolved = load_recipe(recipe, rest)
    except UserError as error:
        raise UserError(f"row {label}: {error}") from None
    identity = identity_of(resolved, corpus)
    folder = output / CELLS / trial_name(identity)
    return Cell(
        label, resolved.seed, recipe, rest, corpus, suites, kmeans_seeds, folder, identity,
        shows_cases,
    )  # fmt: skip


def find_corpus(name: str) -> str:
    """The text of an experiment: Wikipedia from the folder of the data (the bare word where it is not
    there), a file by its whole path, a Hub dataset as it is."""
    if name != WIKIPEDIA:
        path = Path(name).expanduser()
        return str(path.resolve()) if path.exists() else name
    folder = os.environ.get(VARIABLE)
    if folder and (Path(folder) / WIKIPEDIA_FILE).is_file():
        return str((Path(folder) / WIKIPEDIA_FILE).resolve())
    return WIKIPEDIA


def check_at_hand(cells: Sequence[Cell]) -> None:
    """Refuse to run cells whose text or base is not here; what they left before can be looked at."""
    if any(cell.corpus == WIKIPEDIA for cell in cells):
        raise UserError(
            f"the corpus {WIKIPEDIA} is {WIKIPEDIA_FILE.as_posix()} in the folder that the variable {VARIABLE} "
            "names, and is not there: name a text with --corpus, such as SimCSE's wiki1m_for_simcse.txt."
        )
    check_sources(sorted({cell.corpus for cell in cells}))
    for base in {cell.changes["base"] for cell in cells if cell.changes.get("base")}:
        resolve_base(base)
