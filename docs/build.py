"""Write every page and table that is made from records: templates hold the words, this file the numbers.

    python docs/build.py               all but the reference models
    python docs/build.py reference     these; needs the evaluation data

A template ``NAME.md.jinja`` of docs/templates replaces what stands between the markers of that name in the README
or a page, or is a page of its own (PAGES). ``docs/results.md`` is that of `clusterns lab report`.
"""

from __future__ import annotations

import json
import re
import shlex
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import typer
import yaml
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from scipy.stats import spearmanr
from typer.main import get_command

from build_adapt import (
    FIRST,
    SECOND,
    adaptations,
    beside,
    candidates,
    change,
    guarded,
    paired_change,
    rivals,
    search,
    shares,
)
from clusterns.adaptation.settings import documented_fields
from clusterns.cli import app
from clusterns.evaluation.catalog import EvaluationData
from clusterns.evaluation.compare import difference_table, find_differences, gold_scores
from clusterns.evaluation.plots import alignment_uniformity_points, plot_alignment_uniformity
from clusterns.evaluation.results import Results
from clusterns.evaluation.tables import results_tables
from clusterns.lab.experiment import BUDGETS
from clusterns.lab.records import Record
from clusterns.lab.report import base_name, write_report
from clusterns.methods.registry import all_fields, defaults_by_method, owners
from clusterns.quickstart.benchmark import MEASURES
from clusterns.tables import Table

ROOT = Path(__file__).parents[1]
RESULTS, BENCHMARKS = ROOT / "results", ROOT / "benchmarks" / "results"
DEV, HALVES = "eval_STS-B-dev_spearman", "eval_heldout_halves_mrr"


def quickstart() -> dict[str, Any]:
    folder = RESULTS / "quickstart"
    proof: dict[str, dict[str, float]] = read(folder / "proof.json")
    return {
        "models": proof, "measures": MEASURES, "run": read(folder / "run.json"),
        "recipe": yaml.safe_load((folder / "recipe.yaml").read_text("utf-8")),
    }  # fmt: skip


def static() -> dict[str, Any]:
    """Scores of static embeddings by the number of lines, without and with the contrast."""
    rows: dict[int, dict[str, Any]] = {}
    for one in read(RESULTS / "static" / "curve.json"):
        rows.setdefault(one["lines"], {})[one["contrast"]] = one
    return {"rows": rows, "versions": one["versions"]}


def static_trials() -> dict[str, Any]:
    """The trials of experiment static on record so far, and what fewer dimensions are worth."""
    record = Record.read(RESULTS / "static" / "static.jsonl")
    return {
        "lines": [line for line in record.lines if line.outcomes],
        "pilot": Record.read(RESULTS / "static" / "static_pilot.jsonl").lines,
        "dimensions": read(RESULTS / "static" / "dimensions.json"),
        "versions": record.results[0]["record"]["versions"],
    }


def found() -> dict[str, Any]:
    """A search of the quickstart, as it is printed."""
    return read(RESULTS / "quickstart" / "search.json")


def worth() -> dict[str, Any]:
    """One line for each thing that the package is for."""
    sets = read(RESULTS / "retrieval" / "all-MiniLM-L6-v2.json")["suites"]["retrieval"]["sets"]
    search = {
        by: statistics.mean(one["value"] for name, one in sets.items() if name.endswith(f"({by})"))
        for by in ("vectors", "words", "both")
    }
    beside = read(RESULTS / "adapt" / "beside" / FIRST / "docstrings.json")
    names = {"base": "base", "static": "own: static alone", "beside": "own: 1"}
    static = {key: 100 * beside["scores"][name]["retrieval"] for key, name in names.items()}
    static["lines"] = beside["learned_from"]
    adapted = []
    for model in (FIRST, SECOND):
        sets = [runs for one, _, runs in guarded()["rows"] if one == model]
        runs = [run for each in sets for run in each]
        scores = [
            (
                key,
                *(statistics.mean(run[when][key] for run in runs) for when in ("before", "after")),
            )
            for key in ("kNN", "AMI")
        ]
        adapted.append((model, len(runs), len(sets), scores))
    return {"search": search, "static": static, "adapt": adapted}


