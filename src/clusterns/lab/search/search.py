"""The search: ask, train, tell, until so many trials are done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.files import write_json
from clusterns.lab.cells import Cell
from clusterns.lab.search.journal import fail_dead_trials, hold, opened
from clusterns.lab.search.space import Range, Space, suggest
from clusterns.record import make_record

if TYPE_CHECKING:
    from filelock import FileLock
    from optuna import Study
    from optuna.trial import FrozenTrial

SEED = 0  # no table uses it
VALUE = "dev"
REASON = "reason"
RunCell = Callable[[Cell], str | None]


@dataclass(frozen=True)
class Search:
    """A search in a folder, which several processes may work on at the same time.

    Args:
        folder: of the journal and the record.
        space: what is chosen from.
        first: values of the first trial: the recipe's own.
        make_cell: the cell of some values.
        run_cell: runs it; gives the reason where it fails.
        told: what else the record says.
    """

    folder: Path
    space: Space
    first: Mapping[str, Any]
    make_cell: Callable[[Mapping[str, Any]], Cell]
    run_cell: RunCell
    told: Mapping[str, Any]

    def run(self, trials: int) -> dict[str, Any]:
        """Run trials until there are so many over all processes; gives the record."""
        while True:
            with opened(self.folder) as study:
                fail_dead_trials(study, self.folder)
                if not study.trials:
                    study.enqueue_trial(dict(self.first))
                under_way = _under_way(study)
                if len(finished(study)) + under_way >= trials:
                    if under_way:
                        log(f"{under_way} trials are still under way in other processes.")
                    return self._write(study)
                trial = study.ask()
                values = suggest(trial, self.space)
                held = hold(self.folder, trial.number)
            self._try(trial.number, values, held)

    def _try(self, number: int, values: Mapping[str, Any], held: FileLock | None) -> None:
        from optuna.trial import TrialState

        log(f"Trial {number}: {', '.join(f'{k} {_short(v)}' for k, v in values.items())}")
        try:
            cell = self.make_cell(values)
            reason = None if cell.is_done else self.run_cell(cell)
            result = cell.result
        except UserError as error:  # values that do not go together
            reason, result = str(error), None
        with opened(self.folder) as study:
            if reason is None and result is not None:
                study.tell(number, result["values"][VALUE])
                log(f"Trial {number}: {result['metric']} {result['values'][VALUE]:.2f}")
            else:
                study.set_user_attr(f"{REASON} {number}", reason or "no result")
                study.tell(number, state=TrialState.FAIL)
                log(f"Trial {number} failed: {reason}")
            self._write(study)
        if held is not None:
            held.release()

    def _write(self, study: Study) -> dict[str, Any]:
        """Write down what was tried and what came out."""
        done = finished(study)
        scored = [one for one in done if one.value is not None]
        record = {
            **self.told,
            "seed": SEED,
            "space": {
                key: values.model_dump() if isinstance(values, Range) else list(values)
                for key, values in self.space.items()
            },
            "trials": [
                {
                    "number": one.number,
                    "value": one.value,
                    "settings": one.params,
                    REASON: study.user_attrs.get(f"{REASON} {one.number}"),
                }
                for one in done
            ],
            "best": max(scored, key=lambda one: one.value or 0.0).number if scored else None,
            "record": make_record(),
        }
        write_json(self.folder / "record.json", record)
        return record


def finished(study: Study) -> list[FrozenTrial]:
    """Trials that count: scored, or failed for a reason of their own rather than by a kill."""
    from optuna.trial import TrialState

    return [
        one
        for one in study.get_trials(deepcopy=False)
        if one.state == TrialState.COMPLETE or f"{REASON} {one.number}" in study.user_attrs
    ]


def _under_way(study: Study) -> int:
    from optuna.trial import TrialState

    return len(study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)))


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
