"""The paper's figure: models as points of alignment and uniformity, colored by STS average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from clusterns.errors import UserError
from clusterns.evaluation.results import Results
from clusterns.files import atomic_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Point(NamedTuple):
    """A model, or a method with its spreads over seeds."""

    name: str
    uniformity: float
    alignment: float
    average: float | None = None
    spreads: tuple[float, float] = (0.0, 0.0)


def alignment_uniformity_points(models: Sequence[Results]) -> list[Point]:
    """One point for each model with both geometry and STS results."""
    points = []
    for model in models:
        geometry, sts = model.suites.get("geometry"), model.suites.get("sts")
        sets = geometry.sets if geometry else {}
        both = "alignment" in sets and "uniformity" in sets
        if both and sts and sts.average is not None:
            numbers = sets["uniformity"].value, sets["alignment"].value
            points.append(Point(model.name, *numbers, sts.average))
    return points


def plot_alignment_uniformity(models: Sequence[Results], path: Path) -> None:
    """Draw the figure to a png, svg or pdf file."""
    points = alignment_uniformity_points(models)
    if not points:
        raise UserError(
            "the plot needs models that were evaluated on the suites geometry and sts (all sets of its average)."
        )
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"{path}: plots can be written as .png, .svg or .pdf.")
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    draw_alignment_uniformity(figure, points)
    with atomic_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=150)


def draw_alignment_uniformity(figure: Figure, points: Sequence[Point]) -> None:
    """Draw numbered points with their names in a legend, since labels of close points would overlap."""
    from matplotlib.lines import Line2D

    figure.set_size_inches(6.4, 4.5 + 0.22 * ((len(points) + 1) // 2))
    axes = figure.add_subplot()
    x, y = [one.uniformity for one in points], [one.alignment for one in points]
    dx, dy = zip(*(one.spreads for one in points), strict=True)
    averages = [one.average for one in points if one.average is not None]
    scored = len(averages) == len(points)
    middle = (min(averages) + max(averages)) / 2 if scored else 0.0
    axes.errorbar(x, y, xerr=dx, yerr=dy, linestyle="none", color="#666666", capsize=3, zorder=2)
    dots = axes.scatter(
        x,
        y,
        c=averages if scored else "#dddddd",
        s=230,
        cmap="YlGnBu",
        edgecolors="black",
        zorder=3,
    )
    handles = []
    for number, one in enumerate(points, start=1):
        dark = scored and (one.average or 0) > middle
        axes.annotate(
            str(number), (one.uniformity, one.alignment), ha="center", va="center", fontsize=9,
            color="white" if dark else "black", zorder=4,
        )  # fmt: skip
        label = f"{number}  {one.name}" + (f" ({one.average:.1f})" if scored else "")
        handles.append(Line2D([], [], linestyle="none", label=label))
    axes.margins(0.12)
    axes.set_xlabel("uniformity (lower is better)")
    axes.set_ylabel("alignment (lower is better)")
    axes.grid(alpha=0.3)
    if scored:
        figure.colorbar(dots, label="STS average")
    figure.legend(
        handles=handles, loc="outside lower center", ncols=2, handlelength=0, frameon=False
    )
