"""What a method may ask of a run: parts, a fit, rows of two texts, a model that is made without training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from datasets import Dataset
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer

from clusterns.encoder.training_modules import training_modules_active
from clusterns.losses.part import Batch, Part, Penalty, Rows, Terms, TermsOf
from clusterns.methods import registry
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import PartSettings
from clusterns.training.build import build_collator, build_loss, build_model
from clusterns.training.folder import RunFolder, read_metrics
from clusterns.training.run import train
from tests.helpers.models import Scripted, short_texts, small_recipe
from tests.helpers.texts import WORDS


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    registry.method_names()
    monkeypatch.setattr(registry, "_METHODS", dict(registry._METHODS))
    monkeypatch.setattr(registry, "_PARTS", dict(registry._PARTS))
    registry.recipe_class.cache_clear()


@pytest.mark.parametrize("changes", [{}, {"pooling": "auto", "template": "bert"}], ids=str)
def test_the_momentum_encoder_starts_as_a_copy_that_shares_nothing(
    changes: dict[str, Any], tiny_bert: Path
) -> None:
    """Neither weights nor what the model's modules know of each other."""
    chosen = small_recipe(tiny_bert, method="esimcse", **changes)
    model = build_model(chosen).eval()
    loss = build_loss(chosen, model, short_texts(8))
    (queue,) = loss.parts.values()
    slow = queue.encoder

    def vectors(encoder: SentenceTransformer) -> torch.Tensor:
        with torch.no_grad(), training_modules_active(encoder):
            return encoder(dict(model.preprocess(short_texts(8))))["sentence_embedding"]

    first = vectors(model)
    assert torch.equal(vectors(slow), first)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    assert not torch.allclose(vectors(model), first, atol=1e-2)
    assert torch.equal(vectors(slow), first)


class ToTarget(Part):
    """Draws all rows to one vector."""

    def __init__(self, target: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("target", torch.nn.functional.normalize(target, dim=0))

    def terms(self, batch: Batch, training: bool) -> TermsOf:
        def terms_of(rows: Rows) -> Terms:
            distance, counts = 1 - rows.anchors @ self.target, torch.ones_like(rows.index)
            return Terms(penalties=[Penalty("distance", distance, counts, weight=20)])

        return terms_of


def test_a_part_trains_with_what_was_fitted_once(
    known: None, tiny_bert: Path, tmp_path: Path
) -> None:
    fits: list[int] = []

    @registry.part("to_target")
    class ToTargetSettings(PartSettings):
        """A target far from the start."""

        def fit(self, context: Context) -> None:
            vectors = context.embed(context.texts)
            fits.append(len(vectors))
            assert context.folder is not None
            save_file({"target": -vectors.mean(0)}, context.folder / "target.safetensors")

        def make_part(self, context: Context) -> Part:
            if context.folder is None:
                return ToTarget(torch.ones(32))
            return ToTarget(load_file(context.folder / "target.safetensors")["target"])

    @registry.method
    class Drawn(Method):
        """Drawn away."""

        name, title, paper = "drawn", "Drawn", "nobody"
        parts = ("to_target",)

    chosen = small_recipe(
        tiny_bert, method="drawn", pooling="mean", max_steps=10, learning_rate=5e-3
    )  # fmt: skip
    folder = RunFolder(tmp_path / "run")
    rows = Dataset.from_dict({"text": short_texts(40)})
    result = train(chosen, rows, Scripted([0.1] + [0.2] * 7), folder, quiet=True)
    assert result.steps == 10
    assert fits == [40]
    distances = [x["distance"] for x in read_metrics(folder.metrics_file) if "distance" in x]
    assert len(distances) == 10
    assert distances[0] > 1.5
    assert distances[-1] < 0.5 * distances[0]

    folder.results_file.unlink()
    again = train(chosen, rows, Scripted([0.2, 0.2]), folder, resume=True, quiet=True)
    assert again.steps == 10
    assert fits == [40]  # never a second time


def test_rows_of_two_texts(tiny_bert: Path, tmp_path: Path) -> None:
    anchors, positives = short_texts(40), short_texts(40, seed=1)
    rows = Dataset.from_dict({"anchor": anchors, "positive": positives, "name": anchors})
    chosen = small_recipe(tiny_bert, method="simcse")
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.1, 0.2, 0.3]), folder, quiet=True)
    assert result.steps == 4
    lines = [line for line in read_metrics(folder.metrics_file) if "positive_similarity" in line]
    assert lines[0]["positive_similarity"] < 0.99  # not the same sentence


def test_corpus_vectors_are_those_that_training_sees(tiny_bert: Path) -> None:
    """Cut at max_length, with the head, without dropout, without the test-time full stop."""
    corpus = [f"{text} {' '.join(WORDS)} {' '.join(WORDS)}" for text in short_texts(8)]
    for changes in ({"pooling": "cls"}, {"pooling": "auto", "template": "bert"}):
        chosen = small_recipe(
            tiny_bert, clusters=12, initialization="corpus", initialization_sample=100,
            start_step=1, max_length=8, **changes,
        )  # fmt: skip
        assert chosen.clusters > chosen.batch_size  # it needs no batch
        model = build_model(chosen)
        loss = build_loss(chosen, model, corpus * 3)
        (clustering,) = loss.parts.values()
        vectors = clustering.corpus_vectors()
        assert vectors.shape == (24, 32)
        columns = build_collator(chosen, model)([{"text": text} for text in corpus])
        anchors = {k.removeprefix("anchor_"): v for k, v in columns.items() if "anchor_" in k}
        model.eval()
        for module in model:
            if hasattr(module, "always_on"):
                module.always_on = True
        with torch.no_grad():
            expected = model(anchors)["sentence_embedding"]
        torch.testing.assert_close(vectors[:8], expected, atol=1e-5, rtol=1e-4)
        assert vectors.abs().max() <= 1  # of a tanh: with the head
