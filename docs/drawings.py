"""Draw the figures that explain ClusterNS and `adapt`: python docs/drawings.py writes docs/pictures/*.svg."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

PICTURES = Path(__file__).parent / "pictures"
COLORS = ("#0072b2", "#d55e00", "#009e73")
GRAY = "#555555"


def main() -> None:
    mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "clusterns", "font.size": 10})
    PICTURES.mkdir(exist_ok=True)
    for name, figure in {"clusterns": clusterns(), "adapt": adapt()}.items():
        figure.savefig(PICTURES / f"{name}.svg", metadata={"Date": None}, bbox_inches="tight")


def clusterns() -> Figure:
    """A batch with its clusters: what Algorithm 1 makes of one sentence's neighbors."""
    figure, axes = plt.subplots(figsize=(7.2, 3.8))
    random = np.random.default_rng(3)
    centers = np.array([[0.0, 0.0], [3.0, 1.6], [2.6, -1.9]])
    for center, color in zip(centers, COLORS, strict=True):
        cloud = center + random.normal(scale=0.45, size=(7, 2))
        axes.scatter(*cloud.T, s=42, color=color, alpha=0.55, linewidths=0)
        axes.scatter(*center, s=150, marker="X", color=color, edgecolors="white", zorder=3)
    anchor = np.array([0.75, 0.45])
    axes.scatter(*anchor, s=120, color=COLORS[0], edgecolors="black", zorder=4)
    circle = plt.Circle((0, 0), 1.25, fill=False, linestyle="--", color=COLORS[0])
    axes.add_patch(circle)
    arrow(axes, anchor + 0.15, centers[1] - 0.25, COLORS[1], "<->")
    note(axes, anchor, (0.0, 2.05), "a sentence of the batch", "black")
    note(axes, centers[0], (-1.6, 1.4), "nearest centroid:\nits cluster", COLORS[0])
    note(
        axes,
        (-0.55, -0.75),
        (-1.6, -1.7),
        "same cluster: false negatives,\nheld by a margin",
        COLORS[0],
    )
    note(
        axes,
        centers[1],
        (4.2, 2.1),
        "second nearest centroid:\nits hard negative, pushed apart",
        COLORS[1],
    )
    note(axes, centers[2], (4.2, -1.9), "other sentences:\nin-batch negatives", GRAY)
    axes.set(xlim=(-5.2, 7.4), ylim=(-2.9, 2.7), aspect="equal")
    axes.axis("off")
    return figure


def adapt() -> Figure:
    """What the local map of `adapt` does to an embedding near the text, and to one far from it."""
    figure, axes = plt.subplots(figsize=(7.2, 3.2))
    random = np.random.default_rng(5)
    text = random.normal(scale=(0.8, 0.55), size=(26, 2))
    axes.scatter(*text.T, s=34, color=COLORS[0], alpha=0.4, linewidths=0)
    axes.add_patch(plt.Circle((0, 0), 1.75, fill=False, linestyle="--", color=COLORS[0]))
    topic = np.array([0.7, 0.35])
    axes.scatter(*topic, s=150, marker="X", color=COLORS[0], edgecolors="white", zorder=3)
    for start in ((-0.9, 1.0), (1.1, -0.75), (-1.2, -0.6)):
        end = np.array(start) + 0.5 * (topic - start)
        arrow(axes, np.array(start), end, "black")
        axes.scatter(*start, s=60, color="white", edgecolors="black", zorder=4)
        axes.scatter(*end, s=60, color="black", zorder=4)
    far = (3.6, -0.9)
    axes.scatter(*far, s=60, color="black", zorder=4)
    note(axes, topic, (2.6, 1.45), "centroid of its topic", COLORS[0])
    note(
        axes,
        (-0.9, 1.0),
        (-2.0, 1.5),
        "an embedding of your text\nmoves toward its target",
        "black",
    )
    note(
        axes,
        (-1.6, -0.75),
        (-2.0, -1.5),
        "region of the landmarks:\n2,000 sentences of your text",
        COLORS[0],
    )
    note(axes, far, (4.2, -0.1), "general text stays\nwhere it was", "black")
    axes.set(xlim=(-5.6, 6.2), ylim=(-1.9, 1.9), aspect="equal")
    axes.axis("off")
    return figure


def arrow(axes: Axes, start: np.ndarray, end: np.ndarray, color: str, style: str = "->") -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": style, "color": color, "lw": 1.6})


def note(axes: Axes, point: object, place: tuple[float, float], words: str, color: str) -> None:
    line = {"arrowstyle": "-", "color": color, "lw": 0.7}
    side = "right" if place[0] < -1 else "left"
    axes.annotate(words, point, place, color=color, va="center", ha=side, arrowprops=line)


if __name__ == "__main__":
    main()
