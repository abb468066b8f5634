from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.evaluation.plots import alignment_uniformity_points, plot_alignment_uniformity
from clusterns.evaluation.results import Results, SetResult, SuiteResult

pytest.importorskip("matplotlib")


def model(name: str, alignment: float, uniformity: float, average: float | None) -> Results:
    sets = {
        "alignment": SetResult(alignment, "alignment", 1, 0),
        "uniformity": SetResult(uniformity, "uniformity", 1, 0),
    }
    suites = {"geometry": SuiteResult(sets), "sts": SuiteResult({}, average)}
    return Results(name, suites=suites)


MODELS = [model("a", 0.2, -2.5, 77.0), model("b", 0.2, -2.5, 50.0), model("c", 0.1, -1, None)]


def test_the_models_with_all_numbers_are_drawn(tmp_path: Path) -> None:
    found = [point[:4] for point in alignment_uniformity_points(MODELS)]
    assert found == [("a", -2.5, 0.2, 77.0), ("b", -2.5, 0.2, 50.0)]
    for suffix, start in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
        plot_alignment_uniformity(MODELS, tmp_path / f"p.{suffix}")
        assert (tmp_path / f"p.{suffix}").read_bytes().startswith(start)
    with pytest.raises(UserError, match="needs models"):
        plot_alignment_uniformity(MODELS[2:], tmp_path / "p.png")
    with pytest.raises(UserError, match="can be written as .png"):
        plot_alignment_uniformity(MODELS, tmp_path / "p.txt")
