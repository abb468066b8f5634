from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from clusterns.commands.options import parse_pairs
from clusterns.errors import UserError
from clusterns.methods.registry import method_names, recipe_class
from clusterns.training.recipe import load_recipe, recipe_names

RESULTS = Path(__file__).parents[2] / "results"
RECORDED = sorted(RESULTS.rglob("recipe.yaml"))

parse = parse_pairs("--set")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_is_valid_described_and_survives_a_round_trip(
    name: str, tmp_path: Path
) -> None:
    recipe = load_recipe(name)
    assert len(recipe.description) > 20
    copy = tmp_path / "copy.yaml"
    copy.write_text(recipe.to_yaml())
    assert load_recipe(str(copy)) == recipe


@pytest.mark.parametrize("file", RECORDED, ids=lambda file: str(file.relative_to(RESULTS)))
def test_every_recorded_recipe_still_loads(file: Path) -> None:
    assert load_recipe(str(file)).base


def test_every_key_is_documented() -> None:
    for name in method_names():
        fields = recipe_class(name).model_fields
        assert [key for key, field in fields.items() if not field.description] == []


def test_symbols_of_the_paper_are_in_the_help() -> None:
    symbols = {
        "temperature": "tau", "clusters": "K", "momentum": "gamma", "sigma": "sigma",
        "start_step": "S", "hard_negative_weight": "mu", "margin_weight": "lambda",
        "alpha": "alpha", "beta": "beta", "batch_size": "N",
    }  # fmt: skip
    for key, symbol in symbols.items():
        assert f"({symbol})" in (recipe_class("clusterns").model_fields[key].description or ""), key


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["clustres=3"], "no setting 'clustres'. Did you mean clusters?"),
        (["temperature=-1"], "temperature = -1: input should be greater than 0"),
        (["temperature=warm"], "temperature = 'warm'"),
        (["clusters=100", "batch_size=50"], "clusters = 100 is more than batch_size = 50"),
        (["hard_negatives=third"], "'second', 'nearest', 'random' or 'none'"),
        (["alpha=0.5", "beta=0.3"], "alpha = 0.5 must not be above beta = 0.3"),
        (["sigma=0.4", "start_step=10"], "set one of them"),
        (["method=simcse", "clusters=8"], "clusters belongs to method clusterns"),
        (["nonsense"], "--set nonsense: write KEY=VALUE"),
    ],
)
def test_bad_settings_name_key_value_and_range(pairs: list[str], message: str) -> None:
    with pytest.raises(UserError) as error:
        load_recipe("default", parse(pairs))
    assert message in str(error.value)


def test_changes_win_and_numbers_are_read_as_people_write_them() -> None:
    changes = parse(["learning_rate=3e-5", "max_steps=7", "report_to=[wandb]"])
    recipe = load_recipe("default", changes)
    assert (recipe.learning_rate, recipe.max_steps, recipe.report_to) == (3e-5, 7, ("wandb",))
    recipe = load_recipe("default", {"start_step": 5})  # which replaces sigma
    assert recipe.start_step == 5
    assert "sigma" not in recipe.to_yaml()


def test_an_unknown_recipe_and_broken_files_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="Choose one of default"):
        load_recipe("nonsense")
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [1,\n")
    with pytest.raises(UserError, match="is not YAML"):
        load_recipe(str(broken))
    broken.write_text("- a\n- b\n")
    with pytest.raises(UserError, match="keys and values"):
        load_recipe(str(broken))
    with pytest.raises(UserError, match="cannot read the recipe"):
        load_recipe(str(tmp_path / "missing.yaml"))


def test_a_run_from_before_the_last_step_was_kept_still_chooses_by_the_label_free_score(
    tmp_path: Path,
) -> None:
    older = yaml.safe_load(load_recipe("default").to_yaml())
    del older["checkpoint"]
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(older))
    assert older["dev"] == "none"
    assert load_recipe(str(tmp_path / "recipe.yaml")).dev == "label-free"
    (tmp_path / "mine.yaml").write_text("dev: none\n")
    assert load_recipe(str(tmp_path / "mine.yaml")).keeps_last_step
    assert not load_recipe("default", {"dev": "stsb"}).keeps_last_step


def test_a_retired_setting_of_an_older_run_is_read_if_it_was_at_its_default(tmp_path: Path) -> None:
    file = tmp_path / "recipe.yaml"
    file.write_text("method: sncse\nsoft_parser: ''\n")
    assert load_recipe(str(file)).method == "sncse"
    file.write_text("method: sncse\nsoft_parser: en_core_web_sm\n")
    with pytest.raises(UserError, match="no setting 'soft_parser'"):
        load_recipe(str(file))


def test_earlier_names_of_settings_and_parts_are_understood(tmp_path: Path) -> None:
    old = {"parts": ["judge"], "judge_above": 0.8, "noise_times": 2.0, "initialisation": "corpus"}
    today = {
        "parts": ["guide"], "guide_threshold": 0.8, "noise_ratio": 2.0, "initialization": "corpus",
    }  # fmt: skip
    changes = {key: value for key, value in old.items() if key != "noise_times"}
    expected = {key: value for key, value in today.items() if key != "noise_ratio"}
    assert load_recipe("default", changes) == load_recipe("default", expected)
    (tmp_path / "old.yaml").write_text(yaml.safe_dump({**old, "parts": ["judge", "noise"]}))
    found = load_recipe(str(tmp_path / "old.yaml"))
    assert (found.parts, found.noise_ratio) == (("guide", "noise"), 2.0)  # type: ignore[attr-defined]
