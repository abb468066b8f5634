"""Figures: what they show, and that they are the same each time."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from clusterns.lab.figures import draw
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.specs import FigureSpec


def outcome(seed: int, shift: float = 0.0) -> Outcome:
    values = {
        "sts/Avg.": 50 + seed + shift, "geometry/alignment": 0.2 + seed / 100 + shift / 10,
        "geometry/uniformity": -2 - seed / 100 - shift / 10,
    }  # fmt: skip
    curves = {
        "positive_similarity": [(step, 0.5 + step / 100 + seed / 50) for step in (0, 5, 10)],
        "hard_negative_similarity": [(step, 0.2 + step / 100) for step in (5, 10)],
    }
    return Outcome(seed, {"values": values}, curves)


def line(label: str, row: str = "", shift: float = 0.0, **more: object) -> Line:
    return Line(label, row or label, outcomes=[outcome(1, shift), outcome(2, shift)], **more)  # type: ignore[arg-type]


LINES = [
    line("Ours, clusters 8", "Ours", 1.0, point={"clusters": 8}),
    line("Ours, clusters 32", "Ours", 2.0, point={"clusters": 32}),
    line("Level"),
]
DRAWINGS = {
    "curve": {"kind": "curves", "values": ["positive_similarity"], "label": "similarity"},
    "panels": {"kind": "curves", "values": ["positive_similarity", "hard_negative_similarity"]},
    "against": {"kind": "against", "values": ["sts/Avg."], "setting": "clusters"},
    "geometry": {"kind": "geometry"},
    "dots": {"kind": "dots", "values": ["sts/Avg."], "label": "STS average"},
}
SAYS = {
    "curve": ["similarity", "step", "Level", "Ours, clusters 8"],
    "panels": ["positive similarity", "hard negative similarity", "Level"],
    "against": ["clusters", "sts/Avg.", ">8<", ">32<", "Level", "Ours"],
    "geometry": ["uniformity (lower is better)", "1  Ours, clusters 8 (52.5)", "STS average"],
    "dots": ["STS average", "Ours, clusters 32", "Level"],
}


@pytest.mark.parametrize("name", DRAWINGS)
def test_a_figure_shows_its_rows_and_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    drawing = FigureSpec.model_validate(DRAWINGS[name])
    first = draw(name, drawing, LINES, tmp_path / "a")
    second = draw(name, drawing, LINES, tmp_path / "b")
    assert [path.name for path in first] == [f"{name}.svg", f"{name}.png"]
    for one, other in zip(first, second, strict=True):
        assert one.read_bytes() == other.read_bytes()
    svg = first[0].read_text("utf-8")
    for text in SAYS[name]:
        assert text in svg
    assert "<dc:date>" not in svg


def test_another_spread_is_another_picture(tmp_path: Path) -> None:
    for name, values in DRAWINGS.items():
        drawing = FigureSpec.model_validate(values)
        (wide, _) = draw(name, drawing, LINES, tmp_path / "wide")
        same = [Line(x.label, x.row, x.point, outcomes=x.outcomes[:1]) for x in LINES]
        (narrow, _) = draw(name, drawing, same, tmp_path / "narrow")
        assert wide.read_text() != narrow.read_text()


def test_a_legend_stays_inside_its_picture(tmp_path: Path) -> None:
    keys = [f"a_rather_long_name_of_a_value_{n}" for n in range(5)]
    curves = {key: [(0, 1.0), (5, 2.0)] for key in keys}
    lines = [Line("A", "A", outcomes=[Outcome(1, {"values": {}}, curves)])]
    drawing = FigureSpec.model_validate({"kind": "curves", "values": keys})
    (svg,) = draw("long", drawing, lines, tmp_path, ("svg",))
    root = ElementTree.parse(svg).getroot()
    width = float(root.attrib["viewBox"].split()[2])
    names = [e for e in root.iter() if e.tag.endswith("text") and "rather long" in (e.text or "")]
    assert len(names) == 5
    for element in names:
        # The letters of the font are narrower than 6 points on average.
        assert 0 <= float(element.attrib["x"]) < width - 6 * len(element.text or "")


def test_only_the_rows_that_are_asked_for_and_nothing_where_there_is_nothing(
    tmp_path: Path,
) -> None:
    only = FigureSpec.model_validate({**DRAWINGS["dots"], "rows": ["Level"]})
    svg = draw("dots", only, LINES, tmp_path)[0].read_text("utf-8")
    assert "Level" in svg
    assert "Ours" not in svg
    for values in DRAWINGS.values():
        assert draw("none", FigureSpec.model_validate(values), [Line("A", "A")], tmp_path) == []
    assert not list(tmp_path.glob("none*"))
