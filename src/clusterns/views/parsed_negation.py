"""The opposite of an English sentence by a dependency parse, where a spaCy model is at hand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from clusterns.errors import UserError
from clusterns.views.negation import not_in_front, removed, with_do, with_not
from clusterns.views.verbs import Form, Kind
from clusterns.views.word_classes import NEGATIONS as WORDS
from clusterns.views.word_classes import without_contracted_not

NEGATIONS = WORDS | {"n't", "nt"}
KINDS: dict[str, Kind] = {"VB": "base", "VBP": "base", "VBZ": "third", "VBD": "past"}


class ParsedNegation:
    """Negates sentences by the rules of :func:`clusterns.views.negation.negate`, told by a parse.

    A few hundred sentences a second: to be computed once and kept
    (:mod:`clusterns.views.kept_negations`), not while a batch is collated.

    Args:
        model: a folder that holds a spaCy model of English, or the name of an installed one.
    """

    def __init__(self, model: str) -> None:
        try:
            import spacy
        except ImportError:
            raise UserError(
                "negation by a parse needs spaCy: pip install 'clusterns[parse]', or leave "
                "the model's name out, which takes rules instead."
            ) from None
        try:
            self.parse = spacy.load(model, exclude=["ner", "senter"])
        except (OSError, ValueError) as error:
            raise UserError(
                f"cannot load the spaCy model {model!r}: {str(error).splitlines()[0]}"
            ) from error
        if "parser" not in self.parse.pipe_names:
            raise UserError(f"the spaCy model {model!r} has no dependency parser.")

    def __call__(self, text: str) -> str:
        """The negation of one sentence."""
        return negated(self.parse(_straight(text)), text)

    def many(self, texts: Iterable[str], batch_size: int = 256) -> Iterator[str]:
        """The negations of many sentences, in their order."""
        pairs = self.parse.pipe(
            ((_straight(text), text) for text in texts), as_tuples=True, batch_size=batch_size
        )
        return (negated(parsed, text) for parsed, text in pairs)


def _straight(text: str) -> str:
    """The text with straight apostrophes, which models read better; as long as it was."""
    return text.replace("’", "'")


def negated(parsed: Any, text: str) -> str:
    """The negation of ``text``, given its parse (a spaCy ``Doc``)."""
    for token in parsed:
        if token.dep_ == "neg" and token.lower_ in NEGATIONS:
            return _without(text, token)
        is_auxiliary = token.dep_ in {"aux", "auxpass"} and token.tag_ not in {"TO", "VBG", "VB"}
        is_infinitive = any(child.tag_ == "TO" for child in token.children)
        is_root = token.dep_ == "ROOT" and token.tag_ in {*KINDS, "MD"} and not is_infinitive
        if not is_auxiliary and not is_root:
            continue
        verb = token.head if is_auxiliary else token
        negation = next((child for child in verb.children if child.dep_ == "neg"), None)
        if negation is not None:
            return _without(text, negation)
        if is_auxiliary or token.tag_ == "MD" or (token.lemma_ == "be" and token.tag_ != "VB"):
            return with_not(text, _place_of_not(token, verb))
        end = token.idx + len(token)
        if text[end : end + 2].lower() in {"'s", "’s"}:  # let's
            return with_not(text, end + 2)
        after = parsed[token.i + 1] if token.i + 1 < len(parsed) else token
        if after.lower_ == "no":
            return removed(text, after.idx, after.idx + len(after))
        return with_do(text, token.idx, end, Form(token.lemma_, KINDS[token.tag_]))
    is_name = text.isupper() or (len(parsed) > 0 and parsed[0].tag_ in {"NNP", "NNPS"})
    return not_in_front(text, lower=not is_name and text[:2] != "I ")


def _without(text: str, negation: Any) -> str:
    """The text without a "not", "never" or "n't"."""
    start, end = negation.idx, negation.idx + len(negation)
    if start == 0 or text[start - 1].isspace():
        return removed(text, start, end)
    # Written together with the verb: don't, can't, won't, cannot.
    verb = negation.nbor(-1)
    plain = without_contracted_not(f"{verb.lower_}n't") or verb.text
    plain = plain.capitalize() if verb.text[0].isupper() else plain
    return text[: verb.idx] + plain + text[end:]


def _place_of_not(token: Any, verb: Any) -> int:
    """The end of the auxiliary, or in a question that of the subject behind it."""
    end: int = token.idx + len(token)
    subject = next(
        (c for c in verb.children if c.dep_ in {"nsubj", "nsubjpass"} and c.i > token.i), None
    )
    asks_what = token.i > 0 and token.nbor(-1).tag_ in {"WP", "WDT"}
    if subject is None or (token is verb and asks_what and subject.pos_ != "PRON"):
        return end
    for last in (subject.right_edge, subject):
        # A parse of "Is the man playing?" may hold all the rest for the subject.
        if last.i + 1 < len(token.doc) and not last.nbor(1).is_punct:
            return int(last.idx + len(last))
    return end
