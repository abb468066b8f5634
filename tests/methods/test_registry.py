"""Methods and parts are found by name, and a recipe's class is made of their settings."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest
from pydantic import Field

from clusterns.errors import UserError
from clusterns.methods import registry
from clusterns.methods.method import Method
from clusterns.methods.recipe import PartSettings, Recipe
from clusterns.settings import Settings
from clusterns.training.recipe import load_recipe


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    registry.method_names()
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    registry.recipe_class.cache_clear()


def test_every_method_explains_itself() -> None:
    methods = "simcse clusterns esimcse mixcse dclr promptbert conpvp sncse static"
    assert set(methods.split()) <= set(registry.method_names())
    parts = "clustering queue mixing noise guide prototype soft_negative"
    assert set(parts.split()) <= set(registry.part_names())
    for name in registry.method_names():
        method = registry.get_method(name)
        assert (method.name, bool(method.title), bool(method.paper)) == (name, True, True)
        assert method.__doc__
        if not method.needs:  # of the user, who names it
            assert load_recipe("default", {"method": name}).method == name
    for name in registry.part_names():
        assert registry.get_part(name).__doc__


def test_parts_join_a_method_with_their_keys_and_checks() -> None:
    recipe = load_recipe("default", {"parts": ["queue"], "queue_momentum": 0.9})
    assert (recipe.method, recipe.clusters, recipe.queue_momentum) == ("clusterns", 32, 0.9)
    assert "parts:\n- queue" in recipe.to_yaml()
    assert [type(each).__name__ for each in registry.part_settings(recipe)] == [
        "ClusteringSettings", "QueueSettings",
    ]  # fmt: skip
    joined = load_recipe("default", {"method": "esimcse", "parts": "clustering", "clusters": 9})
    assert (joined.clusters, joined.positives, joined.parts) == (9, "repetition", ("clustering",))
    with pytest.raises(UserError, match="clusters = 99 is more than batch_size = 64"):
        load_recipe("default", {"method": "esimcse", "parts": "clustering", "clusters": 99})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "nonsense"}, "there is no method 'nonsense'. Choose one of .*simcse"),
        ({"method": "simcsee"}, "there is no method 'simcsee'. Did you mean simcse\\? Choose"),
        ({"parts": ["nonsense"]}, "there is no part 'nonsense'.* Choose one of .*queue"),
        ({"parts": 3}, "parts = 3"),
        ({"method": "simcse", "queue_momentum": 0.9},
         r"queue_momentum belongs to method esimcse.* is simcse\. Add it with parts=\[queue\]"),
        ({"method": "esimcse", "queue_momentum": 1.5}, "queue_momentum = 1.5"),
        ({"method": "esimcse", "sigma": 0.1}, "sigma belongs to method clusterns"),
        ({"method": "sncse", "soft_alpha": 0.5}, "soft_alpha = 0.5 must not be above soft_beta"),
        ({"parts": ["soft_negative"], "positives": "crop"}, "crop does not go with soft negatives"),
        ({"method": "whitening", "parts": ["queue"]}, "for methods that train, and whitening does"),
        ({"method": "average", "template": "bert"}, "choose method prompt"),
        ({"method": "promptbert", "template": ""}, "needs a template"),
        ({"method": "conpvp", "positive_template": "bert"}, "has its own"),
        ({"method": "mixcse", "mixed_share": 1.5}, "mixed_share"),
        ({"method": "sncse", "positives": "document"}, "document does not go with soft negatives"),
        ({"method": "dclr", "positives": "next"}, "next does not go with a guide of whole sentences"),
        ({"method": "simcse", "sif_whitening": True, "pooling": "cls"}, "needs mean pooling"),
        ({"method": "promptbert", "sif_whitening": True}, "needs mean pooling"),
        ({"method": "glove"}, "method glove needs word_vectors, a file"),
        ({"method": "glove", "word_vectors": "no/file.txt"}, "no/file.txt: there is no such file"),
        ({"method": "whitening", "temperature_": 1}, "there is no setting 'temperature_'"),
        ({"method": "average", "dimensions": 3}, "dimensions belongs to method static or whitening"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(changes: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        load_recipe("default", changes)


def test_another_method_drops_keys_and_says_whose_settings_it_has() -> None:
    recipe = load_recipe("clusterns-bert-base", {"method": "simcse"})
    assert recipe.batch_size == 256
    assert not hasattr(recipe, "clusters")
    assert recipe.description == "SimCSE with the settings of recipe clusterns-bert-base."


def test_a_method_brings_defaults_checks_and_keys_of_its_own(known: None) -> None:
    class OwnSettings(Settings):
        own_weight: float = Field(0.5, ge=0)
        """A weight."""

    @registry.method
    class Own(Method):
        """A method of a test."""

        name, title, paper = "own", "Own", "nobody, never"
        settings = OwnSettings
        defaults = {"batch_size": 48, "learning_rate": 1e-3}

        def check(self, recipe: Recipe) -> None:
            if recipe.template:
                raise ValueError("own does not know templates.")

    recipe = load_recipe("default", {"method": "own"})
    # The recipe's file says 64; what it does not say, the method does.
    assert (recipe.batch_size, recipe.learning_rate, recipe.own_weight) == (64, 1e-3, 0.5)
    with pytest.raises(UserError, match="own does not know templates"):
        load_recipe("default", {"method": "own", "template": "bert"})
    with pytest.raises(UserError, match="own_weight belongs to method own"):
        load_recipe("default", {"own_weight": 0.1})
    assert "own_weight" in registry.all_fields()


def test_two_of_one_name_and_two_of_one_key_are_refused(known: None) -> None:
    with pytest.raises(ValueError, match="two methods called 'simcse'"):
        registry.method(type("Other", (Method,), {"name": "simcse"}))

    @registry.part("rival")
    class RivalSettings(PartSettings):
        """A part of a test."""

        queue_momentum: float = 0.5

    with pytest.raises(UserError, match="both have a setting 'queue_momentum'"):
        load_recipe("default", {"method": "esimcse", "parts": ["rival"]})


def test_a_method_of_another_package_that_cannot_be_loaded(
    known: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = [EntryPoint("broken", "not_there", registry.ENTRY_POINTS)]
    monkeypatch.setattr(registry, "entry_points", lambda group: broken)
    registry._load.cache_clear()
    with pytest.raises(UserError, match="not_there.* cannot be loaded"):
        registry.method_names()
    registry._load.cache_clear()
