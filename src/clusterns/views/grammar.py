"""Rule-based English grammar: find the verbs of a sentence from the surrounding words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from clusterns.views.lexicon import (
    AUXILIARIES,
    BE,
    CONJUNCTIONS,
    DETERMINERS,
    DO,
    HAVE,
    MODALS,
    MOSTLY_PARTICIPLES,
    OBJECTS,
    OF_SAYING,
    PLACES,
    PLURAL,
    PREPOSITIONS,
    QUANTIFIERS,
    QUESTION_WORDS,
    QUOTES,
    RELATIVE,
    SINGULAR,
    SUBJECTS,
    SUBORDINATORS,
    Form,
    forms_of,
    is_adverb,
    is_gerund,
    is_participle,
    is_plural,
    is_short_auxiliary,
    kinds_of,
)  # fmt: skip

_WORD = re.compile(r"\w+(?:['’-]\w+)*|[^\w\s]")


@dataclass(frozen=True)
class Word:
    """A word or a punctuation mark, and its start in the text."""

    text: str
    start: int

    @property
    def end(self) -> int:
        """The position after the word."""
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        """The word as spelled in the lexicon."""
        return self.text.lower().replace("’", "'")


class Sentence:
    """The words of a sentence, with rules about its verbs.

    Methods take the index of a word. An index out of range means an empty word.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = [Word(match.group(), match.start()) for match in _WORD.finditer(text)]
        self.is_question = text.rstrip().rstrip("\"'”’) ").endswith("?")

    def lower(self, at: int) -> str:
        """The word in lower case."""
        return self.words[at].lower if 0 <= at < len(self.words) else ""

    def next(self, at: int) -> int:
        """The next word that is not an adverb."""
        at += 1
        while is_adverb(self.lower(at)):
            at += 1
        return at

    def previous(self, at: int) -> int:
        """The previous word that is neither an adverb nor a quotation mark."""
        at -= 1
        while at >= 0 and (is_adverb(self.lower(at)) or self.lower(at) in QUOTES):
            at -= 1
        return at

    def is_auxiliary(self, at: int) -> bool:
        """Whether the word is an auxiliary: modals always are; be, have and do are if another verb follows."""
        word = self.lower(at)
        if word not in AUXILIARIES or self._is_noun(at) or self.lower(at - 1) == "to":
            return False
        if word in MODALS or (word in DO and self.is_inverted(at)):
            return True
        if self.is_inverted(at):
            return self._served_verb(at) is not None
        following = self.lower(self.next(at))
        if word in DO:
            return not following.isalpha() or "base" in kinds_of(following)
        return is_participle(following) or (word in BE and is_gerund(following))

    def is_copula(self, at: int) -> bool:
        """Whether the word is a form of be."""
        return self.lower(at) in BE

    def is_inverted(self, at: int) -> bool:
        """Whether the subject follows the verb, as in questions."""
        before, after = self.lower(at - 1), self.lower(at + 1)
        if after in SUBJECTS - {"that", "there"}:
            opens = at == 0 or not before.isalpha() or before in QUESTION_WORDS | CONJUNCTIONS
            return opens or (self.is_question and self._asks(at))
        if not self.is_question or not after or not after[0].isalnum():
            return False
        # In "Which team has won", the subject comes first.
        return at == 0 or (self._asks(at) and not self._goes_with(self.lower(at), self.next(at)))

    def _asks(self, at: int) -> bool:
        """Whether the clause of this verb starts with a question word."""
        start = max((i for i in range(at) if self.lower(i) == ","), default=-1) + 1
        return bool({self.lower(start), self.lower(start + 1)} & QUESTION_WORDS)

    def end_of_subject(self, at: int) -> int:
        """The word after which to insert "not": the verb, or in a question its subject."""
        if not self.is_inverted(at):
            return at
        if self.lower(at + 1) in SUBJECTS - {"this", "these", "those"}:
            return at + 1
        verb = self._served_verb(at)
        if verb is not None:
            return verb - 1
        if self.lower(at) not in BE or (at > 0 and self.lower(at - 1) != "why"):
            return at
        begin = at + 2 if self.lower(at + 1) in DETERMINERS else at + 1
        for place in range(begin + 1, len(self.words)):
            if self.lower(place) in DETERMINERS | PREPOSITIONS - {"of"}:
                return place - 1
            if not self.lower(place)[0].isalnum():
                # The end of the subject is unknown: take the last word as the predicate.
                return place - 2 if place - 2 >= begin else at
        return at

    def _served_verb(self, at: int) -> int | None:
        """The full verb of an auxiliary that precedes its subject, if there is one."""
        is_noun_phrase = self.lower(at + 1) in DETERMINERS
        stops = CONJUNCTIONS | SUBORDINATORS - PREPOSITIONS
        if self.lower(at) in BE and self.lower(at - 1) in {"who", "what", "which"}:
            # "What is the name of a chemical used": the rest of the phrase has its own verbs.
            stops |= PREPOSITIONS
        for place in range(at + 2 + is_noun_phrase, len(self.words)):
            word = self.lower(place)
            if word in stops:
                return None
            if word not in PREPOSITIONS and self._goes_with(self.lower(at), place):
                return place
        return None

    def _goes_with(self, auxiliary: str, at: int) -> bool:
        """Whether the word can be the full verb of ``auxiliary``."""
        word = self.lower(at)
        if self.lower(at - 1) in DETERMINERS | PREPOSITIONS:
            return False
        if auxiliary in DO | MODALS:
            return word in {"be", "have"} or "base" in kinds_of(word)
        return is_participle(word) or (auxiliary in BE and is_gerund(word))

    def _is_noun(self, at: int) -> bool:
        """Whether a word that looks like a modal is a noun: May, Will, a can, the might."""
        word, before = self.words[at], self.lower(at - 1)
        if word.lower not in MODALS:
            return False
        if before in DETERMINERS - QUANTIFIERS:
            return True
        if not word.text[0].isupper() or word.text.isupper():
            return False
        opens = at == 0 and (self.is_question or self.lower(1) in SUBJECTS | DETERMINERS)
        return word.lower in {"may", "will"} and not opens

    def finite_form(self, at: int) -> Form | None:
        """The finite form of a full verb, or None if the word is not one."""
        word, kinds = self.words[at], {form.kind: form for form in forms_of(self.lower(at))}
        if at == 0:
            kinds |= {"base": Form("be", "base")} if word.lower == "be" else {}
            return kinds.get("base") if self._is_imperative() else None
        if not kinds or word.text[0].isupper():
            return None
        subject = self.previous(at)
        before = self.lower(subject)
        cannot_be_subjects = (
            (DETERMINERS - SUBJECTS - QUANTIFIERS)
            | PREPOSITIONS
            | AUXILIARIES
            | {"and", "or", "be"}
        )
        if subject < 0 or before in cannot_be_subjects:
            return None
        is_known = before in SINGULAR | PLURAL or word.lower in HAVE | DO
        if "third" in kinds and before not in PLURAL - SINGULAR:
            return kinds["third"] if is_known or not self._is_plural_noun(at) else None
        if "base" in kinds and self._is_plural_subject(subject):
            return kinds["base"]
        if "past" in kinds and not self._is_reduced_clause(at):
            return kinds["past"]
        return None

    def _is_imperative(self) -> bool:
        """Whether a sentence that starts with a verb is a command."""
        after = self.lower(1)
        if self.is_question or after in {"and", "or"} | AUXILIARIES:
            return False
        if after in DETERMINERS | PREPOSITIONS | OBJECTS | PLACES or is_adverb(after):
            return True
        if not after.isalpha():
            return True
        is_compound = is_plural(after) or bool(kinds_of(after))
        return not is_compound and not any(word.lower in AUXILIARIES for word in self.words)

    def _is_plural_noun(self, at: int) -> bool:
        """Whether a word in -s after a noun is a noun too, judging by the next word."""
        after = self.lower(self.next(at))
        if after in AUXILIARIES | {"and", "or", ","} or kinds_of(after) & {"base", "past"}:
            return True
        return not after.isalpha() and self.lower(at - 2) in PREPOSITIONS

    def _is_plural_subject(self, subject: int) -> bool:
        word = self.lower(subject)
        joined = any(self.lower(i) == "and" for i in range(subject - 3, subject))
        return word in PLURAL or is_plural(word) or (joined and word not in SINGULAR)

    def _is_reduced_clause(self, at: int) -> bool:
        """Whether a past form is a participle: its clause has a later finite verb."""
        word, after = self.lower(at), self.lower(at + 1)
        certain = self.lower(self.previous(at)) in SUBJECTS | {"who"}
        has_object = after in DETERMINERS | OBJECTS or self._is_name(at + 1)
        if certain or has_object or not is_participle(word):
            return False
        if word in MOSTLY_PARTICIPLES:
            return True
        if any(form.lemma in OF_SAYING for form in forms_of(word)):
            return False
        is_apposition = self.lower(at - 1) in {",", "("}
        ends = frozenset() if is_apposition else SUBORDINATORS | CONJUNCTIONS - {","}
        for later in range(at + 1, len(self.words)):
            if self.lower(later) in ends:
                return False
            if self.lower(later) in AUXILIARIES and not self._is_noun(later):
                return True
            before = self.lower(later - 1)
            is_object = later == at + 1 or before in DETERMINERS | PREPOSITIONS | {"be"}
            is_object = is_object or (before in CONJUNCTIONS and not is_apposition)
            is_third = "third" in kinds_of(self.lower(later)) and not self._is_plural_noun(later)
            if not is_object and (is_third or "past" in kinds_of(self.lower(later))):
                return True
        return False

    def is_subordinate(self, at: int) -> bool:
        """Whether the clause of this verb depends on a clause that comes later."""
        for before in range(at - 1, -1, -1):
            word = self.lower(before)
            if word in CONJUNCTIONS - {"or", "and"}:
                return False
            if word in {"what", "whatever", "whoever"} and before == 0:
                return not self.is_question and self._finite_verb_follows(at)
            if word in RELATIVE and before > 0:
                # The first verb after "who" belongs to its clause, the next one to the main clause.
                earlier = any(self._is_finite(i) for i in range(before + 1, at))
                return not earlier and self._finite_verb_follows(at)
            if word in SUBORDINATORS - RELATIVE and (before == 0 or self.lower(before - 1) == ","):
                commas = [i for i in range(at, len(self.words)) if self.lower(i) == ","]
                return (
                    not self.is_question and bool(commas) and self._finite_verb_follows(commas[0])
                )
        return False

    def _is_name(self, at: int) -> bool:
        return at < len(self.words) and self.words[at].text[0].isupper()

    def _finite_verb_follows(self, at: int) -> bool:
        return any(self._is_finite(later) for later in range(at + 1, len(self.words)))

    def _is_finite(self, at: int) -> bool:
        word = self.words[at]
        is_auxiliary = word.lower in AUXILIARIES or is_short_auxiliary(word.text)
        return is_auxiliary or self.finite_form(at) is not None
