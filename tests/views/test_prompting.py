from __future__ import annotations

import json

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, RobertaTokenizer

from clusterns.encoder.locate import minibert_folder
from clusterns.errors import UserError
from clusterns.views.prompting import TemplatedViews, TemplateTokens, templated_tokenizer
from clusterns.views.template import template_pair

TEXTS = ["A man, eating.", "is it so?", "he said 'no'", '"quoted"', "déjà vu 42", "two\nlines"]


@pytest.fixture(scope="module")
def bert() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(minibert_folder())


def byte_level() -> PreTrainedTokenizerFast:
    """RoBERTa's kind of tokenizer: blanks belong to the word that follows them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=specials,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*TEXTS, "This sentence means The sentence means"] * 3, trainer)
    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    return RobertaTokenizer(tokenizer.get_vocab(), [tuple(m) for m in merges], model_max_length=64)


def unigram() -> PreTrainedTokenizerFast:
    """XLM-RoBERTa's kind: the special tokens are pieces of the vocabulary itself."""
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("<mask>", 0.0)]
    pieces += [(c, -4.0) for c in "▁abcdefghijklmnopqrstuvwxyzTA<>/:'.,?!"]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", pad_token="<pad>", eos_token="</s>",
        unk_token="<unk>", mask_token="<mask>", cls_token="<s>", sep_token="</s>",
    )  # fmt: skip


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("name", ["bert", "roberta"])
def test_the_tokens_are_those_of_the_hand_written_text(
    bert: PreTrainedTokenizerFast, name: str, side: int
) -> None:
    tokenizer = bert if name == "bert" else byte_level()
    template = template_pair(name)[side]
    templated = templated_tokenizer(tokenizer, template, full_stop=False)
    for text in TEXTS:
        written = template.text.format(sentence=text, mask=tokenizer.mask_token)
        assert templated(text)["input_ids"] == tokenizer(written)["input_ids"]


@pytest.mark.parametrize("end", ["a", "!", ",", ")", ".", "?", '"', "'", "? ", "b\n"])
def test_the_full_stop_is_appended_by_the_rule(bert: PreTrainedTokenizerFast, end: str) -> None:
    template, _ = template_pair("bert")
    text = f"one two{end}"
    stripped = text.strip()
    expected = stripped if stripped[-1] in ".?\"'" else stripped + "."
    plain, rule = (templated_tokenizer(bert, template, full_stop=on) for on in (False, True))
    assert rule(text)["input_ids"] == plain(expected)["input_ids"]
    assert rule("")["input_ids"] == plain("")["input_ids"]


@pytest.mark.parametrize("make", [lambda: None, byte_level, unigram])
def test_typed_special_tokens_stay_text(bert: PreTrainedTokenizerFast, make: object) -> None:
    tokenizer = make() or bert  # type: ignore[operator]
    template, _ = template_pair("a [SEP] </s> : {sentence} means {mask}.")
    templated = templated_tokenizer(tokenizer, template, full_stop=True)
    bare = templated("")["input_ids"]
    for token in tokenizer.all_special_tokens:
        encoded = templated(f"a {token} b{token}", return_special_tokens_mask=True)
        sentence = [
            i for i, special in zip(*map(encoded.get, ("input_ids", "special_tokens_mask")),
                                    strict=True) if not special
        ]  # fmt: skip
        assert len(sentence) > 4
        assert not set(sentence) & set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
        assert len(encoded["input_ids"]) == len(sentence) + len(bare)
    assert bare.count(tokenizer.mask_token_id) == 1
    assert bare.count(tokenizer.sep_token_id) == tokenizer("")["input_ids"].count(
        tokenizer.sep_token_id
    )


def test_truncation_cuts_the_sentence_and_never_the_template(
    bert: PreTrainedTokenizerFast,
) -> None:
    template, _ = template_pair("bert")
    tokens = TemplateTokens.of(template, bert)
    templated = templated_tokenizer(bert, template, full_stop=True)
    ids = templated("word " * 300, truncation=True)["input_ids"]
    assert len(ids) == bert.model_max_length
    assert tuple(ids[: tokens.slot] + ids[tokens.slot - len(tokens) :]) == tokens.ids
    assert ids[tokens.slot : tokens.slot - len(tokens)] == [bert.convert_tokens_to_ids("word")] * (
        bert.model_max_length - len(tokens)
    )
    short = TemplatedViews(bert, [template], limit=12)(["one " * 30], template.text, 5)
    assert short["input_ids"].shape == (1, 12)


def test_a_tokenizer_without_a_mask_is_refused(bert: PreTrainedTokenizerFast) -> None:
    plain = PreTrainedTokenizerFast(tokenizer_object=bert.backend_tokenizer)
    with pytest.raises(UserError, match="mask token"):
        templated_tokenizer(plain, template_pair("bert")[0], full_stop=True)
