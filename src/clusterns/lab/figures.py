"""The figures of an experiment, with the spread over seeds; reproducible byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterns.evaluation.plots import Point, draw_alignment_uniformity
from clusterns.files import atomic_file
from clusterns.lab.compare import MARGIN, Difference
from clusterns.lab.experiment import Experiment
from clusterns.lab.outcomes import Curve, Line
from clusterns.lab.specs import FigureSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = ("svg", "png")
# Distinguishable with color vision deficiency, too (Okabe and Ito).
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
STYLE = {
    "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
    "axes.grid": True, "axes.axisbelow": True, "grid.color": "#dddddd", "legend.frameon": False,
}  # fmt: skip


def draw(
    name: str,
    experiment: Experiment,
    lines: Sequence[Line],
    folder: Path,
    formats: Sequence[str] = FORMATS,
) -> list[Path]:
    """Draw a figure of an experiment to ``folder/name.svg`` and ``.png``, unless there is nothing to show.

    Returns:
        The files that were written.
    """
    spec = experiment.figures[name]
    chosen = [line for line in lines if not spec.rows or {line.label, line.row} & {*spec.rows}]

    def drawn(figure: Figure) -> bool:
        if spec.kind == "curves":
            return _curves(figure, spec, chosen)
        if spec.kind == "geometry":
            return _geometry(figure, chosen)
        (value,) = spec.values
        known = [(line, experiment.published.get(line.paper_row or "", {})) for line in chosen]
        there = [line for line in chosen if line.values(value) and not line.is_base]
        paper = {line.label: row[value] for line, row in known if value in row and line in there}
        return (_against if spec.kind == "against" else _dots)(figure, spec, there, paper)

    return _save(name, drawn, folder, formats)


def draw_differences(
    name: str,
    differences: Mapping[str, Difference],
    folder: Path,
    formats: Sequence[str] = FORMATS,
    label: str = "points by which the first is better",
) -> list[Path]:
    """Draw paired differences by seed with their intervals, the equivalence margin, and the paper's
    effect. The keys of ``differences`` are the labels of the rows."""
    return _save(name, lambda figure: _differences(figure, differences, label), folder, formats)


def _save(
    name: str, drawn: Callable[[Figure], bool], folder: Path, formats: Sequence[str]
) -> list[Path]:
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    written = []
    with matplotlib.rc_context({**STYLE, "svg.hashsalt": name}):
        figure = Figure(layout="constrained")
        FigureCanvasAgg(figure)
        if not drawn(figure):
            return []
        for form in formats:
            path = folder / f"{name}.{form}"
            metadata = {"Date": None} if form == "svg" else {"Software": None}
            with atomic_file(path) as temporary:
                figure.savefig(temporary, format=form, dpi=150, metadata=metadata)
            written.append(path)
    return written


def _differences(figure: Figure, differences: Mapping[str, Difference], label: str) -> bool:
    if not differences:
        return False
    rows = {
        name: (list(one.by_seed.values()), one.estimate, one.interval)
        for name, one in differences.items()
    }
    paper = {name: one.paper for name, one in differences.items() if one.paper is not None}
    axes = _dots_in_rows(figure, rows, paper, "mean and 95 % interval", beside=False)
    axes.axvspan(-MARGIN, MARGIN, color="#dddddd", label=f"equivalent: within ±{MARGIN}", zorder=0)
    axes.axvline(0, color="black", linewidth=1)
    axes.set_xlabel(label)
    _legend(figure, [axes])
    return True


def _dots_in_rows(
    figure: Figure,
    rows: Mapping[str, tuple[Sequence[float], float, tuple[float, float] | None]],
    paper: Mapping[str, float],
    label: str,
    *,
    beside: bool,
) -> Axes:
    """A dot for each seed, the mean with its interval above them, and the paper's values as stars, also in a second
    panel."""
    size = (7.2, 1.4 + 0.5 * len(rows))
    axes, panel = _panels(figure, size, has_paper=beside and bool(paper), sharey=True)
    for place, (name, (seeds, mean, interval)) in enumerate(reversed(list(rows.items()))):
        if len(seeds) > 1:
            axes.plot(
                seeds, [place] * len(seeds), "o", color=COLORS[4], markersize=5, zorder=3,
                markeredgecolor="white", label="a seed",
            )  # fmt: skip
        reach = None if interval is None else [[mean - interval[0]], [interval[1] - mean]]
        axes.errorbar(
            mean, place + 0.22, xerr=reach, fmt="D", color=COLORS[0], capsize=4, markersize=6,
            linewidth=2, label=label,
        )  # fmt: skip
        if name in paper:
            (panel or axes).plot(
                paper[name], place, "*", color=COLORS[1], markersize=11, label="the paper"
            )
    axes.set_yticks(range(len(rows)), list(rows)[::-1])
    axes.set_ylim(-0.6, len(rows) - 0.4)
    for one in filter(None, (axes, panel)):
        one.grid(axis="y", visible=False)
    return axes


def _curves(figure: Figure, spec: FigureSpec, lines: Sequence[Line]) -> bool:
    """Values over the steps: one value for all rows in one panel, or several values in a panel per row."""
    found = [line for line in lines if any(line.curves(value) for value in spec.values)]
    if not found:
        return False
    several = len(spec.values) > 1
    figure.set_size_inches(4.4 * len(found) if several and len(found) > 1 else 6.4, 4.0)
    axes = figure.subplots(1, len(found) if several else 1, sharey=True, squeeze=False)[0]
    for number, line in enumerate(found):
        one = axes[number] if several else axes[0]
        for place, value in enumerate(spec.values):
            if curves := line.curves(value):
                label, color = (_words(value), place) if several else (line.label, number)
                _band(one, label, curves, COLORS[color % len(COLORS)])
        if several:
            one.set_title(line.label, fontsize=10)
        one.set_xlabel("step")
    axes[0].set_ylabel(spec.label or ("" if several else _words(spec.values[0])))
    _legend(figure, axes)
    return True


def _band(axes: Axes, label: str, curves: Sequence[Curve], color: str) -> None:
    """The mean over seeds and its spread, at the steps that all seeds have."""
    by_step = [dict(curve) for curve in curves]
    steps = sorted(set.intersection(*(set(each) for each in by_step)))
    values = np.array([[each[step] for step in steps] for each in by_step])
    mean = values.mean(axis=0)
    marker = "o" if len(steps) < 30 else None
    axes.plot(steps, mean, color=color, linewidth=2, label=label, marker=marker, markersize=3.5)
    if len(curves) > 1:
        spread = values.std(axis=0, ddof=1)
        axes.fill_between(steps, mean - spread, mean + spread, color=color, alpha=0.2, linewidth=0)


def _against(
    figure: Figure, spec: FigureSpec, lines: Sequence[Line], paper: Mapping[str, float]
) -> bool:
    """A value against the setting of the grid; rows outside the grid are horizontal reference lines."""
    (value,), setting = spec.values, spec.setting
    # Evenly spaced: values such as 8, 32, 128 grow geometrically.
    points = list(dict.fromkeys(line.point[setting] for line in lines if setting in line.point))
    if not points:
        return False
    axes, panel = _panels(figure, (6.4, 4.0), has_paper=bool(paper))
    for number, row in enumerate(dict.fromkeys(line.row for line in lines)):
        own = [line for line in lines if line.row == row]
        means, spreads = zip(*(_mean(line, value) for line in own), strict=True)
        color = COLORS[number % len(COLORS)]
        if setting in own[0].point:
            places = [points.index(line.point[setting]) + 0.06 * number for line in own]
            axes.errorbar(
                places, means, spreads, color=color, label=row, marker="o", capsize=3, linewidth=2
            )
        else:
            axes.axhline(means[0], color=color, label=row, linestyle=(0, (5, 3)), linewidth=1.5)
            if not np.isnan(spreads[0]):
                axes.axhspan(means[0] - spreads[0], means[0] + spreads[0], color=color, alpha=0.12)
        known = [line for line in own if line.label in paper and setting in line.point]
        if panel and known:
            places = [points.index(line.point[setting]) for line in known]
            panel.plot(places, [paper[line.label] for line in known], "*--", color=color)
    for one in filter(None, (axes, panel)):
        one.set_xticks(range(len(points)), [str(point) for point in points])
        one.set_xlabel(setting)
    axes.set_ylabel(spec.label or value)
    _legend(figure, [axes])
    return True


def _geometry(figure: Figure, lines: Sequence[Line]) -> bool:
    """Alignment and uniformity, colored by the average on STS if the models were evaluated on it."""
    points = []
    for line in lines:
        if line.values("geometry/uniformity") and line.values("geometry/alignment"):
            (x, dx), (y, dy) = (
                _mean(line, f"geometry/{name}") for name in ("uniformity", "alignment")
            )
            average = _mean(line, "sts/Avg.")[0] if line.values("sts/Avg.") else None
            points.append(Point(line.label, x, y, average, (dx, dy)))
    if points:
        draw_alignment_uniformity(figure, points)
    return bool(points)


def _dots(
    figure: Figure, spec: FigureSpec, lines: Sequence[Line], paper: Mapping[str, float]
) -> bool:
    """A value of every row, as dots: bars would need to start at zero."""
    rows = {}
    for line in lines:
        mean, spread = _mean(line, spec.values[0])
        interval = None if np.isnan(spread) else (mean - spread, mean + spread)
        rows[line.label] = (list(line.values(spec.values[0]).values()), mean, interval)
    if rows:
        axes = _dots_in_rows(figure, rows, paper, "mean ± standard deviation", beside=True)
        axes.set_xlabel(spec.label or spec.values[0])
        _legend(figure, [axes])
    return bool(rows)


def _panels(
    figure: Figure, size: tuple[float, float], *, has_paper: bool, sharey: bool = False
) -> tuple[Axes, Axes | None]:
    """The panel to draw into, and one with its own scale for the paper's values, if there are any."""
    width, height = size
    figure.set_size_inches(width + 2.2 * has_paper, height)
    if not has_paper:
        return figure.add_subplot(), None
    axes, panel = figure.subplots(1, 2, sharey=sharey, width_ratios=(width, 2.2))
    panel.set_title("in the paper", fontsize=10)
    return axes, panel


def _mean(line: Line, name: str) -> tuple[float, float]:
    """Mean and spread of a value over the seeds; with a single seed, the spread is unknown and not drawn."""
    values = list(line.values(name).values())
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else np.nan


def _words(key: str) -> str:
    return key.removeprefix("eval_").replace("_", " ")


def _legend(figure: Figure, axes: Sequence[Axes]) -> None:
    """One legend below for all panels; each name once."""
    found: dict[str, Any] = {}
    for one in axes:
        handles, labels = one.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    if len(found) > 1:
        # About 13 letters fit into an inch; a handle and the gap are as wide as eight.
        room = int(13 * figure.get_figwidth() / (max(map(len, found)) + 8))
        columns = max(1, min(3, room, len(found)))
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=columns)
