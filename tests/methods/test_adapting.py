"""How an adaptation ends, and where its rows come from."""

from __future__ import annotations

from pathlib import Path

import pytest
from datasets import Dataset

from clusterns.errors import UserError
from clusterns.methods.adapting import choose, in_words, refusal, told
from clusterns.methods.general import replayed_text, text_apart
from clusterns.methods.registry import get_method
from clusterns.training.recipe import load_recipe


def found(purpose: float, kept: float = 1.0, general: float = 1.0) -> dict[str, float]:
    return {"purpose": purpose, "kept": kept, "kept_general": general}


def test_the_best_allowed_share_is_taken() -> None:
    measured = {0.0: found(0.2), 0.5: found(0.3), 1.0: found(0.4)}
    assert choose(measured, {}) == 1.0
    assert choose(measured, {1.0: "too far"}) == 0.5
    assert choose(measured, {0.5: "too far", 1.0: "too far"}) == 0.0
    assert choose({0.0: found(0.2), 0.5: found(0.2), 1.0: found(0.1)}, {}) == 0.0
    lines = told("search", measured, {1.0: "too far"}, 0.5).splitlines()
    assert "taken" in lines[2]
    assert "refused, too far" in lines[3]


def test_what_is_lost_is_refused_with_the_figure() -> None:
    recipe = load_recipe("adapt-topics", {"keep": 0.9, "keep_own": 0.8})
    assert refusal(recipe, found(1, 0.85, 0.95)) == ""  # type: ignore[arg-type]
    assert "general text: 0.890" in refusal(recipe, found(1, 0.85, 0.89))  # type: ignore[arg-type]
    assert "nan" in refusal(recipe, found(1, 0.9, float("nan")))  # type: ignore[arg-type]
    assert "own text: 0.790" in refusal(recipe, found(1, 0.79, 0.95))  # type: ignore[arg-type]


def test_the_ending_in_words() -> None:
    facts = {
        "purpose": "search",
        "share": 0.5,
        "measured": {"0.0": found(0.25), "0.5": found(0.5, 0.91, 0.98)},
    }
    assert "50% of the way" in in_words(facts)
    assert "MRR: 0.250 before, 0.500 after" in in_words(facts)
    assert "left as it was" in in_words({**facts, "share": 0.0})


@pytest.mark.parametrize("dataset", [{"text": ["a"]}, {"text": ["a b"] * 9, "document": [1] * 9}])
def test_search_without_documents_is_refused_with_the_remedy(
    dataset: dict[str, list[object]],
) -> None:
    with pytest.raises(UserError, match="best left as it is.*--document"):
        get_method("documents").check_text(Dataset.from_dict(dataset))


def test_general_text_of_a_file_is_learned_from_or_measured_on_never_both(tmp_path: Path) -> None:
    file = tmp_path / "general.txt"
    file.write_text("".join(f"general sentence {row}\n" for row in range(60)))
    learned = set(replayed_text(str(file), None, 100, seed=1))
    measured = set(text_apart(str(file), None))
    assert len(learned) == len(measured) == 30
    assert learned.isdisjoint(measured)
    assert len(replayed_text(str(file), None, 20, seed=1)) == 20
    file.write_text("only one line\n")
    with pytest.raises(UserError, match="too few"):
        text_apart(str(file), None)
