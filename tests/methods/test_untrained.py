from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import yaml
from datasets import Dataset
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from tests.helpers.models import open_plain
from tests.helpers.texts import sentences

WORDS = "one two three red green blue cat dog house tree runs sits big small old new".split()
SENTENCES = ["a red house", "two dogs"]


class Spread(BaseEvaluator):
    """How far apart the vectors of the words are."""

    def __init__(self) -> None:
        super().__init__()
        self.primary_metric = "spread"

    def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
        return {"spread": float(model.encode(WORDS).std())}


def run(folder: Path, base: Path, **changes) -> SentenceTransformer:
    rows = Dataset.from_dict({"text": sentences(300)})
    recipe = load_recipe("default", {"base": str(base), "batch_size": 32, **changes})
    result = train(recipe, rows, Spread(), RunFolder(folder), quiet=True)
    assert result.base_score != result.best_score
    assert read_json(folder / "results.json")["best_score"] == result.best_score
    return open_plain(folder / "model")


@pytest.mark.parametrize(
    ("method", "changes", "width"),
    [
        ("average", {}, 32),
        ("average", {"average": "cls"}, 32),
        ("whitening", {}, 31),
        ("whitening", {"dimensions": 8, "average": "mean"}, 8),
        ("flow", {"fit_sentences": 100}, 32),
        ("prompt", {}, 32),
        ("static", {"dimensions": 8, "vocabulary_size": 100, "contrast_steps": 5}, 8),
    ],
)
def test_a_run_makes_a_model_that_opens_anywhere(
    tmp_path: Path, tiny_bert: Path, method: str, changes: dict, width: int
) -> None:
    model = run(tmp_path / "run", tiny_bert, method=method, **changes)
    assert model.encode(SENTENCES).shape == (2, width)
    again = run(tmp_path / "again", tiny_bert, method=method, **changes)
    np.testing.assert_array_equal(model.encode(SENTENCES), again.encode(SENTENCES))
    resolved = yaml.safe_load((tmp_path / "run" / "recipe.yaml").read_text("utf-8"))
    assert resolved["method"] == method
    assert "temperature" not in resolved
    assert load_recipe(str(tmp_path / "run" / "recipe.yaml")).method == method


def test_what_a_fit_refuses_leaves_no_folder(tmp_path: Path, tiny_bert: Path) -> None:
    rows = Dataset.from_dict({"text": sentences(20)})
    recipe = load_recipe("default", {"base": str(tiny_bert), "method": "whitening"})
    with pytest.raises(UserError, match="needs more than 32 sentences, but there are 20"):
        train(recipe, rows, Spread(), RunFolder(tmp_path / "run"), quiet=True)
    assert not (tmp_path / "run").exists() or not any((tmp_path / "run").iterdir())


def test_word_vectors(tmp_path: Path, tiny_bert: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("".join(f"{word} {i} {-i}\n" for i, word in enumerate(WORDS)), "utf-8")
    given = {"method": "glove", "word_vectors": str(vectors), "stop_words": False}
    model = run(tmp_path / "run", tiny_bert, **given)
    np.testing.assert_allclose(model.encode(["one three"]), [[1, -1]])
