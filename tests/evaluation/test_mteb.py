from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.mteb import run_mteb
from clusterns.evaluation.validators import ScoredPairsEvaluator
from tests.helpers.hash_encoder import HashEncoder


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(UserError, match=r"pip install 'clusterns\[mteb\]'"):
        run_mteb(HashEncoder())


def test_an_unknown_task_is_one_sentence() -> None:
    pytest.importorskip("mteb", reason="needs the extra mteb")
    with pytest.raises(UserError, match="NoSuchTask"):
        run_mteb(HashEncoder(), ["NoSuchTask"])


def test_a_task_of_ones_own_gives_our_number() -> None:
    pytest.importorskip("mteb", reason="needs the extra mteb")
    from datasets import Dataset, DatasetDict
    from mteb.abstasks.sts import AbsTaskSTS
    from mteb.abstasks.task_metadata import TaskMetadata

    texts = [
        f"{animal} {verb}" for animal in ("a cat", "a dog", "the sun") for verb in ("is", "was")
    ]
    scores = [float(i % 4) for i in range(len(texts))]
    pairs = ScoredPairs(texts, texts[::-1], np.array(scores))

    class Tiny(AbsTaskSTS):  # type: ignore[misc]
        metadata = TaskMetadata(
            name="Tiny",
            dataset={"path": "none/none", "revision": "1"},
            description="made for a test",
            type="STS",
            category="t2t",
            eval_splits=["test"],
            eval_langs=["eng-Latn"],
            main_score="cosine_spearman",
        )

        def load_data(self, *_: Any, **__: Any) -> None:
            columns = {"sentence1": texts, "sentence2": texts[::-1], "score": scores}
            self.dataset = DatasetDict(test=Dataset.from_dict(columns))
            self.data_loaded = True

    model = load_model("minibert", "mean")
    found = run_mteb(model, [Tiny()]).sets["Tiny"].value
    assert found == pytest.approx(100 * ScoredPairsEvaluator(pairs)(model)["pairs_spearman"])
