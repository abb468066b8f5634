"""Join hard-wrapped lines and split paragraphs into sentences, by rules.

The sentence rules target English and are cautious elsewhere: a period that may belong to a word does not split.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import regex

# Wrapped text has lines of similar length, within these bounds. Shorter lines are verse or a
# list; longer lines are complete sentences or paragraphs.
MIN_WIDTH, MAX_WIDTH = 40, 120
# A line break is forced if appending the next line's first word would exceed this share of the
# file's line length: people wrap early, editors do not.
FULL = 0.8
# Join the lines of a paragraph if at least this share of its breaks is forced.
MOSTLY = 0.75
SAMPLE = 2000  # lines that determine whether a file is wrapped
MAX_PARAGRAPH_LINES = 1000  # a longer paragraph is joined in pieces

_ITEM = re.compile(
    r"\s*(?:(?:[-*+•‣]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)]|#\.)\s+(?=\S)|[#>|]|\.\. |\[[^\]]+\]:)"
)
_RULE_OR_TABLE = re.compile(r"\s*([^\w\s])\1{2,}.*\1\s*|.*\S {3,}\S.*")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?!\w|-$)", re.MULTILINE)
_HYPHENATED = re.compile(r"([^\W\d_]+(?:-[^\W\d_]+)*)-$")
_FIRST_WORD = re.compile(r"[^\W\d_]+")
# Scripts without spaces between words.
UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_UNSPACED = regex.compile(rf"{UNSPACED}|[\p{{P}}&&[\u3000-\u303f\uff00-\uffef]]", regex.V1)
_SUSPENDED = {"and", "or", "und", "oder", "et", "ou"}  # "pre- and post-war"

_CLOSING = r"[\"'”’»)\]]*(?:\[\d+\])*"
_END = re.compile(rf"(?P<mark>[.!?…]+){_CLOSING}\s+|[。！？]+[”’」』）]*\s*")
_PARAGRAPH = re.compile(r"\n\s*\n")
_OPENING = "\"'“‘«([¿¡"

# Never the end of a sentence, since a name or an explanation follows.
_ABBREVIATION = re.compile(
    "mr|mrs|ms|dr|prof|st|mt|ft|gen|col|lt|sgt|capt|cmdr|maj|adm|rep|sen|gov|pres|rev|hon|messrs|"
    "vs|cf|viz|ca|approx|resp|incl|esp|bzw",
    re.IGNORECASE,
)
# Not the end of a sentence if a number follows.
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
    """Split paragraphs, separated by blank lines, into sentences."""
    return [
        sentence for paragraph in _PARAGRAPH.split(text) for sentence in _split_paragraph(paragraph)
    ]


def _split_paragraph(text: str) -> list[str]:
    sentences, start = [], 0
    for end in _END.finditer(text):
        if _is_boundary(text[start : end.start()], end, text[end.end() : end.end() + 8]):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _is_boundary(before: str, end: re.Match[str], after: str) -> bool:
    if end["mark"] is None:  # a Chinese or Japanese full stop is unambiguous
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


@dataclass(frozen=True)
class Wrapping:
    """Line length and vocabulary of a wrapped file; the words distinguish hyphens from hyphenation."""

    width: int
    words: frozenset[str]

    @classmethod
    def find(cls, lines: Sequence[str], reflowed: bool = False) -> Wrapping | None:
        """Detect wrapping in the first lines of a file; None if it does not look wrapped.

        With ``reflowed``, line breaks within a paragraph are meaningless, whatever the line length.
        """
        words = frozenset(_WORD.findall("\n".join(line.rstrip() for line in lines).lower()))
        if reflowed:
            return cls(0, words)
        lengths = sorted(len(line) for line, after in pairwise(lines) if _may_continue(line, after))
        width = lengths[int(0.95 * (len(lengths) - 1))] if lengths else 0
        found = cls(width, words)
        is_wrapped = MIN_WIDTH <= width <= MAX_WIDTH and any(
            len(found.join(part)) < len(part) for part in paragraphs(lines)
        )
        return found if is_wrapped else None

    def join(self, lines: Sequence[str]) -> list[tuple[int, str]]:
        """Join the lines of a paragraph where its breaks come from wrapping.

        Returns:
            each text with the index of its first line.
        """
        breaks = [_may_continue(line, after) for line, after in pairwise(lines)]
        margin = _margin(lines[0])
        for place, line in enumerate(lines[1:]):
            breaks[place] &= len(line) - len(line.lstrip()) <= margin
            margin = margin if breaks[place] else _margin(line)
        forced = [
            self._is_forced(*pair)
            for pair, wrapped in zip(pairwise(lines), breaks, strict=True)
            if wrapped
        ]
        if sum(forced) < MOSTLY * len(forced) or _is_verse(lines):
            return list(enumerate(lines))
        joined = [(0, lines[0])]
        for place, line in enumerate(lines[1:]):
            if breaks[place]:
                first, text = joined[-1]
                joined[-1] = first, self._glue(text.rstrip(), line.strip())
            else:
                joined.append((place + 1, line))
        return joined

    def _is_forced(self, line: str, after: str) -> bool:
        word = min(len(after.split(None, 1)[0]), self.width // 4)  # scripts without spaces
        return len(line.rstrip()) + 1 + word > FULL * self.width

    def _glue(self, text: str, line: str) -> str:
        if text.endswith("\u00ad"):
            return text[:-1] + line
        if _UNSPACED.match(text[-1:]) and _UNSPACED.match(line[:1]):
            return text + line
        # Only the last word is searched: a paragraph may be long.
        hyphen, word = _HYPHENATED.search(text[text.rfind(" ") + 1 :]), _FIRST_WORD.match(line)
        if hyphen is None or word is None or not line[0].islower() or word[0] in _SUSPENDED:
            return f"{text} {line}"
        left, right = hyphen[1].lower(), word[0].lower()
        if left + right not in self.words and (
            "-" in left or f"{left}-{right}" in self.words or {left, right} <= self.words
        ):
            return text + line
        return text[:-1] + line


def unwrap(lines: Iterable[str], wrapping: Wrapping) -> Iterator[tuple[int, str]]:
    """Join the lines of each paragraph of a wrapped file; keep blank lines.

    Yields:
        each text with the index of its first line.
    """
    start = 0
    for paragraph in paragraphs(lines):
        for place, text in wrapping.join(paragraph):
            yield start + place, text
        start += len(paragraph)


def paragraphs(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield the lines of each paragraph and of each gap between paragraphs."""
    paragraph: list[str] = []
    for line in lines:
        is_blank = not line.strip()
        if paragraph and (
            is_blank != (not paragraph[0].strip()) or len(paragraph) == MAX_PARAGRAPH_LINES
        ):
            yield paragraph
            paragraph = []
        paragraph.append(line)
    if paragraph:
        yield paragraph


def _may_continue(line: str, after: str) -> bool:
    return bool(
        line.strip()
        and after.strip()
        and not _ITEM.match(after)
        and not _RULE_OR_TABLE.fullmatch(line)
        and not _RULE_OR_TABLE.fullmatch(after)
        and not line.lstrip().startswith("#")
    )


def _margin(line: str) -> int:
    """The column where the text of a line starts, after any list marker."""
    item = _ITEM.match(line)
    return item.end() if item else len(line) - len(line.lstrip())


def _is_verse(lines: Sequence[str]) -> bool:
    """Whether all lines of at least three start with a capital: a poem or a list of names."""
    return (
        len(lines) > 2
        and all(line.lstrip()[:1].isupper() for line in lines)
        and not "".join(lines).isupper()
    )
