"""The settings of an adaptation, and those of run folders from before their names."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.adaptation.settings import load_settings, read_settings, search_advice
from clusterns.errors import UserError


def test_a_run_folder_gives_its_settings_back(tmp_path: Path) -> None:
    settings = load_settings("search", {"base": "b", "shrinkage": 0.2})
    (tmp_path / "recipe.yaml").write_text(settings.to_yaml())
    assert read_settings(tmp_path / "recipe.yaml") == settings


def test_an_older_run_folder_is_read(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text(
        "method: smoothed\nbase: b\nbatch_size: 64\ndev: none\nkeep: 0.98\nkeep_own: 0.8\nmax_length: 128\n"
        "heldout: 200\nreplay: 0.4\nshares: [0.5, 1.0]\ntarget_neighbours: 7\ntarget_pull: 0.3\nseed: 3\n"
    )
    assert read_settings(file) == load_settings(
        "topics",
        {
            "base": "b", "min_agreement_general": 0.98, "min_agreement_domain": 0.8, "heldout": 200,
            "general_weight": 0.4, "interpolation_weights": (0.5, 1.0), "neighbors": 7,
            "centroid_weight": 0.3, "seed": 3, "heldout_fraction": 0.1,
            "max_drift": 10.0,
        },
    )  # fmt: skip
    for other in ("method: simcse\n", "- a list\n", "method: documents\n"):  # the last has no base
        file.write_text(other)
        assert read_settings(file) is None


def test_a_wrong_setting_is_refused_with_a_hint() -> None:
    with pytest.raises(UserError, match="Did you mean neighbors"):
        load_settings("topics", {"base": "b", "neighbor": 3})
    with pytest.raises(UserError, match="no setting 'clusters'"):
        load_settings("search", {"base": "b", "clusters": 3})


def test_a_search_says_what_an_adapted_model_is_for(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    for purpose, by, said in (
        ("topics", "vectors", "adapted for topics, which can make search worse"),
        ("search", "both", "finds as much"),
        ("search", "vectors", None),
    ):
        file.write_text(load_settings(purpose, {"base": "the-base"}).to_yaml())
        for model in (tmp_path, tmp_path / "model"):
            found = search_advice(str(model), by)
            assert (
                found is None if said is None else said in str(found) and "the-base" in str(found)
            )
    assert search_advice("owner/name", "both") is None
