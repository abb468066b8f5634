"""The settings of an adaptation, and what a run folder says about them."""

from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.adaptation.settings import load_settings, read_settings, search_advice
from clusterns.errors import UserError


def test_a_run_folder_gives_its_settings_back(tmp_path: Path) -> None:
    settings = load_settings("search", {"base": "b", "shrinkage": 0.2})
    file = tmp_path / "recipe.yaml"
    file.write_text(settings.to_yaml())
    assert read_settings(file) == settings
    for other in ("method: simcse\n", "- a list\n", "purpose: search\n"):  # the last has no base
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
