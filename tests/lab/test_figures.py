"""Figures: what they show, and that they are the same each time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from clusterns.lab.experiment import Experiment
from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome


def outcome(seed: int, shift: float = 0.0) -> Outcome:
    values = {
        "sts/Avg.": 50 + seed + shift, "geometry/alignment": 0.2 + seed / 100 + shift / 10,
        "geometry/uniformity": -2 - seed / 100 - shift / 10,
    }  # fmt: skip
    curves = {
        "positive_similarity": [(step, 0.5 + step / 100 + seed / 50) for step in (0, 5, 10)],
        "hard_negative_similarity": [(step, 0.2 + step / 100) for step in (5, 10)],
        **{f"a_rather_long_name_{n}_of_a_similarity": [(0, 1.0), (5, 2.0)] for n in range(5)},
    }
    return Outcome(seed, {"values": values}, curves)


def line(label: str, row: str = "", shift: float = 0.0, **more: object) -> Line:
    return Line(label, row or label, outcomes=[outcome(1, shift), outcome(2, shift)], **more)  # type: ignore[arg-type]


LINES = [
    line("Ours, sigma 0.2", "Ours", 1.0, point={"sigma": 0.2}, paper_row="ClusterNS, sigma 0.2"),
    line("Ours, sigma 0.3", "Ours", 2.0, point={"sigma": 0.3}),
    line("Level"),
]
EXPERIMENT = Experiment.model_validate(
    {
        "title": "T", "evaluate": ["sts", "geometry"], "grid": {"sigma": [0.2, 0.3]},
        "rows": {"Ours": {"paper_row": "ClusterNS"}, "Level": {"ignore_grid": True}},
        "table": {"columns": {"Avg.": "sts/Avg."}, "published": "sigma"},
        "figures": {
            "curve": {"kind": "curves", "values": ["positive_similarity"], "label": "similarity"},
            "panels": {"kind": "curves", "values": ["positive_similarity", "hard_negative_similarity"]},
            "against": {"kind": "against", "values": ["sts/Avg."], "setting": "sigma"},
            "geometry": {"kind": "geometry"},
            "dots": {"kind": "dots", "values": ["sts/Avg."], "label": "STS average"},
            "only": {"kind": "dots", "values": ["sts/Avg."], "rows": ["Ours"]},
            "long": {
                "kind": "curves", "rows": ["Level"],
                "values": [f"a_rather_long_name_{n}_of_a_similarity" for n in range(5)],
            },
        },
    }
)  # fmt: skip
SAYS = {
    "curve": ["similarity", "step", "Level", "Ours, sigma 0.2"],
    "panels": ["positive similarity", "hard negative similarity", "Level"],
    "against": ["sigma", "sts/Avg.", ">0.2<", ">0.3<", "Level", "Ours", "in the paper"],
    "geometry": ["uniformity (lower is better)", "1  Ours, sigma 0.2 (52.5)", "STS average"],
    "dots": ["STS average", "Ours, sigma 0.3", "Level", "in the paper"],
    "only": ["Ours, sigma 0.2", "Ours, sigma 0.3"],
    "long": ["a rather long name 4 of a similarity"],
}


@pytest.mark.parametrize("name", SAYS)
def test_a_figure_shows_its_rows_and_spread_and_is_the_same_each_time(
    name: str, tmp_path: Path
) -> None:
    first, second = (draw(name, EXPERIMENT, LINES, tmp_path / place) for place in "ab")
    assert [path.name for path in first] == [f"{name}.svg", f"{name}.png"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    svg = first[0].read_text("utf-8")
    assert [text for text in SAYS[name] if text not in svg] == []
    assert "<dc:date>" not in svg
    assert ("Level" in svg) == (name != "only") or name == "long"
    one_seed = [Line(x.label, x.row, x.point, x.paper_row, x.outcomes[:1]) for x in LINES]
    (narrow, _) = draw(name, EXPERIMENT, one_seed, tmp_path / "narrow")
    assert narrow.read_text("utf-8") != svg
    assert draw(name, EXPERIMENT, [Line("A", "A")], tmp_path / "none") == []
    if name in ("against", "dots", "only"):  # a run that ended as its base has no score
        base = {"run": {"steps": 8, "best_step": 0}, "values": {"sts/Avg.": 1.0}}
        ended = [replace(each, outcomes=[Outcome(1, base, {})]) for each in LINES]
        assert draw(name, EXPERIMENT, ended, tmp_path / "none") == []
    assert not (tmp_path / "none").exists()


def test_a_legend_stays_inside_its_picture(tmp_path: Path) -> None:
    (svg,) = draw("long", EXPERIMENT, LINES, tmp_path, ("svg",))
    root = ElementTree.parse(svg).getroot()
    width = float(root.attrib["viewBox"].split()[2])
    names = [e for e in root.iter() if e.tag.endswith("text") and "rather long" in (e.text or "")]
    assert len(names) == 5
    for element in names:
        # The letters of the font are narrower than 6 points on average.
        assert 0 <= float(element.attrib["x"]) < width - 6 * len(element.text or "")
