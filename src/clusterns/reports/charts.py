"""Curves as SVG with the colors of the page, in light and dark mode."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence

from markupsafe import Markup

Curve = Sequence[tuple[int, float]]
# Placeholder colors for matplotlib, each replaced by a CSS variable of the page.
_INK, _LINE, _FAINT = "#010101", "#010102", "#010103"
_SERIES = [f"#0102{n:02x}" for n in range(8)]
_VARIABLES = {_INK: "var(--soft)", _LINE: "var(--text)", _FAINT: "var(--line)"} | {
    color: f"var(--c{n})" for n, color in enumerate(_SERIES)
}


def line_chart(
    name: str,
    curves: Mapping[str, Curve],
    *,
    label: str,
    mark: int | None = None,
    mark_label: str = "",
    best: tuple[int, float] | None = None,
    bottom_at_zero: bool = False,
) -> Markup:
    """Curves over the steps of a run.

    Args:
        name: name of the chart; unique on the page.
        curves: (step, value) pairs by name.
        label: label of the vertical axis.
        mark: a step to mark with a line.
        mark_label: label of the marked step.
        best: a point to mark.
        bottom_at_zero: whether the axis must start at 0.
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    style = {
        "svg.fonttype": "none", "svg.hashsalt": name, "font.size": 10, "axes.edgecolor": _FAINT,
        "axes.labelcolor": _INK, "xtick.color": _INK, "ytick.color": _INK, "text.color": _INK,
        "axes.spines.top": False, "axes.spines.right": False, "grid.color": _FAINT,
        "figure.facecolor": "none", "axes.facecolor": "none", "legend.frameon": False,
    }  # fmt: skip
    shown = {key: curve for key, curve in curves.items() if curve}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(6.2, 2.9), layout="constrained")
        FigureCanvasSVG(figure)
        axes = figure.add_subplot()
        axes.grid(axis="y", linewidth=0.8)
        axes.set_axisbelow(True)
        for (key, curve), color in zip(shown.items(), _SERIES * 9, strict=False):
            steps, values = zip(*curve, strict=True)
            dot = "o" if len(curve) < 30 else None
            axes.plot(
                steps, values, color=color, linewidth=2, label=key, marker=dot, markersize=3.5
            )
        if best is not None:
            axes.plot(*best, marker="o", markersize=9, color=_LINE, fillstyle="none", linewidth=0)
        if mark is not None:
            axes.axvline(mark, color=_LINE, linestyle=(0, (4, 3)), linewidth=1)
            axes.annotate(
                mark_label, (mark, 1), xycoords=("data", "axes fraction"), xytext=(5, -10),
                textcoords="offset points", color=_LINE, fontsize=9,
            )  # fmt: skip
        axes.set_xlabel("step")
        axes.set_ylabel(label)
        axes.margins(x=0.02)
        if bottom_at_zero:
            axes.set_ylim(bottom=0)
        if len(shown) > 1:
            figure.legend(loc="outside lower center", ncols=3, fontsize=9.5, handlelength=1.4)
        written = io.StringIO()
        figure.savefig(written, format="svg", metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", written.getvalue(), flags=re.DOTALL)
    for color, variable in _VARIABLES.items():
        svg = svg.replace(color, variable)
    # The chart fills the available width.
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*pt" height="[^"]*pt"', r"\1", svg, count=1)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    described = Markup('<svg role="img" aria-label="{} over steps: {}"').format(
        label, ", ".join(shown)
    )
    return Markup(svg.replace("<svg", described, 1))
