"""``clusterns evaluate``: a model in, its numbers out."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from clusterns.cli.options import (
    OWN_COLUMNS,
    Device,
    DType,
    Dtype,
    Json,
    MaxLength,
    Model,
    Pooling,
    PromptName,
    TruncateDim,
)
from clusterns.errors import UserError


class Suite(str, Enum):
    """What can be asked for with --suite."""

    sts = "sts"
    transfer = "transfer"
    clustering = "clustering"
    geometry = "geometry"
    all = "all"
    mteb = "mteb"


def evaluate(
    model: Model,
    suite: Annotated[
        list[Suite] | None,
        typer.Option(
            help="sts: STS12-16, STS-B, SICK-R. transfer: MR, CR, SUBJ, MPQA, SST-2, TREC, MRPC "
            "with SentEval's classifier. clustering: eight short-text sets and DBpedia. geometry: "
            "alignment, uniformity, anisotropy on STS-B. all: these four. mteb: tasks of the mteb "
            "package. May be given several times. Without it: sts, or only your own sets where "
            "you name some.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the evaluation data: SentEval's layout, short-text files, DBpedia. "
            "Without it: the folder that the variable CLUSTERNS_DATA names. What is not in it is "
            "looked for in what `clusterns data fetch` fetched, then on the Hugging Face Hub.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the results to this file: .json (what `clusterns compare` reads, with the "
            "row-by-row answers in a .npz beside it), .md or .tex. May be given several times. A "
            "run folder keeps its results by itself, in RUN/evaluation.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own scored pairs (csv, tsv, jsonl, parquet): sentence1, sentence2, score. "
            + OWN_COLUMNS,
            show_default=False,
        ),
    ] = None,
    labelled: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own labelled texts to cluster (csv, tsv, jsonl, parquet): label, text. "
            + OWN_COLUMNS,
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own queries (csv, tsv, jsonl, parquet): query, relevant; one row for each "
            "relevant text. All texts of the file are searched. " + OWN_COLUMNS,
            show_default=False,
        ),
    ] = None,
    pooling: Pooling = None,
    name: Annotated[
        str | None,
        typer.Option(
            help="What to call the model in tables. Without it: MODEL.", show_default=False
        ),
    ] = None,
    max_length: MaxLength = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Sentences a forward pass.")] = 32,
    seeds: Annotated[
        int, typer.Option(min=1, help="K-means runs for each clustering set; seeds 0, 1, ...")
    ] = 10,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps embeddings, by the model's fingerprint, for the next call.",
            show_default=False,
        ),
    ] = None,
    mteb_task: Annotated[
        list[str] | None,
        typer.Option(
            help="A task of the mteb suite. May be given several times. Without it: its STS tasks.",
            show_default=False,
        ),
    ] = None,
    device: Device = None,
    dtype: Dtype = DType.float32,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    again: Annotated[
        bool, typer.Option("--again", help="Compute anew what an earlier call has kept.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Evaluate an embedding model the way the paper does.

    First all data is found, and a table says what will run and what is missing. Each set's result
    is kept as soon as it is there, so a killed evaluation goes on where it was.

    Example: clusterns evaluate sentence-transformers/all-MiniLM-L6-v2 --suite all --data SentEval
    """
    outputs = [_checked_output(path) for path in output or []]

    from clusterns.api.evaluate import plan_evaluation
    from clusterns.console import log, print_json, stdout

    plan = plan_evaluation(
        model,
        [one.value for one in suite] if suite else None,
        data=data,
        pairs=pairs or (),
        labelled=labelled or (),
        queries=queries or (),
        pooling=pooling,
        name=name,
        max_length=max_length,
        device=device,
        dtype=dtype.value,
        prompt_name=prompt_name,
        truncate_dim=truncate_dim,
        batch_size=batch_size,
        seeds=seeds,
        cache=cache,
        mteb_tasks=mteb_task or (),
        again=again,
    )

    # From here on it takes its time.
    from clusterns.cli.quiet import quiet_libraries
    from clusterns.evaluation.tables import results_tables
    from clusterns.tables import write_tables

    quiet_libraries()
    try:
        results = plan.run()
    except KeyboardInterrupt:
        log("Stopped. What is done is kept: the same command goes on.")
        sys.exit(130)
    tables = results_tables([results])
    if as_json:
        print_json(results.plain())
    else:
        for table in tables:
            table.show(stdout)
    for path in outputs:
        if path.suffix.lower() == ".json":
            results.write(path)
        else:
            write_tables(path, tables)
        log(f"Written: {path}")


def _checked_output(path: Path) -> Path:
    """Refuse what cannot be written now, not after an hour of work."""
    if path.suffix.lower() not in (".json", ".md", ".tex"):
        raise UserError(f"--output {path}: results are written as .json, .md or .tex.")
    if path.is_dir():
        raise UserError(f"--output {path} is a folder; name a file.")
    return path
