"""``clusterns encode``: a corpus and a model in, a folder of vectors out."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.engines import GpusOption, On, SlurmOption, find_engine
from clusterns.cli.options import (
    Column,
    DType,
    Dtype,
    MaxLength,
    Model,
    Pooling,
    PromptName,
    TruncateDim,
)
from clusterns.console import log, stdout
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.api.encode import EncodingPlan
    from clusterns.vectors.encode import EncodeReport
    from clusterns.vectors.settings import Share


OnEncode = Annotated[
    On | None,
    typer.Option(
        help="Hand out the shards: to processes here, Ray (a cluster by RAY_ADDRESS, else here), or "
        "Slurm. Without it: in this process.",
        show_default=False,
    ),
]


class Format(str, Enum):
    """What can be asked for with --format."""

    parquet = "parquet"
    npy = "npy"


class Precision(str, Enum):
    """What can be asked for with --precision."""

    float32 = "float32"
    int8 = "int8"
    uint8 = "uint8"
    binary = "binary"
    ubinary = "ubinary"


def encode(
    model: Model,
    corpus: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CORPUS...",
            help="Text to encode: .txt, .jsonl, .csv, .tsv or .parquet files (also .gz, .xz, "
            ".zst), folders of them, or Hub datasets as owner/name[:config[:split]]. Every line or "
            "row gets a vector, in order; one without text gets that of the empty text.",
            show_default=False,
        ),
    ] = None,
    *,
    output: Annotated[
        Path,
        typer.Option(
            help="Folder to write. Shards that are in it stay; shards of another model, corpus or "
            "setting are refused.",
            show_default=False,
        ),
    ],
    model_: Annotated[
        str | None, typer.Option("--model", help="Before MODEL came first.", hidden=True)
    ] = None,
    format: Annotated[
        Format,
        typer.Option(
            help="parquet: shard-00000.parquet with the columns id, text and embedding. npy: "
            "shard-00000.npy with the vectors, ids-00000.npy, texts-00000.parquet."
        ),
    ] = Format.parquet,
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="On N machines: make every N-th shard only. I counts from 0.",
        ),
    ] = "0/1",
    shard_size: Annotated[
        int, typer.Option(min=1, help="Texts a shard; at most one shard is lost by a stop.")
    ] = 50_000,
    normalise: Annotated[
        bool, typer.Option("--normalise", "--normalize", help="Vectors of length 1.")
    ] = False,
    precision: Annotated[
        Precision,
        typer.Option(
            help="Numbers to write. int8 and uint8 are spread over the range that the first 10,000 "
            "texts have in each dimension, kept in the manifest; binary and ubinary keep the signs, "
            "eight to a byte."
        ),
    ] = Precision.float32,
    column: Column = None,
    id_column: Annotated[
        str | None,
        typer.Option(
            help="Column of the ids (strings or whole numbers, written as strings); rows with "
            "neither id nor text are left out. Without it: the number of the line or row over all "
            "of CORPUS, from 0.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        bool,
        typer.Option("--text/--no-text", help="Keep the texts beside their vectors, for a search."),
    ] = True,
    batch_size: Annotated[
        int,
        typer.Option(min=1, help="Texts a forward pass; may differ when you go on."),
    ] = 32,
    pooling: Pooling = None,
    max_length: MaxLength = None,
    prompt_name: PromptName = None,
    truncate_dim: TruncateDim = None,
    device: Annotated[
        list[str] | None,
        typer.Option(
            help="cpu, cuda:0, ... May be given several times: a process each. Without it: every "
            "accelerator here, or the processor.",
            show_default=False,
        ),
    ] = None,
    dtype: Dtype = DType.float32,
    on: OnEncode = None,
    workers: Annotated[
        int, typer.Option(min=1, help="Shares at a time, one thread each (with --on).")
    ] = 2,
    gpus: GpusOption = 0,
    slurm: SlurmOption = None,
) -> None:
    """Encode a corpus of any size into shards of vectors.

    A first one:   clusterns encode runs/first corpus.txt --output vectors

    Search them:   clusterns search runs/first "came too late" vectors

    Go on after a stop: the same command again; finished shards are kept, the result is the same.

    On a cluster: add --on ray --workers 16, or --on slurm; killed workers are replaced

    On four machines without one: the same command with --shard 0/4, 1/4, 2/4 and 3/4

    In few bytes: add --normalise --precision int8

    Rows with ids of their own: add --column body --id-column key
    """
    texts = corpus or []
    if model_ is not None:
        model, texts = model_, [model, *texts]
    if not texts:
        raise UserError("name the text as well: clusterns encode MODEL CORPUS --output DIR.")
    if on is not None and shard != "0/1":
        raise UserError(
            f"--shard {shard}: with --on the shards are shared out already; leave out one."
        )

    from clusterns.api.encode import plan_encoding

    plan = plan_encoding(
        model, texts, output, format=format.value, precision=precision.value, normalise=normalise,
        text=text, column=column, id_column=id_column, shard=shard, shard_size=shard_size,
        batch_size=batch_size, pooling=pooling, max_length=max_length, prompt_name=prompt_name,
        truncate_dim=truncate_dim, device=device or (), dtype=dtype.value,
    )  # fmt: skip

    # From here on it takes its time.
    try:
        found = _here(plan) if on is None else _handed_out(plan, on, workers, gpus, slurm)
    except KeyboardInterrupt:
        log("Stopped. The finished shards are kept: go on with the same command.")
        sys.exit(130)
    if found is not None:
        from clusterns.vectors.shards import Shards

        count, shards = found
        # To be copied: not wrapped.
        stdout.print(
            f"{count:,} texts in {shards:,} {format.value} shards in {output}:\n"
            + Shards(output, format.value).how_to_open(),
            soft_wrap=True,
        )


def _here(plan: EncodingPlan) -> tuple[int, int] | None:
    """Encode in this process; how many texts and shards there are, once all are there."""
    from clusterns.cli.quiet import quiet_libraries

    quiet_libraries()
    report = plan.run()
    for line in _told(report, plan.share):
        log(line)
    return None if report.missing else (report.texts, report.shards)


def _handed_out(
    plan: EncodingPlan, on: On, workers: int, gpus: int, slurm: list[str] | None
) -> tuple[int, int]:
    """The same by programs elsewhere."""
    from clusterns.api.encode_on import encode_on, scratch_of

    engine = find_engine(on, scratch_of(plan.output), gpus, slurm)
    try:
        found = encode_on(plan, engine, workers)
    finally:
        engine.close()
    return found["texts"], found["shards"]


def _told(report: EncodeReport, share: Share) -> list[str]:
    """What a user should know, a line each."""
    lines = [f"{report.encoded:,} of {report.texts:,} texts were encoded in this call."]
    if report.truncated:
        lines.append(
            f"{report.truncated:,} of them ({report.truncated / report.encoded:.1%}) are longer "
            f"than {report.max_length} tokens: only their beginning is in their vector."
        )
    if report.empty:
        lines.append(f"{report.empty:,} of them are empty.")
    if report.missing:
        shares = sorted({number % share.count for number in report.missing})
        lines.append(
            f"{len(report.missing):,} of {report.shards:,} shards are still to come, from --shard "
            f"{', '.join(f'{index}/{share.count}' for index in shares)}."
        )
    return lines