def tracking() -> dict[str, Any]:
    """How well the label-free score orders checkpoints as STS-B dev does."""
    record = Record.read(RESULTS / "lab" / "main.jsonl")
    rows, pooled = [], list[tuple[float, float]]()
    for line in record.lines:
        pairs = []
        for one in line.outcomes:
            ours, theirs = (dict(one.curves.get(key, [])) for key in (HALVES, DEV))
            pairs += [(theirs[step], ours[step]) for step in sorted(ours.keys() & theirs.keys())]
        if len(pairs) > len(line.outcomes):  # of a model that trains
            pooled += pairs
            rows.append((line.label, len(pairs), correlation(pairs)))
    return {"rows": rows, "all": (len(pooled), correlation(pooled)), "bases": bases_of(record)}


def correlation(pairs: list[tuple[float, float]]) -> float:
    return float(spearmanr([a for a, _ in pairs], [b for _, b in pairs]).statistic)


def bases_of(record: Record) -> str:
    return ", ".join(sorted({base_name(one.get("base")) for one in record.results}))


def speed() -> dict[str, Any]:
    return {"record": read(BENCHMARKS / "training.json")}


def memory() -> dict[str, Any]:
    record = read(BENCHMARKS / "memory.json")
    peaks = {(row["batch"], row["gradient_cache"]): row["peak"] for row in record["results"]}
    return {
        "batches": sorted({batch for batch, _ in peaks}), "peaks": peaks,
        "ratio": record["ratio_4096_to_256"],
        "bytes_a_line": read(BENCHMARKS / "scale.json")["bytes_a_line"],
    }  # fmt: skip


# What a GPU really does, in operations a second, for the estimate: an assumption, not measured.
GPU_OPERATIONS = 100e12


def estimate() -> dict[str, Any]:
    """Hours for BERT-base: from its measured step here, and by arithmetic for a GPU."""
    record = read(BENCHMARKS / "training.json")
    case = next(case for case in record["cases"] if case["encoder"] == "12 x 768")
    rate = case["ways"]["clusterns, ClusterNS"]["sentences_a_second"]
    operations = case["operations_a_step"] / case["batch"]
    rows = []
    for name, sentences in (("1 million", 1e6), ("1 billion", 1e9)):
        on_gpu = sentences * operations / GPU_OPERATIONS
        times = [duration(value) for value in (sentences / rate, on_gpu, on_gpu / 8)]
        rows.append((name, sentences * operations, times))
    return {
        "rows": rows, "cores": record["cores"], "operations": operations, "rate": rate,
        "gpu": GPU_OPERATIONS,
    }  # fmt: skip


