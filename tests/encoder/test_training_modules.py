from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForMaskedLM

from clusterns.encoder.load import load_base
from clusterns.encoder.training_modules import (
    MaskedLMHead,
    TrainingHead,
    add_masked_lm_head,
    add_training_head,
    training_modules_active,
    without_training_modules,
)
from clusterns.losses.clusterns import ClusterNSLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling

TEXTS = [
    "a cat sat on the mat",
    "dogs",
    "the river runs through the old town to the sea",
    "one two",
]


def test_every_family_trains_with_the_loss_and_a_masked_lm_head(tiny_base: Path) -> None:
    model = load_base(str(tiny_base), "cls")
    add_training_head(model)
    add_masked_lm_head(model, str(tiny_base))
    loss = ClusterNSLoss(
        model, clusters=2, start_step=1, masked_lm=MaskedLanguageModelling(model.tokenizer, 0.5)
    )
    model.train()
    features = model.preprocess(TEXTS, max_length=16)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    torch.manual_seed(0)
    for _ in range(3):
        value = loss([dict(features)])
        value.backward()
        optimizer.step()
    without = [n for n, p in model.named_parameters() if p.grad is None and "pooler" not in n]
    assert without == []
    assert value.isfinite()


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
    with training_modules_active(model):
        after = model.encode(TEXTS, convert_to_tensor=True)
    expected = torch.tanh(model[-1].linear(torch.from_numpy(before)))
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=1e-5)
    np.testing.assert_array_equal(model.encode(TEXTS), before)


def test_the_final_model_has_no_head_and_opens_without_this_package(
    tiny_bert: Path, tmp_path: Path
) -> None:
    model = load_base(str(tiny_bert), "cls")
    limit = model.max_seq_length
    add_training_head(model)
    add_masked_lm_head(model, str(tiny_bert))
    final = without_training_modules(model)
    assert not any(isinstance(m, TrainingHead | MaskedLMHead) for m in final)
    final.save_pretrained(str(tmp_path / "final"))
    script = (
        "import sys; sys.modules['clusterns'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        f"model = SentenceTransformer({str(tmp_path / 'final')!r})\n"
        f"assert model.max_seq_length == {limit}, model.max_seq_length\n"
        f"print(model.encode({TEXTS[0]!r}).tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    np.testing.assert_allclose(
        json.loads(done.stdout.splitlines()[-1]), model.encode(TEXTS[0]), atol=1e-6
    )
