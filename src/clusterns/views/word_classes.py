"""The closed classes of English words, as far as a negation needs them."""

from __future__ import annotations

import re

from clusterns.views.verbs import forms_of

BE = frozenset("am is are was were".split())
HAVE = frozenset("have has had".split())
DO = frozenset("do does did".split())
MODALS = frozenset("can could may might must shall should will would ought".split())
AUXILIARIES = BE | HAVE | DO | MODALS
SUBJECTS = frozenset("i you he she it we they there this that these those".split())
SINGULAR = frozenset("he she it this that who which everyone someone one".split())
PLURAL = frozenset("i you we they people men women children police who these those".split())
OBJECTS = frozenset("me him her us them it himself herself itself themselves".split())
QUANTIFIERS = frozenset("all both some many most few several these those this".split())
DETERMINERS = QUANTIFIERS | frozenset(
    "a an the my your his her its our their any no each every more two three four five six seven "
    "eight nine ten another such".split()
)
PREPOSITIONS = frozenset(
    "of in on at by for with from to into onto about as than over under after before between "
    "through during against among without within across behind beside near like per via off".split()
)
ADVERBS = frozenset(
    "also often always just still then now soon later first even already usually sometimes ever "
    "once again almost never not so too only quite rather well".split()
)
PLACES = frozenset("here there home away back up down out".split())
NO_ADVERBS = frozenset("family july italy fly reply apply supply rely multiply ally".split())
CONJUNCTIONS = frozenset("and but or , ; :".split())
QUESTION_WORDS = frozenset("who what which when where why how whose whom".split())
RELATIVE = frozenset("who which that".split())
SUBORDINATORS = QUESTION_WORDS | frozenset(
    "if whenever while because although though since until unless after before as whether that "
    "whatever whoever".split()
)
NEGATIONS = frozenset(["not", "never"])
QUOTES = frozenset("\"'“”‘’(")

# Verbs that take a clause: a second finite verb does not make a participle of them.
OF_SAYING = frozenset(
    "say think know believe claim report announce find show hope feel state suggest argue".split()
)
# Pasts that are nearly always participles where no object follows.
MOSTLY_PARTICIPLES = frozenset(
    "dressed named called entitled titled located based known born".split()
)

_SHORT = re.compile(
    # Behind these words 's is a verb; behind a noun it is the genitive.
    r"(?:\w+['’](?:m|re|ve|ll|d)|(?:he|she|it|that|there|here|what|who|where|how|let)['’]s)",
    re.IGNORECASE,
)
_WITH_NOT = re.compile(
    r"(do|does|did|is|are|was|were|has|have|had|wo|ca|sha|would|could|should|might|must|need|ai)"
    r"(?:n['’]?t)|(can)not"
)
_IRREGULAR_STEMS = {"wo": "will", "ca": "can", "sha": "shall", "ai": "is"}


def without_contracted_not(lower: str) -> str | None:
    """can for can't and cannot, do for don't; None for a word without a contracted "not"."""
    match = _WITH_NOT.fullmatch(lower)
    if match is None:
        return None
    stem = match[1] or match[2]
    return _IRREGULAR_STEMS.get(stem, stem)


def is_short_auxiliary(text: str) -> bool:
    """Whether a word ends in a short auxiliary: she's, they've, I'd."""
    return _SHORT.fullmatch(text) is not None


def is_adverb(lower: str) -> bool:
    """Whether a word is an adverb; most of them end in -ly."""
    return lower in ADVERBS or (lower.endswith("ly") and lower not in NO_ADVERBS)


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
    """The kinds of verb forms that a word can be."""
    return frozenset(form.kind for form in forms_of(lower))
