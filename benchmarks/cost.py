"""How the cost of training grows with batch, length, width and clusters.

    CLUSTERNS_DATA=... python -m benchmarks cost

One setting at a time is changed, the others stay at: 4 layers of 256 (minibert's shape, random
weights), 64 sentences, all of 32 tokens, CLS pooling, ClusterNS with K = 32. Clusters are measured
by the loss alone on 512 random vectors of 256, since beside the encoder they would not be seen.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.clustering import loss_times
from benchmarks.harness import RESULTS, alternate, description, wikipedia
from benchmarks.training import Contender, of_recipe, random_encoder
from clusterns.files import atomic_file
from clusterns.training.recipe import load_recipe

LAYERS, WIDTH, BATCH, LENGTH, ROUNDS = 4, 256, 64, 32, 3
BATCHES = (16, 32, 64, 128, 256)
LENGTHS = (8, 16, 32, 64, 128)
WIDTHS = (64, 128, 256, 512)
CLUSTERS = (16, 32, 64, 128, 256, 512)
PICTURE = RESULTS / "cost.png"


def contender(base: str, batch: int, length: int) -> Contender:
    """A step on sentences that are all of the same length."""
    recipe = load_recipe(
        "default",
        {
            "base": base, "batch_size": batch, "clusters": min(32, batch), "start_step": 1,
            "pooling": "cls", "head": False, "max_length": length,
        },
    )  # fmt: skip
    return of_recipe(recipe)


def run() -> dict[str, Any]:
    """Measure every curve."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bases = {
            width: random_encoder(folder / str(width), width, LAYERS, width // 32)
            for width in WIDTHS
        }
        # Long enough for every length, whatever the sentences are.
        texts = [" ".join([text] * 20) for text in wikipedia(max(BATCHES))]

        def curve(ways: dict[int, tuple[Contender, int]]) -> dict[int, float]:
            steps = {
                str(value): lambda way=way, size=size: way.step(texts[:size])
                for value, (way, size) in ways.items()
            }
            return {int(v): t["seconds"] for v, t in alternate(steps, ROUNDS).items()}

        base = bases[WIDTH]
        return {
            "batch": curve({n: (contender(base, n, LENGTH), n) for n in BATCHES}),
            "length": curve({n: (contender(base, BATCH, n), BATCH) for n in LENGTHS}),
            "width": curve({w: (contender(bases[w], BATCH, LENGTH), BATCH) for w in WIDTHS}),
            "clusters": {k: loss_times(512, k, WIDTH)["clusterns"] for k in CLUSTERS},
        }


def draw(record: dict[str, Any]) -> None:
    """Four panels: a step's seconds (the loss's milliseconds for the clusters)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = (
        ("batch", "sentences in a batch (N)", "a step, s", 1),
        ("length", "tokens in a sentence", "a step, s", 1),
        ("width", "width of the encoder (d)", "a step, s", 1),
        ("clusters", "clusters (K), N = 512: the loss alone", "the loss, ms", 1000),
    )
    for axes, (key, x_label, y_label, scale) in zip(
        figure.subplots(2, 2).flat, panels, strict=True
    ):
        x = [int(value) for value in record[key]]
        y = [scale * seconds for seconds in record[key].values()]
        axes.plot(x, y, marker="o", color="#22577a", label="measured")
        # A straight line through the middle point: what growth in proportion would be.
        middle = len(x) // 2
        axes.plot(
            x,
            [y[middle] * value / x[middle] for value in x],
            linestyle=":",
            color="gray",
            label="in proportion",
        )
        axes.set(xlabel=x_label, ylabel=y_label, xscale="log", yscale="log")
        axes.set_xticks(x, [str(value) for value in x], minor=False)
        axes.minorticks_off()
        axes.set_yticks([])
        for point in zip(x, y, strict=True):
            axes.annotate(
                f"{point[1]:.3g}", point, xytext=(0, 8), textcoords="offset points", ha="center"
            )
        axes.margins(0.14)
        axes.grid(alpha=0.3)
    axes.legend(frameon=False)
    with atomic_file(PICTURE) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def markdown(record: dict[str, Any]) -> str:
    """The curves as a picture and as tables."""
    draw(record)
    lines = ["## How cost grows", "", description(__doc__), ""]
    lines += [f"![How cost grows](results/{PICTURE.name})", ""]
    for key, title in (
        ("batch", "sentences in a batch"),
        ("length", "tokens in a sentence"),
        ("width", "width"),
        ("clusters", "clusters"),
    ):
        unit, scale = ("ms of the loss", 1000) if key == "clusters" else ("s a step", 1)
        values = record[key]
        lines += [
            f"| {title} | {' | '.join(str(value) for value in values)} |",
            "|---|" + "---:|" * len(values),
            f"| {unit} | {' | '.join(f'{scale * t:.2f}' for t in values.values())} |",
            "",
        ]
    return "\n".join(lines[:-1]) + "\n"
