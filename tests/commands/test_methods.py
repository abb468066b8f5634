from __future__ import annotations

import pytest
from typer.testing import CliRunner

from clusterns.cli import app
from clusterns.errors import UserError
from clusterns.methods.registry import method_names, part_names


def output(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["methods", *arguments], env={"COLUMNS": "200"})
    if result.exception is not None:
        raise result.exception
    return result.output


def test_all_methods_and_parts_are_listed() -> None:
    words = output().split()
    assert {*method_names(), *part_names()} <= {*words}


@pytest.mark.parametrize("name", [*method_names(), *part_names()])
def test_each_is_explained(name: str) -> None:
    assert len(output(name).split()) > 8


def test_a_method_shows_its_settings_defaults_and_recipes() -> None:
    text = output("sncse")
    assert "soft_weight" in text
    assert "This sentence of" in text
    assert "sncse-bert-base" in text
    assert "clusterns train corpus.txt --method sncse --output runs/sncse" in text


def test_a_method_shows_its_own_default_of_a_setting_that_others_have() -> None:
    assert "average embedding-last-avg" in " ".join(output("average").split())
    assert "average first-last-avg" in " ".join(output("whitening").split())


def test_an_unknown_one_is_refused_with_the_names() -> None:
    with pytest.raises(UserError, match="there is no method or part 'nonsense'.* Choose one of"):
        output("nonsense")


def test_settings_are_explained_with_the_defaults_of_each_method() -> None:
    result = CliRunner().invoke(app, ["recipes", "--keys"], env={"COLUMNS": "1000"})
    shown = " ".join(result.output.split())
    assert "average first-last-avg, embedding-last-avg (average)" in shown
    assert "positives dropout, repetition (esimcse)" in shown
