from __future__ import annotations

import pytest

from clusterns.errors import UserError
from clusterns.views.settings import PromptSettings
from clusterns.views.template import PUBLISHED, Template, template_pair


def test_published_names_stand_for_pairs_and_own_text_for_itself() -> None:
    anchor, positive = template_pair("roberta")
    assert anchor.text == "This sentence : ' {sentence} ' means {mask}."
    assert positive.text == "The sentence : ' {sentence} ' means {mask}."
    assert template_pair("{sentence}? {mask}") == (Template("{sentence}? {mask}"),) * 2
    assert template_pair("bert", "{mask} : {sentence}")[1].text == "{mask} : {sentence}"
    assert template_pair("{sentence} {mask}", "bert")[1].text == PUBLISHED["bert"][1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("means {mask}", "contains {sentence} 0 times, but must contain it exactly once"),
        (
            "{sentence} {sentence} {mask}",
            "contains {sentence} 2 times, but must contain it exactly once",
        ),
        ("{sentence} means [MASK]", "contains {mask} 0 times, but must contain it exactly once"),
        ("{sentence} {mask}{mask}", "contains {mask} 2 times, but must contain it exactly once"),
        ("albert", "Published templates: bert, roberta"),
    ],
)
def test_a_template_has_one_slot_and_one_mask(text: str, message: str) -> None:
    with pytest.raises(UserError, match=message.replace("{", r"\{")):
        PromptSettings(template=text)


def test_settings_without_a_template_have_none() -> None:
    assert PromptSettings().templates is None
    with pytest.raises(ValueError, match="template is empty"):
        PromptSettings(positive_template="bert")
