"""``clusterns evaluate``: a model in, its numbers out."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clusterns.cli.options import MODEL_HELP, MaxLength, Pooling
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.evaluation.data.sets import LabelledTexts, Retrieval, ScoredPairs


class Suite(str, Enum):
    """What can be asked for with --suite."""

    sts = "sts"
    transfer = "transfer"
    clustering = "clustering"
    geometry = "geometry"
    all = "all"
    mteb = "mteb"


def evaluate(
    model: Annotated[
        str,
        typer.Argument(help=MODEL_HELP),
    ],
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
            "Without it: the folder that the variable CLUSTERNS_DATA names. What is not in it comes "
            "from the Hugging Face Hub where the Hub has it.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        list[Path] | None,
        typer.Option(
            help="Write the results to this file: .json (what `clusterns compare` reads, with the "
            "row-by-row answers in a .npz beside it), .md or .tex. May be given several times. A "
            "run folder keeps its results in evaluation.json by itself.",
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own scored pairs (csv, tsv, jsonl): sentence1, sentence2, score.",
            show_default=False,
        ),
    ] = None,
    labelled: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own labelled texts to cluster (csv, tsv, jsonl): label, text.",
            show_default=False,
        ),
    ] = None,
    queries: Annotated[
        list[Path] | None,
        typer.Option(
            help="Your own queries (csv, tsv, jsonl): query, relevant; one row for each relevant "
            "text. All texts of the file are searched.",
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
    device: Annotated[
        str | None,
        typer.Option(help="cpu, cuda, mps, ... Without it: the best one here.", show_default=False),
    ] = None,
) -> None:
    """Evaluate an embedding model the way the paper does.

    Example: clusterns evaluate sentence-transformers/all-MiniLM-L6-v2 --suite all --data SentEval
    """
    outputs = [_checked_output(path) for path in output or []]

    from clusterns.cli.quiet import quiet_libraries
    from clusterns.console import answers, say
    from clusterns.evaluation.data.find import EvaluationData
    from clusterns.evaluation.results.results import RUN_FILE, Results
    from clusterns.evaluation.results.tables import results_tables
    from clusterns.evaluation.suites import SUITES, Bench, run_own, run_suites
    from clusterns.record import make_record
    from clusterns.tables import write_tables
    from clusterns.vectors.embed import Embedder, fingerprint
    from clusterns.vectors.models import load_model

    quiet_libraries()
    own = _own_sets(pairs, labelled, queries)
    asked = [one.value for one in suite or ([] if own else [Suite.sts])]
    chosen = [one for one in SUITES if one in asked or "all" in asked]
    # Read before the work, so that a broken file is found out now.
    run_file = Path(model) / RUN_FILE if (Path(model) / "model").is_dir() else None
    earlier = Results.read(run_file) if run_file and run_file.is_file() else None
    evaluation_data = EvaluationData(data)
    encoder = load_model(model, pooling, max_length, device)
    embed = Embedder(encoder, batch_size, progress=True, cache=cache)
    results = Results(
        name or model,
        {
            "model": model,
            "pooling": pooling,
            "fingerprint": fingerprint(encoder),
            "max_length": encoder.max_seq_length,
        },
        make_record(seed=1111, batch_size=batch_size, kmeans_seeds=seeds),
    )
    bench = Bench(embed, evaluation_data, seeds, progress=True)
    run_suites(bench, chosen, results)
    if own:
        run_own(bench, own, results)
    if "mteb" in asked:
        from clusterns.evaluation.mteb_suite import DEFAULT_TASKS, run_mteb

        results.suites["mteb"] = run_mteb(encoder, mteb_task or DEFAULT_TASKS, batch_size)
    results.model["dimension"] = embed.dimension

    tables = results_tables([results])
    for table in tables:
        table.show(answers)
    for path in outputs:
        if path.suffix.lower() == ".json":
            results.write(path)
        else:
            write_tables(path, tables)
        say(f"Written: {path}")
    if run_file:
        if earlier and earlier.model.get("fingerprint") == results.model["fingerprint"]:
            results.add(earlier)
        results.write(run_file)
        say(f"Written: {run_file}")


def _checked_output(path: Path) -> Path:
    """Refuse what cannot be written now, not after an hour of work."""
    if path.suffix.lower() not in (".json", ".md", ".tex"):
        raise UserError(f"--output {path}: results are written as .json, .md or .tex.")
    if path.is_dir():
        raise UserError(f"--output {path} is a folder; name a file.")
    return path


def _own_sets(
    pairs: list[Path] | None, labelled: list[Path] | None, queries: list[Path] | None
) -> list[ScoredPairs | LabelledTexts | Retrieval]:
    from clusterns.evaluation.data.own import read_labelled_texts, read_queries, read_scored_pairs

    return [
        *map(read_scored_pairs, pairs or []),
        *map(read_labelled_texts, labelled or []),
        *map(read_queries, queries or []),
    ]
