"""Rule-based negation of English sentences, for methods that contrast a sentence with its negation.

From left to right, the first rule that applies wins (SNCSE's order): an existing "not" is removed;
an auxiliary gets "not"; so does the main clause's form of be; its finite verb becomes "do not",
"does not" or "did not" with the lemma; and a text without a verb is prefixed with "Not".
"""

from __future__ import annotations

import re

from clusterns.views.grammar import Sentence, Word
from clusterns.views.lexicon import (
    ADVERBS,
    DETERMINERS,
    NEGATIONS,
    PREPOSITIONS,
    SUBORDINATORS,
    is_short_auxiliary,
    without_contracted_not,
)


def negate(text: str) -> str:
    """The negation of ``text``; a negated sentence loses its "not"."""
    sentence = Sentence(text)
    for at in range(len(sentence.words)):
        for rule in (_remove_not, _negate_auxiliary, _negate_verb):
            if (negated := rule(sentence, at)) is not None:
                return negated
    text = text.strip()
    if sentence.lower(0) in DETERMINERS | PREPOSITIONS | SUBORDINATORS:
        text = text[:1].lower() + text[1:]
    return f"Not {text}".strip()


def _remove_not(sentence: Sentence, at: int) -> str | None:
    """The text without the negation at ``at``, if there is one."""
    word = sentence.words[at]
    if word.lower in NEGATIONS:
        return _without(sentence.text, word)
    plain = without_contracted_not(word.lower)
    if plain is None:
        return None
    plain = plain.capitalize() if word.text[0].isupper() else plain
    return sentence.text[: word.start] + plain + sentence.text[word.end :]


def _negate_auxiliary(sentence: Sentence, at: int) -> str | None:
    """The text with "not" after the auxiliary or the main form of be at ``at``, if there is one."""
    if is_short_auxiliary(sentence.words[at].text):
        place = at
    elif sentence.is_auxiliary(at) or (sentence.is_copula(at) and not sentence.is_subordinate(at)):
        place = sentence.end_of_subject(at)
    else:
        return None
    for after in range(at + 1, len(sentence.words)):
        if sentence.lower(after) in NEGATIONS:
            return _remove_not(sentence, after)
        if after > place and sentence.lower(after) not in ADVERBS:
            break
    text, end = sentence.text, sentence.words[place].end
    no = re.match(r"\s+no(?=\s)", text[end:], re.IGNORECASE)  # "no" is removed instead
    return text[:end] + text[end + no.end() :] if no else f"{text[:end]} not{text[end:]}"


def _negate_verb(sentence: Sentence, at: int) -> str | None:
    """The text with "do not" before the main clause's finite verb, if that is at ``at``."""
    form = sentence.finite_form(at)
    if form is None or sentence.is_subordinate(at):
        return None
    text, word = sentence.text, sentence.words[at]
    if sentence.lower(at + 1) in NEGATIONS | {"no"}:
        return _without(text, sentence.words[at + 1])
    do = {"base": "do", "third": "does"}.get(form.kind, "did")
    do = do.capitalize() if word.text[0].isupper() and not text[: word.start].strip() else do
    return f"{text[: word.start]}{do} not {form.lemma}{text[word.end :]}"


def _without(text: str, word: Word) -> str:
    """The text without a word; if it was the first, capitalize the next word instead."""
    before, after = text[: word.start].rstrip(), text[word.end :]
    if before:
        return before + after
    after = after.lstrip()
    return after[:1].upper() + after[1:] if word.text[0].isupper() else after
