"""The lexicon of rule-based negation: closed word classes from lexicon.yaml, and English verb forms."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple

import yaml

Kind = Literal["base", "third", "past", "participle"]

_LEXICON = yaml.safe_load((files("clusterns.views") / "lexicon.yaml").read_text("utf-8"))


def _words(name: str) -> frozenset[str]:
    return frozenset(_LEXICON[name].split())


BE, HAVE, DO, MODALS = map(_words, ("be", "have", "do", "modals"))
AUXILIARIES = BE | HAVE | DO | MODALS
SUBJECTS, SINGULAR, PLURAL, OBJECTS = map(_words, ("subjects", "singular", "plural", "objects"))
QUANTIFIERS = _words("quantifiers")
DETERMINERS = QUANTIFIERS | _words("determiners")
PREPOSITIONS, ADVERBS, PLACES = map(_words, ("prepositions", "adverbs", "places"))
CONJUNCTIONS, QUESTION_WORDS, RELATIVE = map(_words, ("conjunctions", "question_words", "relative"))
SUBORDINATORS = QUESTION_WORDS | _words("subordinators")
OF_SAYING, MOSTLY_PARTICIPLES = map(_words, ("of_saying", "mostly_participles"))
NEGATIONS = frozenset(["not", "never"])
QUOTES = frozenset("\"'“”‘’(")
VOWELS = frozenset("aeiou")
_NO_ADVERBS, _NO_PAST = map(_words, ("no_adverbs", "no_past"))
_STRESSED_AT_THE_END = _words("stressed_at_the_end")
_SHORT = re.compile(
    # After these words, 's is a verb; after a noun, it is the genitive.
    r"(?:\w+['’](?:m|re|ve|ll|d)|(?:he|she|it|that|there|here|what|who|where|how|let)['’]s)",
    re.IGNORECASE,
)
_WITH_NOT = re.compile(
    r"(do|does|did|is|are|was|were|has|have|had|wo|ca|sha|would|could|should|might|must|need|ai)"
    r"(?:n['’]?t)|(can)not"
)
_IRREGULAR_STEMS = {"wo": "will", "ca": "can", "sha": "shall", "ai": "is"}


class Form(NamedTuple):
    """A verb form that a word can be."""

    lemma: str
    kind: Kind


@cache
def _table() -> dict[str, tuple[Form, ...]]:
    """All forms of the verbs in the lexicon."""
    table: dict[str, list[Form]] = {}
    for entry in _LEXICON["irregular"].split("/"):
        lemma, past, *rest = entry.split()
        for word, kind in ((past, "past"), (rest[0] if rest else past, "participle")):
            table.setdefault(word, []).append(Form(lemma, kind))  # type: ignore[arg-type]
        _add_present(table, lemma)
    for lemma in _LEXICON["regular"].split():
        past = _past(lemma)
        table.setdefault(past, []).extend([Form(lemma, "past"), Form(lemma, "participle")])
        _add_present(table, lemma)
    return {word: tuple(dict.fromkeys(forms)) for word, forms in table.items()}


def _add_present(table: dict[str, list[Form]], lemma: str) -> None:
    third = {"have": "has"}.get(lemma, _third(lemma))
    table.setdefault(lemma, []).append(Form(lemma, "base"))
    table.setdefault(third, []).append(Form(lemma, "third"))


def _third(lemma: str) -> str:
    if lemma.endswith(("s", "x", "z", "ch", "sh", "o")):
        return lemma + "es"
    return lemma[:-1] + "ies" if _ends_in_y(lemma) else lemma + "s"


def _past(lemma: str) -> str:
    if lemma.endswith("e"):
        return lemma + "d"
    if _ends_in_y(lemma):
        return lemma[:-1] + "ied"
    return (lemma + lemma[-1] if _doubles(lemma) else lemma) + "ed"


def _ends_in_y(lemma: str) -> bool:
    return lemma.endswith("y") and lemma[-2] not in VOWELS


def _doubles(lemma: str) -> bool:
    if lemma in _STRESSED_AT_THE_END:
        return True
    a, b, c = tuple((" " + lemma)[-3:])
    syllables = sum(x in VOWELS and y not in VOWELS for x, y in pairwise(lemma))
    return syllables == 1 and a not in VOWELS and b in VOWELS and c not in VOWELS | set("wxy")


def forms_of(word: str) -> tuple[Form, ...]:
    """The verb forms that a lower-case word can be; unknown words in -ed count as regular past forms."""
    known = _table().get(word)
    if known is not None:
        return known
    if not word.endswith("ed") or len(word) < 5 or "-" in word or word in _NO_PAST:
        return ()
    lemma = _lemma_of_past(word)
    return (Form(lemma, "past"), Form(lemma, "participle"))


_MUTE_E_AFTER = tuple(
    "c s v z u e at dg rg ng ag ut bl pl tl dl gl kl cl fl ib um ud od ad ot".split()
)
_NO_MUTE_E = ("ss", "zz", "eat", "oat", "out", "ing", "ong", "oot", "oad", "ead", "oud", "ood")


def _lemma_of_past(word: str) -> str:
    """The lemma of a regular past form, by spelling alone: planned, carried, produced, walked."""
    stem = word[:-2]
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if stem.endswith(_MUTE_E_AFTER) and not stem.endswith(_NO_MUTE_E):
        return stem + "e"
    if stem.endswith(("ar", "ir", "ur", "in", "id", "ik", "ak", "ok", "im", "am")):
        return stem if stem[-3] in VOWELS else stem + "e"
    return stem


def without_contracted_not(lower: str) -> str | None:
    """The word without its contracted "not": can for can't and cannot, do for don't. None if it has none."""
    match = _WITH_NOT.fullmatch(lower)
    if match is None:
        return None
    stem = match[1] or match[2]
    return _IRREGULAR_STEMS.get(stem, stem)


def is_short_auxiliary(text: str) -> bool:
    """Whether a word ends in a contracted auxiliary: she's, they've, I'd."""
    return _SHORT.fullmatch(text) is not None


def is_adverb(lower: str) -> bool:
    """Whether a word is an adverb; most of them end in -ly."""
    return lower in ADVERBS or (lower.endswith("ly") and lower not in _NO_ADVERBS)


def is_participle(lower: str) -> bool:
    """Whether a word can be a past participle."""
    return lower == "been" or "participle" in kinds_of(lower)


def is_gerund(lower: str) -> bool:
    """Whether a word looks like a form in -ing."""
    return lower.endswith("ing") and len(lower) > 4


def is_plural(lower: str) -> bool:
    """Whether a noun looks like a plural."""
    return lower.endswith("s") and not lower.endswith(("ss", "us", "is", "'s"))


def kinds_of(lower: str) -> frozenset[str]:
    """The verb forms that a word can be."""
    return frozenset(form.kind for form in forms_of(lower))
