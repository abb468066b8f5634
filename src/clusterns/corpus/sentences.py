"""A paragraph to its sentences, by rule.

Made for English and careful elsewhere: where a full stop may belong to a word, nothing is split.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_CLOSING = r"[\"'”’»)\]]*(?:\[\d+\])*"
_END = re.compile(rf"(?P<mark>[.!?…]+){_CLOSING}\s+|[。！？]+[”’」』）]*\s*")
_PARAGRAPH = re.compile(r"\n\s*\n")
_OPENING = "\"'“‘«([¿¡"

# Never the end of a sentence: a name or an explanation follows.
_ABBREVIATION = re.compile(
    "mr|mrs|ms|dr|prof|st|mt|ft|gen|col|lt|sgt|capt|cmdr|maj|adm|rep|sen|gov|pres|rev|hon|messrs|"
    "vs|cf|viz|ca|approx|resp|incl|esp|bzw",
    re.IGNORECASE,
)
# Not the end where a number follows.
_NUMBERED = re.compile(
    "nos?|nr|figs?|eqs?|vols?|pp?|ch|sec|art|ver|op|tab|"
    "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec",
    re.IGNORECASE,
)
# "J", "U.S", "e.g", "J.R.R"; but "a.m" and "p.m" often do end a sentence.
_INITIALS = re.compile(r"(?!(?:a\.m|p\.m)$)(?:[^\W\d_]\.)*[^\W\d_]", re.IGNORECASE)
# A list number, or an ordinal as German writes it.
_ORDINAL = re.compile(r"\d{1,2}")


def split_sentences(text: str) -> list[str]:
    """Split a paragraph, or several with blank lines between them, into sentences."""
    return [
        sentence for paragraph in _PARAGRAPH.split(text) for sentence in _split_paragraph(paragraph)
    ]


def split_all(texts: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    """Split every row into sentences; an empty row stays one empty row, so that it is counted.

    Returns the sentences, and for each the row that it comes from.
    """
    split = [split_sentences(text or "") or [""] for text in texts.to_pylist()]
    rows = np.repeat(np.arange(len(split)), [len(sentences) for sentences in split])
    return pa.array([one for sentences in split for one in sentences], pa.string()), rows


def _split_paragraph(text: str) -> list[str]:
    sentences, start = [], 0
    for end in _END.finditer(text):
        if _is_boundary(text[start : end.start()], end, text[end.end() : end.end() + 8]):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_boundary(before: str, end: re.Match[str], after: str) -> bool:
    if end["mark"] is None:  # a full stop of Chinese or Japanese, which is nothing else
        return True
    following = after.lstrip(_OPENING)[:1]
    if following.islower():
        return False
    if end["mark"] != ".":
        return True
    word = before[before.rfind(" ") + 1 :].lstrip(_OPENING + "-–—")
    if _NUMBERED.fullmatch(word) and following.isdigit():
        return False
    return not any(rule.fullmatch(word) for rule in (_ABBREVIATION, _INITIALS, _ORDINAL))
