"""The paper's picture: models as points of alignment and uniformity, coloured by STS average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clusterns.errors import UserError
from clusterns.evaluation.results import Results
from clusterns.files import whole_file


def alignment_uniformity_points(models: Sequence[Results]) -> list[tuple[str, float, float, float]]:
    """(name, uniformity, alignment, STS average) of the models that have all three."""
    points = []
    for model in models:
        geometry, sts = model.suites.get("geometry"), model.suites.get("sts")
        if geometry and sts and sts.average is not None:
            sets = geometry.sets
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
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError("pictures need matplotlib: pip install 'clusterns[plots]'.") from error

    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    names, uniformity, alignment, averages = zip(*points, strict=True)
    dots = axes.scatter(
        uniformity, alignment, c=averages, s=90, cmap="viridis", edgecolors="black", zorder=3
    )
    axes.margins(0.22)
    axes.set_xlabel("uniformity (lower is better)")
    axes.set_ylabel("alignment (lower is better)")
    axes.grid(alpha=0.3)
    figure.colorbar(dots, label="STS average")
    labels = [f"{name} ({average:.1f})" for name, average in zip(names, averages, strict=True)]
    _place_labels(figure, axes, list(zip(uniformity, alignment, strict=True)), labels)
    if path.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"{path}: a picture is a .png, .svg or .pdf file.")
    with whole_file(path) as temporary:
        figure.savefig(temporary, format=path.suffix.lower()[1:], dpi=150)


def _place_labels(
    figure: Any, axes: Any, places: list[tuple[float, float]], labels: list[str]
) -> None:
    """Write each label beside its point, at the first spot where it covers nothing and fits."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    frame = axes.get_window_extent(renderer)
    dots = [axes.transData.transform(place) for place in places]
    taken: list[Any] = []
    spots = [
        (0, side * up, "center", "bottom" if side > 0 else "top")
        for up in (9, 22, 35, 48)
        for side in (1, -1)
    ]
    spots[2:2] = [(10, 0, "left", "center"), (-10, 0, "right", "center")]
    for place, label in zip(places, labels, strict=True):
        text = None
        for x, y, horizontal, vertical in spots:
            if text is not None:
                text.remove()
            text = axes.annotate(
                label,
                place,
                xytext=(x, y),
                textcoords="offset points",
                ha=horizontal,
                va=vertical,
                fontsize=9,
            )
            box = text.get_window_extent(renderer)
            inside = frame.x0 < box.x0 and box.x1 < frame.x1 and frame.y0 < box.y0 < frame.y1
            free = not any(box.overlaps(other) for other in taken)
            clear = not any(box.padded(4).contains(*dot) for dot in dots)
            if inside and free and clear:
                break
        if text is not None:
            taken.append(text.get_window_extent(renderer))
