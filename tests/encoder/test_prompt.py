from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from clusterns.encoder.load import load_base
from clusterns.encoder.prompt import prompt_encoder
from clusterns.errors import UserError
from clusterns.views.template import PUBLISHED
from tests.helpers.models import open_plain

TEXTS = [
    "a cat sat on the mat",
    "dogs?",
    "the river runs through the old town to the sea, and on it goes.",
    "they typed [MASK] and [SEP] and [PAD] there",
    "one",
]


def hand_written(base: Path, template: str, text: str) -> torch.Tensor:
    """The mask state of the template's text, by the Transformers library alone, in double."""
    tokenizer, encoder = AutoTokenizer.from_pretrained(base), AutoModel.from_pretrained(base)
    if text[-1] not in ".?\"'":
        text += "."
    written = template.replace("{sentence}", text).replace("{mask}", tokenizer.mask_token)
    inputs = tokenizer(written, return_tensors="pt")
    inputs.pop("token_type_ids", None)
    with torch.no_grad():
        states = encoder.double().eval()(**inputs).last_hidden_state[0]
    (place,) = (inputs["input_ids"][0] == tokenizer.mask_token_id).nonzero()
    return states[place[0]]


TEMPLATES = [
    PUBLISHED["bert"][0],
    PUBLISHED["roberta"][0],
    "{mask} is meant by {sentence}",
    "{sentence} {mask}",
]


@pytest.mark.parametrize("template", TEMPLATES)
def test_the_vector_is_the_mask_state_of_the_hand_written_text(
    tiny_base: Path, template: str
) -> None:
    model = prompt_encoder(str(tiny_base), template).double()
    for text in (TEXTS[0], TEXTS[1], TEXTS[2]):
        expected = hand_written(tiny_base, template, text)
        ours = model.encode(text, convert_to_tensor=True)
        torch.testing.assert_close(ours, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("template", TEMPLATES)
def test_queries_documents_and_batches_of_mixed_length_give_the_same_vectors(
    tiny_bert: Path, template: str
) -> None:
    model = prompt_encoder(str(tiny_bert), template)
    one_by_one = np.stack([model.encode(text) for text in TEXTS])
    for encode in (model.encode, model.encode_query, model.encode_document):
        np.testing.assert_allclose(encode(TEXTS, batch_size=5), one_by_one, atol=1e-5)


def test_a_long_sentence_is_cut_before_the_template(tiny_bert: Path) -> None:
    model = prompt_encoder(str(tiny_bert), "bert")
    limit = AutoTokenizer.from_pretrained(tiny_bert).model_max_length
    assert model.max_seq_length == limit
    room = limit - model.tokenizer.num_special_tokens_to_add()
    np.testing.assert_allclose(model.encode("town " * 200), model.encode("town " * room), atol=1e-5)
    assert not np.allclose(model.encode("town " * 200), model.encode("town " * (room - 2)))
    model.max_seq_length = limit - 10
    assert model.preprocess(["town " * 200])["input_ids"].shape == (1, limit - 10)


def test_saving_and_opening_again_keeps_tokens_and_limit(tiny_base: Path, tmp_path: Path) -> None:
    model = prompt_encoder(str(tiny_base), "roberta")
    model.save_pretrained(str(tmp_path))
    opened = open_plain(tmp_path)
    assert opened.max_seq_length == model.max_seq_length
    for text in (*TEXTS, "", "x " * 100):
        ours, theirs = (each.preprocess([text]) for each in (model, opened))
        assert ours["input_ids"].tolist() == theirs["input_ids"].tolist()
    for encode in (opened.encode, opened.encode_query, opened.encode_document):
        np.testing.assert_allclose(encode(TEXTS), model.encode(TEXTS), atol=1e-6)


def test_bases_that_cannot_take_a_template_are_refused(tiny_bert: Path, tmp_path: Path) -> None:
    load_base(str(tiny_bert)).save_pretrained(str(tmp_path))
    with pytest.raises(UserError, match="needs a plain encoder"):
        prompt_encoder(str(tmp_path), "bert")
    with pytest.raises(UserError, match="no room for a sentence"):
        prompt_encoder(str(tiny_bert), "very " * 70 + "long {sentence} {mask}")
