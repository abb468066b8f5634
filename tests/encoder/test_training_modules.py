from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from clusterns.encoder.load import load_base
from clusterns.encoder.training_modules import (
    add_masked_lm_head,
    add_training_head,
    training_modules_active,
    without_training_modules,
)

TEXTS = [
    "a cat sat on the mat",
    "dogs",
    "the river runs through the old town to the sea",
    "one two",
]


def test_the_masked_lm_head_equals_the_librarys_own_model(tiny_base: Path) -> None:
    model = load_base(str(tiny_base), "mean")
    add_masked_lm_head(model, str(tiny_base))
    model.eval()
    features = model.preprocess(TEXTS)
    labels = features["input_ids"].clone()
    own = AutoModelForMaskedLM.from_pretrained(tiny_base).eval()
    with torch.no_grad():
        ours = model({**features, "masked_lm_labels": labels})["masked_lm_loss"]
        theirs = own(
            input_ids=features["input_ids"],
            attention_mask=features["attention_mask"],
            labels=labels,
        ).loss
    assert ours.item() == pytest.approx(theirs.item(), abs=1e-6)


def test_the_head_is_the_identity_in_eval_mode_and_can_be_kept_active(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls")
    before = model.encode(TEXTS)
    add_training_head(model)
    np.testing.assert_array_equal(model.encode(TEXTS), before)
    final = without_training_modules(model)
    assert [type(module).__name__ for module in final] == ["Transformer", "Pooling"]
    assert final.max_seq_length == model.max_seq_length
    with training_modules_active(model):
        after = model.encode(TEXTS, convert_to_tensor=True)
    expected = torch.tanh(model[-1].linear(torch.from_numpy(before)))
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=1e-5)
    np.testing.assert_array_equal(model.encode(TEXTS), before)
