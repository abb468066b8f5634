from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer

from clusterns.encoder.base import load_base, minibert_folder, resolve_base, without_training_parts
from clusterns.encoder.dropout import set_dropout
from clusterns.encoder.head import TrainingHead, add_training_head
from clusterns.encoder.locate import identity_of_base
from clusterns.encoder.masked_lm import MaskedLMHead, add_masked_lm_head
from clusterns.encoder.training_only import heads_on
from clusterns.errors import UserError
from clusterns.losses.cluster_ns import ClusterNSLoss
from clusterns.losses.masked_lm import MaskedLanguageModelling

TEXTS = [
    "a cat sat on the mat",
    "dogs",
    "the river runs through the old town to the sea",
    "one two",
]


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_every_family_pools_as_asked(tiny_base: Path, pooling: str) -> None:
    model = load_base(str(tiny_base), pooling)
    tokens = AutoTokenizer.from_pretrained(tiny_base)(TEXTS[0], return_tensors="pt")
    tokens.pop("token_type_ids", None)
    encoder = AutoModel.from_pretrained(tiny_base).eval()
    with torch.no_grad():
        states = encoder(**tokens).last_hidden_state[0]
    expected = states[0] if pooling == "cls" else states.mean(0)
    np.testing.assert_allclose(model.encode(TEXTS[0]), expected.numpy(), atol=1e-5)


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


def test_dropout_can_be_changed_for_every_family(tiny_base: Path, tmp_path: Path) -> None:
    model = load_base(str(tiny_base), "mean")
    model.train()
    features = model.preprocess(TEXTS)

    def noise() -> float:
        once, again = (model(dict(features))["sentence_embedding"] for _ in range(2))
        return float((once - again).abs().max())

    set_dropout(model, 0.5)
    assert noise() > 0.01
    set_dropout(model, 0.0)
    assert noise() == 0
    before = json.loads((tiny_base / "config.json").read_text())
    model.save_pretrained(str(tmp_path))
    after = json.loads((tmp_path / "config.json").read_text())
    assert {k: v for k, v in after.items() if "dropout" in k} == {
        k: v for k, v in before.items() if "dropout" in k
    }


def test_half_precision_weights_are_loaded_in_full() -> None:
    assert json.loads((minibert_folder() / "config.json").read_text())["dtype"] == "float16"
    assert load_base(str(minibert_folder())).dtype == torch.float32


def test_the_head_is_the_identity_at_test_and_can_be_kept_on(tiny_bert: Path) -> None:
    model = load_base(str(tiny_bert), "cls")
    before = model.encode(TEXTS)
    add_training_head(model)
    np.testing.assert_array_equal(model.encode(TEXTS), before)
    head = model[-1]
    with heads_on(model):
        after = model.encode(TEXTS, convert_to_tensor=True)
    expected = torch.tanh(head.linear(torch.from_numpy(before)))
    torch.testing.assert_close(after, expected, atol=1e-6, rtol=1e-5)
    np.testing.assert_array_equal(model.encode(TEXTS), before)


def test_a_good_sentence_transformer_keeps_pooling_normalisation_and_prompts(
    tiny_bert: Path, tmp_path: Path
) -> None:
    plain = load_base(str(tiny_bert), "mean")
    good = SentenceTransformer(
        modules=[*plain, Normalize()], prompts={"query": "find: "}, default_prompt_name="query"
    )
    good.save_pretrained(str(tmp_path / "good"))
    model = load_base(resolve_base(str(tmp_path / "good")))
    add_training_head(model)
    final = without_training_parts(model)
    final.save_pretrained(str(tmp_path / "final"))
    opened = SentenceTransformer(str(tmp_path / "final"))
    assert opened.prompts["query"] == "find: "
    assert opened.default_prompt_name == "query"
    assert [type(m).__name__ for m in opened] == ["Transformer", "Pooling", "Normalize"]
    np.testing.assert_allclose(opened.encode(TEXTS), good.encode(TEXTS), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(opened.encode(TEXTS), axis=1), 1, atol=1e-5)
    with pytest.raises(UserError, match="mean pooling, which is kept"):
        load_base(str(tmp_path / "good"), "cls")


def test_the_final_model_has_no_head_and_opens_without_this_package(
    tiny_bert: Path, tmp_path: Path
) -> None:
    model = load_base(str(tiny_bert), "cls")
    limit = model.max_seq_length
    add_training_head(model)
    add_masked_lm_head(model, str(tiny_bert))
    final = without_training_parts(model)
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


def test_a_base_that_cannot_be_found_names_what_can_be_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--base minibert"):
        resolve_base("nobody/nothing")
    with pytest.raises(UserError, match=r"without config\.json"):
        resolve_base(str(tmp_path))
    (tmp_path / "file").write_text("x")
    with pytest.raises(UserError, match="is a file"):
        resolve_base(str(tmp_path / "file"))


def test_without_a_name_the_base_is_minibert_and_the_hub_is_not_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("clusterns.encoder.locate._on_hub", lambda name: True)
    assert resolve_base(None) == resolve_base("minibert") == str(minibert_folder())


def test_a_base_is_known_by_the_weights_of_its_modules_alone(
    tiny_bert: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    model = load_base(str(tiny_bert))
    SentenceTransformer(modules=[*model, Dense(32, 8)]).save_pretrained(str(folder))
    known = identity_of_base(str(folder))
    assert known.startswith("model ")
    # What others leave in its folder is not the model.
    (folder / "checkpoint-5").mkdir()
    (folder / "checkpoint-5" / "model.safetensors").write_bytes(b"other")
    assert identity_of_base(str(folder)) == known
    with next(folder.glob("*_Dense/model.safetensors")).open("ab") as weights:
        weights.write(b" ")
    assert identity_of_base(str(folder)) != known
    assert identity_of_base("owner/name") == "owner/name"