def duration(seconds: float) -> str:
    for unit, size in (("years", 365 * 86400), ("days", 86400), ("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:.0f} s"


def settings() -> dict[str, Any]:
    """Every setting with its default, its meaning, and what it belongs to."""
    belongs, rows = owners(), []
    for key, field in all_fields().items():
        others = [f"{default(v)} ({name})" for name, v in defaults_by_method(key).items()]
        defaults = ", ".join(filter(None, [default(field.default), *others]))
        rows.append((key, defaults, field.description, belongs.get(key, "")))
    adapt = [
        (key, default(field.get_default() or None), field.description, command)
        for key, field, command in documented_fields()
        if not field.is_required()
    ]
    return {"recipe": rows, "adapt": adapt}


def default(value: object) -> str:
    if value is None or value == "" or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


EVERYWHERE = ("quiet", "verbose")  # options of every command


def commands() -> dict[str, Any]:
    """Every command with its help and its options, in the order of `clusterns --help`."""
    program: Any = get_command(app)
    context = typer.Context(program)
    found: dict[str, Any] = {}
    for name in program.list_commands(context):
        command = program.get_command(context, name)
        if not hasattr(command, "list_commands"):
            found[name] = command
            continue
        inner = typer.Context(command)
        for each in command.list_commands(inner):
            if not command.get_command(inner, each).hidden:
                found[f"{name} {each}"] = command.get_command(inner, each)
    shown = {
        name: [p for p in command.params if p.name not in EVERYWHERE]
        for name, command in found.items()
    }
    counts = Counter((p.name, p.help) for params in shown.values() for p in params)
    common = {p.name: p for params in shown.values() for p in params if counts[p.name, p.help] > 5}
    return {
        "commands": {n: (found[n].help, params) for n, params in shown.items()},
        "common": common,
    }


def reference() -> dict[str, Any]:
    """The reference models on all suites; draws their alignment and uniformity, too."""
    folder = RESULTS / "reference"
    models = [Results.read(path) for path in sorted(folder.glob("*.json"))]
    models.sort(key=lambda model: model.suites["sts"].average or 0)
    comparison = find_differences(
        models, gold_scores(models, EvaluationData().pairs), progress=True
    )
    subsets = Table("STS subsets (Spearman x100)", [m.name for m in models], mark_best=False)
    for name, one in models[0].suites["sts"].sets.items():
        for subset in one.details:
            values = [model.suites["sts"].sets[name].details[subset] for model in models]
            subsets.rows.append((f"{name} {subset}", [*values]))
    first, *others = results_tables(models)
    if alignment_uniformity_points(models):
        plot_alignment_uniformity(models, folder / "alignment-uniformity.png")
    tables = [first, subsets, *others, difference_table(comparison)]
    return {"tables": [table.markdown() for table in tables], "models": models}


def retrieval() -> dict[str, Any]:
    """The classic collections by vectors, by words and by both."""
    models = [Results.read(path) for path in sorted((RESULTS / "retrieval").glob("*.json"))]
    tables = [*results_tables(models), difference_table(find_differences(models, {}))]
    return {"tables": [table.markdown() for table in tables], "models": models}


NUMBERS: dict[str, Callable[[], dict[str, Any]]] = {
    "quickstart": quickstart, "found": found, "worth": worth, "static": static, "static_trials": static_trials,
    "speed": speed, "shares": shares,
    "adapt": lambda: adaptations(FIRST), "second": lambda: adaptations(SECOND),
    "candidates": candidates, "rivals": rivals, "guarded": guarded, "search": search,
    "beside": beside,
    "tracking": tracking, "memory": memory,
    "estimate": estimate, "settings": settings, "commands": commands, "reference": reference,
    "retrieval": retrieval,
}  # fmt: skip
PAGES = {
    "settings": "docs/settings.md", "commands": "docs/commands.md", "reference": "results/reference/README.md",
    "retrieval": "results/retrieval/README.md",
}  # fmt: skip


def render(name: str) -> str:
    """The text of a template with its numbers."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {
        "spread": spread, "change": change, "paired_change": paired_change, "string_g": lambda value: f"{value:g}",
        "oneline": lambda text: " ".join((text or "").split()), "shell": shlex.join,
        "pipe": lambda text: text.replace("|", "\\|"),
        "examples": examples, "shown_default": shown_default,
        "versions": lambda all_: ", ".join(f"{n} {all_[n]}" for n in ("torch", "sentence-transformers")),
    }  # fmt: skip
    environment.globals |= {"budgets": BUDGETS}
    return environment.get_template(f"{name}.md.jinja").render(NUMBERS[name]()).rstrip()


def examples(text: str) -> str:
    """Help as Markdown: the commands that it shows become code."""
    return re.sub(
        r"(?m)^(?:(.*?:) +)?((?:clusterns|pip|hf) [^`\n]*)$", r"\1\n\n    \2", text
    ).replace("\n\n\n", "\n")


def shown_default(option: Any) -> str:
    value = option.default
    if not option.show_default or value is None or isinstance(value, bool):
        return ""
    return f" Default: `{value}`."


def spread(values: Mapping[int, float]) -> str:
    mean = f"{statistics.mean(values.values()):.1f}"
    return f"{mean} ± {statistics.stdev(values.values()):.1f}" if len(values) > 1 else mean


def pages(names: Iterable[str]) -> dict[Path, str]:
    """The files that the templates of these names are part of, with their text."""
    found = {
        path: path.read_text("utf-8") for path in [ROOT / "README.md", *ROOT.glob("docs/*.md")]
    }
    for name in names:
        text = render(name)
        if name in PAGES:
            found[ROOT / PAGES[name]] = text + "\n"
            continue
        pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
        for path, page in found.items():
            found[path] = re.sub(
                pattern, lambda m, text=text: f"{m[1]}{text}\n{m[2]}", page, flags=re.DOTALL
            )
    return found


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def main() -> None:
    for path, text in pages(sys.argv[1:] or NUMBERS.keys() - {"reference"}).items():
        if path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    if not sys.argv[1:]:
        write_report(RESULTS / "lab", ROOT / "docs" / "results.md")


if __name__ == "__main__":
    main()
