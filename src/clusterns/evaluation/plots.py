"""The paper's picture: models as points of alignment and uniformity, coloured by STS average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from clusterns.errors import UserError
from clusterns.evaluation.results import Results
from clusterns.files import atomic_file


def alignment_uniformity_points(models: Sequence[Results]) -> list[tuple[str, float, float, float]]:
    """(name, uniformity, alignment, STS average) of the models that have all three."""
    points = []
    for model in models:
        geometry, sts = model.suites.get("geometry"), model.suites.get("sts")
        sets = geometry.sets if geometry else {}
        both = "alignment" in sets and "uniformity" in sets
        if both and sts and sts.average is not None:
            points.append(
                (model.name, sets["uniformity"].value, sets["alignment"].value, sts.average)
            )
    return points


def plot_alignment_uniformity(models: Sequence[Results], path: Path) -> None:
    """Draw the picture to a png, svg or pdf file."""
    points = alignment_uniformity_points(models)
    if not points:
        raise UserError(
            "the picture needs models with the suites geometry and sts, all seven sets of it."
        )
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"{path}: a picture is a .png, .svg or .pdf file.")
    # Names beside points that lie close cover each other: points have numbers, names a legend.
    lines = [
        f"{n}  {name} ({average:.1f})" for n, (name, *_, average) in enumerate(points, start=1)
    ]
    figure = Figure(figsize=(6.4, 4.6 + 0.22 * ((len(points) + 1) // 2)), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    _, uniformity, alignment, averages = zip(*points, strict=True)
    dots = axes.scatter(
        uniformity, alignment, c=averages, s=230, cmap="YlGnBu", edgecolors="black", zorder=3
    )
    middle = (min(averages) + max(averages)) / 2
    for number, (_, x, y, average) in enumerate(points, start=1):
        colour = "white" if average > middle else "black"
        axes.annotate(
            str(number), (x, y), ha="center", va="center", fontsize=9, color=colour, zorder=4
        )
    axes.margins(0.12)
    axes.set_xlabel("uniformity (lower is better)")
    axes.set_ylabel("alignment (lower is better)")
    axes.grid(alpha=0.3)
    figure.colorbar(dots, label="STS average")
    handles = [Line2D([], [], linestyle="none", label=line) for line in lines]
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, handlelength=0, frameon=False
    )
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=150)
