"""The opposite of an English sentence by rules, for methods that contrast a sentence with it.

From left to right, the first that applies (SNCSE's order): a "not" that is there goes; after an
auxiliary comes "not"; so it does after the main clause's form of be; its finite verb becomes "do
not", "does not" or "did not" with the lemma; and a text without a verb gets "Not" in front.

No parser is needed: :mod:`clusterns.views.sentence` tells the verbs by a short lexicon and by what
stands around a word. :mod:`clusterns.views.parsed_negation` asks a dependency parse instead.
"""

from __future__ import annotations

import re

from clusterns.views.sentence import Sentence
from clusterns.views.verbs import Form
from clusterns.views.word_classes import (
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
        negated = _without_not(sentence, at) or _after_auxiliary(sentence, at)
        negated = negated or _with_do(sentence, at)
        if negated is not None:
            return negated
    first = sentence.lower(0)
    return not_in_front(text, lower=first in DETERMINERS | PREPOSITIONS | SUBORDINATORS)


def _without_not(sentence: Sentence, at: int) -> str | None:
    """The text without the negation at a place, if there is one."""
    word = sentence.words[at]
    if word.lower in NEGATIONS:
        return removed(sentence.text, word.start, word.end)
    plain = without_contracted_not(word.lower)
    if plain is None:
        return None
    plain = plain.capitalize() if word.text[0].isupper() else plain
    return sentence.text[: word.start] + plain + sentence.text[word.end :]


def _after_auxiliary(sentence: Sentence, at: int) -> str | None:
    """The text with "not" behind the auxiliary or the main form of be at a place."""
    if is_short_auxiliary(sentence.words[at].text):
        place = at
    elif sentence.is_auxiliary(at) or (sentence.is_copula(at) and not sentence.is_subordinate(at)):
        place = sentence.end_of_subject(at)
    else:
        return None
    for after in range(at + 1, len(sentence.words)):
        if sentence.lower(after) in NEGATIONS:
            return _without_not(sentence, after)
        if after > place and sentence.lower(after) not in ADVERBS:
            break
    return with_not(sentence.text, sentence.words[place].end)


def _with_do(sentence: Sentence, at: int) -> str | None:
    """The text with "do not" for the main clause's finite verb, if it is at a place."""
    form = sentence.finite_form(at)
    if form is None or sentence.is_subordinate(at):
        return None
    word = sentence.words[at]
    if sentence.lower(at + 1) in NEGATIONS | {"no"}:
        after = sentence.words[at + 1]
        return removed(sentence.text, after.start, after.end)
    return with_do(sentence.text, word.start, word.end, form)


def with_not(text: str, at: int) -> str:
    """The text with "not" behind the place ``at``; a "no" that stands there goes instead."""
    no = re.match(r"\s+no(?=\s)", text[at:], re.IGNORECASE)
    return text[:at] + text[at + no.end() :] if no else f"{text[:at]} not{text[at:]}"


def with_do(text: str, start: int, end: int, form: Form) -> str:
    """The text with "do not" and the lemma for the finite verb from ``start`` to ``end``."""
    do = {"base": "do", "third": "does"}.get(form.kind, "did")
    do = do.capitalize() if text[start].isupper() and not text[:start].strip() else do
    return f"{text[:start]}{do} not {form.lemma}{text[end:]}"


def removed(text: str, start: int, end: int) -> str:
    """The text without a word; where it was the first, the next one takes its capital."""
    before, after = text[:start].rstrip(), text[end:]
    if before:
        return before + after
    after = after.lstrip()
    return after[:1].upper() + after[1:] if text[start].isupper() else after


def not_in_front(text: str, *, lower: bool) -> str:
    """ "Not" before a text, whose first letter loses its capital with ``lower``."""
    text = text.strip()
    return f"Not {text[:1].lower() if lower else text[:1]}{text[1:]}".strip()
