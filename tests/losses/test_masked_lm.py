from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from transformers import AutoModelForMaskedLM

from clusterns.encoder.load import load_base
from clusterns.encoder.speed import set_dropout
from clusterns.encoder.training_modules import add_masked_lm_head
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.losses.features import mini_batches
from clusterns.losses.masked_lm import MaskedLanguageModelling

TEXTS = [
    "a cat sat on the mat", "dogs", "one two", "the river runs through the old town to the sea",
    "rain fell on the harbour all day", "two", "the court heard the appeal",
]  # fmt: skip


def masked_lm_model(base: Path, dropout: float) -> SentenceTransformer:
    model = load_base(str(base), "mean")
    add_masked_lm_head(model, str(base))
    set_dropout(model, dropout)
    return model.double().train()


def result(model: SentenceTransformer, *frame: Any, **options: Any) -> tuple[Tensor, list[Tensor]]:
    """Loss and gradients under the same masks."""
    objective = MaskedLanguageModelling(model.tokenizer, 0.4)
    model.zero_grad()
    torch.manual_seed(1)
    loss = objective(model, model.preprocess(TEXTS), *frame, **options)
    loss.backward()
    return loss.detach(), [p.grad.clone() for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("mini_batch_size", [None, 1, 3, 100])
def test_mini_batches_give_the_mean_over_all_masked_tokens(
    mini_batch_size: int | None, recompute: bool, tiny_bert: Path
) -> None:
    model = masked_lm_model(tiny_bert, 0.0)
    own = AutoModelForMaskedLM.from_pretrained(tiny_bert).double().eval()
    torch.manual_seed(1)
    rows = MaskedLanguageModelling(model.tokenizer, 0.4).masked(model.preprocess(TEXTS))
    masked = (rows["masked_lm_labels"] != -100).sum(1)
    assert 0 in masked, "a mini-batch without a masked token belongs to the test"
    assert len(masked.unique()) > 2, "a mean of means would do as well"
    expected = own(
        input_ids=rows["input_ids"],
        attention_mask=rows["attention_mask"],
        labels=rows["masked_lm_labels"],
    ).loss
    loss, gradients = result(model, mini_batch_size, recompute=recompute)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    whole, whole_gradients = result(model)
    torch.testing.assert_close(loss, whole, atol=1e-12, rtol=1e-12)
    torch.testing.assert_close(gradients, whole_gradients, atol=1e-12, rtol=1e-9)
    assert max(float(gradient.abs().max()) for gradient in gradients) > 1e-3


def test_recomputing_draws_the_same_dropout_again(tiny_bert: Path) -> None:
    model = masked_lm_model(tiny_bert, 0.2)
    kept, kept_gradients = result(model, 3)
    again, again_gradients = result(model, 3, recompute=True)
    assert kept == again
    torch.testing.assert_close(again_gradients, kept_gradients, atol=1e-12, rtol=1e-9)
    model.eval()
    assert abs(result(model, 3)[0] - kept) > 1e-4, "dropout has no effect: the test shows nothing"


def test_a_batch_without_a_masked_token_costs_nothing(tiny_bert: Path) -> None:
    model = masked_lm_model(tiny_bert, 0.0)
    features = model.preprocess(TEXTS)
    nothing = torch.full_like(features["input_ids"], -100)
    assert model({**features, "masked_lm_labels": nothing})["masked_lm_loss"].item() == 0


def test_anchors_and_positives_are_masked_and_padding_never(tiny_bert: Path) -> None:
    model = masked_lm_model(tiny_bert, 0.0)
    objective = MaskedLanguageModelling(model.tokenizer, 0.4)
    loss = ContrastiveLoss(model, masked_lm=objective, views=3, auxiliary_columns=1)
    one, long, other = (model.preprocess(texts) for texts in (TEXTS, TEXTS[::-1], ["no"] * 7))
    rows = loss.stacked_for_masked_lm([one, other])  # one view, and one that is not for the encoder
    assert torch.equal(rows["input_ids"], one["input_ids"].repeat(2, 1))
    rows = loss.stacked_for_masked_lm([one, long, other, other])
    assert torch.equal(rows["input_ids"], torch.cat([one["input_ids"], long["input_ids"]]))
    # A vocabulary in which the token of the padding is a word.
    words = {**rows, "input_ids": rows["input_ids"].where(rows["attention_mask"] == 1, 20)}
    labels = objective.masked(words)["masked_lm_labels"]
    assert (labels[rows["attention_mask"] == 0] == -100).all()
    assert (labels != -100).any()


def test_mini_batches_are_the_rows_from_short_to_long_without_padding() -> None:
    lengths = [3, 1, 5, 2]
    ids = torch.zeros(4, 6, dtype=torch.long)
    for row, length in enumerate(lengths):
        ids[row, :length] = row + 1
    rows = {"input_ids": ids, "attention_mask": (ids > 0).long(), "kind": "text",
            "prompt_length": torch.tensor([2])}  # fmt: skip
    short, long = mini_batches(rows, 2)
    assert short["input_ids"].tolist() == [[2, 0], [4, 4]]
    assert long["input_ids"].tolist() == [[1, 1, 1, 0, 0], [3, 3, 3, 3, 3]]
    assert long["attention_mask"].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]
    assert (short["kind"], short["prompt_length"].tolist()) == ("text", [2])
