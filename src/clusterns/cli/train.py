"""``clusterns train``: text in, a better SentenceTransformer out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.options import Column, Document, NoReport, Quiet
from clusterns.cli.running import run_plan
from clusterns.console import stdout
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.api.plan import Trained


def train(
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text to learn from: .txt, .jsonl, .csv, .tsv or .parquet files (also .gz, .xz, "
            ".zst), folders of them, or Hub datasets as owner/name[:config[:split]].",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Run folder to write.", show_default=False)
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Encoder to start from: a folder, a Hub name, or minibert (inside this package). "
            "Without it: the recipe's, else minibert.",
            show_default=False,
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="A published recipe's name (see `clusterns recipes`) or a YAML file. "
            "Without it: minibert where no base, method or template is named, else default.",
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Training method; short for --set method=...", show_default=False),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(help="Of all that is random; short for --set seed=...", show_default=False),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting of the recipe; `clusterns recipes --keys` explains all keys.",
            show_default=False,
        ),
    ] = None,
    dev: Annotated[
        str | None,
        typer.Option(
            help="What chooses the step to keep: `none` (keep the last step), `label-free` (a score on held-out "
            "sentences), a file of scored pairs (csv, tsv, jsonl), or `stsb` (STS-B dev). Without it: the "
            "recipe's, else none.",
            show_default=False,
        ),
    ] = None,
    column: Column = None,
    document: Document = None,
    split_sentences: Annotated[
        bool, typer.Option("--split-sentences", help="Split paragraphs into sentences.")
    ] = False,
    min_words: Annotated[
        int | None, typer.Option(min=1, help="Drop lines of fewer words.", show_default="2")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --output, as if never stopped.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Read the corpus, estimate time and memory, and train nothing."
        ),
    ] = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Train sentence embeddings from plain text.

    A first run:     clusterns train corpus.txt --output runs/first

    What would it cost:  clusterns train corpus.txt --dry-run

    On a small CPU:  clusterns train corpus.txt --output runs/small --recipe cpu-small

    Go on after a stop:  clusterns train --output runs/first --resume
    """
    from clusterns.api.plan import plan_training
    from clusterns.training.recipe import parse_changes

    if output is None and not dry_run:
        raise UserError("name the run folder with --output.")
    plan = plan_training(
        corpus, output, base=base, recipe=recipe, method=method, seed=seed,
        settings=parse_changes(set_ or []), dev=dev, column=column,
        document=document, split_sentences=split_sentences, min_words=min_words, resume=resume,
    )  # fmt: skip

    # From here on it takes its time.
    from clusterns.cli.quiet import quiet_libraries

    quiet_libraries()
    if not dry_run:
        again = f"clusterns train --output {output} --resume"
        run_plan(plan, again, _report, report=not no_report, quiet=quiet)
        return
    from clusterns.training.processes import processes

    summary = plan.estimate(quiet=quiet).summary()
    if processes().is_main_process:
        stdout.print(summary, markup=False, soft_wrap=True)


def _report(run: Trained) -> str:
    found = run.result
    # A method that does not train has no steps.
    step = f" (step {found.best_step})" if found.steps else ""
    return (
        f"{found.metric}: {found.base_score:.4f} before, {found.best_score:.4f} after{step}\n"
        f"The model is in {run.model}:\n"
        f'  SentenceTransformer("{run.model}")'
    )
