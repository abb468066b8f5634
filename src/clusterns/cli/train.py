"""``clusterns train``: text in, a better SentenceTransformer out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.options import Column
from clusterns.console import answers, say
from clusterns.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clusterns.evaluation.data.sets import ScoredPairs
    from clusterns.training.folder import RunFolder
    from clusterns.training.recipe import Recipe


STSB_DEV = "STS-B dev"


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
            "Without it: the recipe's, else BERT-base, else minibert where the Hub is out of reach.",
            show_default=False,
        ),
    ] = None,
    recipe: Annotated[
        str | None,
        typer.Option(
            help="A published recipe's name (see `clusterns recipes`) or a YAML file. "
            "Without it: default.",
            show_default=False,
        ),
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
            help="Scored pairs (csv, tsv, jsonl) that decide which model is best; `none` decides by "
            "the label-free score. Without it: STS-B dev where it is at hand, else the label-free "
            "score.",
            show_default=False,
        ),
    ] = None,
    column: Column = None,
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
) -> None:
    """Train sentence embeddings from plain text.

    A first run:     clusterns train corpus.txt --output runs/first

    What would it cost:  clusterns train corpus.txt --dry-run

    On a small CPU:  clusterns train corpus.txt --output runs/small --recipe cpu-small

    Go on after a stop:  clusterns train --output runs/first --resume
    """
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.corpus.heldout import split_heldout
    from clusterns.corpus.prepare import prepare_corpus
    from clusterns.encoder.base import default_base
    from clusterns.evaluation.validation import validation
    from clusterns.training.estimate import estimate
    from clusterns.training.folder import RunFolder
    from clusterns.training.processes import first_process_does, processes
    from clusterns.training.recipe import load_recipe, parse_changes
    from clusterns.training.run import Interrupted, check_batches
    from clusterns.training.run import train as run

    quiet_libraries()
    if output is None and not dry_run:
        raise UserError("name the run folder with --output.")
    folder = RunFolder(output) if output is not None else None
    if folder is not None:
        # By each process: none can begin the run before all have joined to read the corpus.
        folder.check(resume)
    begun = folder.record["corpus"] if folder is not None and resume else None
    if begun is not None and folder is not None:
        if "reading" not in begun:
            raise UserError(f"--resume: {output} was not begun by `clusterns train`.")
        recipe = recipe or str(folder.recipe_file)
        dev = dev or begun["dev"]
    reading = (
        begun["reading"]
        if begun and not corpus
        else {
            "sources": [_absolute(source) for source in corpus or []],
            "column": column,
            "split_sentences": split_sentences,
            **({} if min_words is None else {"min_words": min_words}),
        }
    )
    if not reading["sources"]:
        raise UserError("name the text to learn from: clusterns train CORPUS --output DIR.")
    changes = parse_changes(set_ or [])
    if base is not None:
        changes["base"] = _absolute(base)
    chosen = load_recipe(recipe or "default", changes)
    if chosen.base is None:
        chosen = chosen.model_copy(update={"base": default_base()})
    pairs = _scored_pairs(dev)
    if folder is not None and folder.is_finished:
        say(f"The run in {folder.path} is finished: its model is {folder.model}.")
        return

    # The others find it in the cache.
    text = first_process_does(lambda: prepare_corpus(**reading)) or prepare_corpus(**reading)
    say(text.report.summary())
    rows, heldout = split_heldout(text.dataset, chosen.heldout, chosen.seed)
    check_batches(chosen, len(rows))
    _say_truncation(chosen, heldout)
    if dry_run or folder is None:
        say(estimate(chosen, rows).summary())
        return
    facts = {
        "reading": reading,
        "fingerprint": text.fingerprint,
        "dev": "none" if pairs is None else STSB_DEV if dev is None else _absolute(dev),
        "counts": text.report.as_dict(),
        "training": len(rows),
        "heldout": len(heldout),
    }
    try:
        result = run(chosen, rows, validation(pairs, heldout), folder, resume=resume, corpus=facts)
    except Interrupted as stop:
        say(f"Stopped: {stop}. Go on with: clusterns train --output {folder.path} --resume")
        sys.exit(130)
    if processes().is_main_process:
        _report(folder, result.metric, result.base_score, result.best_score, result.best_step)


def _scored_pairs(dev: str | None) -> ScoredPairs | None:
    from clusterns.evaluation.data.find import find_stsb_dev
    from clusterns.evaluation.data.own import read_scored_pairs

    if dev == "none":
        return None
    if dev not in (None, STSB_DEV):
        return read_scored_pairs(Path(dev))
    pairs = find_stsb_dev()
    if pairs is None and dev == STSB_DEV:
        raise UserError(
            "--resume: this run is validated on STS-B dev, which cannot be found: set CLUSTERNS_DATA."
        )
    return pairs


def _absolute(name: str) -> str:
    """A file or folder by its whole path, so that the run can go on from anywhere; others as is."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _say_truncation(recipe: Recipe, sample: Sequence[str]) -> None:
    """How much of the text training does not see."""
    from clusterns.encoder.base import load_tokenizer

    tokenizer = load_tokenizer(recipe.base)
    # In a template, the sentence is counted without the tokeniser's own tokens.
    tokens = tokenizer(list(sample), add_special_tokens=not recipe.template)["input_ids"]
    lengths = [len(ids) for ids in tokens] or [0]
    cut = sum(length > recipe.max_length for length in lengths) / len(lengths)
    say(
        f"{cut:.1%} of the sentences are longer than max_length = {recipe.max_length} tokens and cut."
    )


def _report(folder: RunFolder, metric: str, before: float, after: float, step: int) -> None:
    answers.print(f"{metric}: {before:.4f} before, {after:.4f} after (step {step})")
    answers.print(f"The model is in {folder.model}:", markup=False, soft_wrap=True)
    answers.print(f'  SentenceTransformer("{folder.model}")', markup=False)
