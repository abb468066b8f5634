"""``clusterns adapt``: a good model and your text in, a model for that text out."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.options import Column, Document, NoReport, Quiet
from clusterns.cli.running import run_plan
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.api.plan import Trained


class Purpose(str, Enum):
    """What can be asked for with --for."""

    topics = "topics"
    search = "search"


def adapt(
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            help="Your text: .txt, .jsonl, .csv, .tsv or .parquet files (also .gz, .xz, .zst), folders "
            "of them, or Hub datasets as owner/name[:config[:split]].",
            show_default=False,
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="The sentence encoder to adapt: a folder or a Hub name, such as "
            "sentence-transformers/all-MiniLM-L6-v2.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help="Run folder to write.", show_default=False)
    ] = None,
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--for",
            help="topics: clusters, classes, near neighbours. search: a sentence finds its document; the "
            "text must be in documents (--document).",
        ),
    ] = Purpose.topics,
    general: Annotated[
        str | None,
        typer.Option(
            help="A file of text whose vectors are to stay as they are, a sentence a line. Without it: "
            "random words of the model's vocabulary.",
            metavar="FILE",
            show_default=False,
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Least agreement with the start on general text (Spearman of similarities).",
            show_default="the recipe's",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Of all that is random.", show_default=False)
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Override a setting; `clusterns recipes --keys` explains them.",
            show_default=False,
        ),
    ] = None,
    column: Column = None,
    document: Document = None,
    split_sentences: Annotated[
        bool, typer.Option("--split-sentences", help="Split paragraphs into sentences.")
    ] = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="The run in --output again, with its settings.")
    ] = False,
    no_report: NoReport = False,
    quiet: Quiet = False,
) -> None:
    """Adapt a good sentence encoder to your text, without labels, and keep what it knew.

    Titles of a shop or a forum:   clusterns adapt titles.csv --column title --base MODEL --output runs/titles

    A manual to search in:   clusterns adapt manual.txt --split-sentences --base MODEL --output runs/manual --for search

    A map behind the encoder, which acts near your text only, is fitted; no weight of the encoder changes. The
    result lies between the start and that map, where a score without labels is best of all that keep what the
    start knew; where nothing is a gain without harm, it is the start. docs/adapt.md says when to adapt, when to
    train and when to leave a model alone.
    """
    from clusterns.api.adapt import plan_adaptation
    from clusterns.training.recipe import parse_changes

    if output is None:
        raise UserError("name the run folder with --output.")
    plan = plan_adaptation(
        corpus, output, base=base, purpose=purpose.value, general=general, keep=keep, seed=seed,
        settings=parse_changes(set_ or []), column=column, document=document,
        split_sentences=split_sentences, resume=resume,
    )  # fmt: skip

    # From here on it takes its time.
    from clusterns.cli.quiet import quiet_libraries

    quiet_libraries()
    again = f"clusterns adapt --output {output} --resume"
    run_plan(plan, again, _summary, report=not no_report, quiet=quiet)


def _summary(run: Trained) -> str:
    from clusterns.adaptation.scores import summarize

    return "\n".join(
        [
            summarize(run.result.facts),
            f"The model is in {run.model}:",
            f'  SentenceTransformer("{run.model}")',
        ]
    )
