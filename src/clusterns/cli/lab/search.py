"""``clusterns lab search``: the best settings of a method within so many trials."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clusterns.cli.lab.options import (
    LAB,
    BaseOption,
    Budget,
    BudgetOption,
    CorpusOption,
    LabFolder,
)
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.lab.trial import Trial


def search(
    method: Annotated[
        str,
        typer.Argument(
            help="A trained method of `clusterns methods`.", metavar="METHOD", show_default=False
        ),
    ],
    trials: Annotated[
        int,
        typer.Option(min=1, help="Trials in all. Give every method that you compare as many."),
    ] = 20,
    base: BaseOption = None,
    corpus: CorpusOption = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="A setting of all trials, such as positives=crop.",
            show_default=False,
        ),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="KEY",
            help="Search this setting only; may be repeated. Without it: all that the method's space has.",
            show_default=False,
        ),
    ] = None,
    budget: BudgetOption = Budget.small,
    lab: LabFolder = LAB,
) -> None:
    """Search the settings of a method on STS-B dev, with a seed that no table uses.

    clusterns lab search clusterns

    The first trial is the recipe as it is. Go on after a stop of any kind: the same command again.
    Started twice at the same time, both processes share the work.
    """
    if find_spec("optuna") is None:
        raise UserError("lab search needs Optuna: pip install 'clusterns[search]'.")

    from clusterns.console import stdout
    from clusterns.encoder.locate import identity_of_base
    from clusterns.lab.experiment import BUDGETS, WIKIPEDIA
    from clusterns.lab.search import SEED, Search, space_of
    from clusterns.lab.trial import find_corpus, make_trial
    from clusterns.training.recipe import DEFAULT_RECIPE, load_recipe, parse_changes

    settings: dict[str, Any] = {
        **BUDGETS[budget.value],
        **parse_changes(set_ or []),
        "method": method,
        "seed": SEED,
    }
    if base is not None:
        settings["base"] = base
    text = find_corpus(corpus or WIKIPEDIA)
    recipe = load_recipe(DEFAULT_RECIPE, settings)
    space = space_of(recipe, over or ())
    output = lab.resolve()

    def trial_of(values: Any) -> Trial:
        return make_trial(f"{method}, search", {**settings, **values}, text, output)

    found = Search(
        output / "search" / "-".join([trial_of({}).folder.name, *(over or [])]), space,
        {key: getattr(recipe, key) for key in space}, trial_of, _run,
        {
            "method": method, "settings": settings, "corpus": Path(text).name,
            "base": identity_of_base(str(recipe.base)),
        },
    )  # fmt: skip
    try:
        record = found.run(trials)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    scored = {one["number"]: one for one in record["trials"] if one["value"] is not None}
    if not scored:
        raise UserError(f"no trial has a result: {record['trials'][0]['reason']}")
    best = scored[record["best"]]
    first = [one["value"] for one in scored.values() if one["settings"] == found.first]
    own = f" ({first[0]:.2f} with the recipe as it is)" if first else ""
    stdout.print(
        f"best of {len(record['trials'])} trials: {best['value']:.2f}{own}", soft_wrap=True
    )
    for key, value in best["settings"].items():
        stdout.print(
            f"  --set {key}={value:.4g}" if isinstance(value, float) else f"  --set {key}={value}"
        )
    stdout.print(f"Written: {found.folder / 'record.json'}", soft_wrap=True)


def _run(trial: Trial) -> str | None:
    """Run a trial in a process of its own; the reason where it fails."""
    from clusterns.lab.launchers import OnThisMachine
    from clusterns.lab.trial import run_trials

    launcher = OnThisMachine()
    try:
        return next(iter(run_trials([trial], launcher, 1).values()), None)
    finally:
        launcher.close()
