"""The prose of a docstring: its sentences, without code, tables, parameter lists and markup."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from itertools import pairwise

from clusterns.data.sentences import split_sentences

# numpydoc sections that are lists rather than prose. (Google's "Args:" needs no entry: text that is
# indented below a line with a final colon is a list or code.)
_LIST_SECTION = re.compile(
    r"(?:other |keyword )?(?:parameters?|arguments?)|args|returns?|yields?|receives|raises|warns|"
    r"attributes|methods|(?:\w+ )?examples?|references?|see also|usage|authors?",
    re.IGNORECASE,
)
_NOTE = re.compile(r"(?:\.\. )?(?:note|warning|tip|important|hint)s?\s*::?\s*", re.IGNORECASE)
_MARKED_BLOCK = re.compile(r"\.\.(?: |$)|:\w[^:`]*:(?: |$)|@\w+")  # directive, field
_RULE = re.compile(r"[-=~^\"'*+#_]{3,}")
_TABLE = re.compile(r"\|.*\||>(?: .*)?|[-=+:| ]{3,}|.*\S {3,}\S.*")
_BULLET = re.compile(r"(?:[-*+•]|\(?\d{1,2}[.)]|\(?[a-z]\)|#\.)\s+")
_SIGNATURE = re.compile(r"[\w.]+\(.*\)(?:\s*->.*)?")

_HAS_MARKUP = re.compile(r"[`*\[|]|::|http|\s\s")
_MARKUP = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?::[\w:+-]+:)?`+([^`<>]+?)\s*<[^<>`]*>`+_{0,2}", r"\1"),  # `title <target>`_
        (r":[\w:+-]+:`+~[^`]*?([^`.]+)`+", r"\1"),  # :func:`~numpy.sort` shows as sort
        (r":[\w:+-]+:`+!?([^`]*)`+", r"\1"),
        (r"`+([^`]*)`+(?:_{1,2}(?!\w))?", r"\1"),
        (r"!?\[([^\[\]]*)\]\([^()\s]*\)", r"\1"),  # [title](target)
        (r"\s*\[[#*\w.-]+\]_", ""),  # footnote
        (r"\[([A-Za-z_][\w.]+)\]", r"\1"),  # [AutoModel]
        (r"\*\*([^*]+)\*\*", r"\1"),
        (r"(?<![\w*])\*([^\s*][^*]*)\*(?![\w*])", r"\1"),
        (r"\|([\w ]+)\|", r"\1"),
        (r"<?https?://[^\s>]*>?", ""),
        (r"::(?= |$)", ":"),
        (r"\s+", " "),
    )
]


def docstring_sentences(docstring: str) -> list[str]:
    """The sentences of a docstring, the summary first."""
    lines = inspect.cleandoc(docstring).splitlines()
    if lines and _SIGNATURE.fullmatch(lines[0].strip()):
        lines = lines[1:]
    return [
        sentence
        for paragraph in _paragraphs(lines)
        for sentence in split_sentences(_plain(paragraph))
        if _is_prose(sentence)
    ]


def _paragraphs(lines: list[str]) -> Iterator[str]:
    """Yield paragraphs and list items, each as one line."""
    paragraph: list[str] = []
    margin = 0
    for indent, text in _prose_lines(lines):
        bullet = _BULLET.match(text)
        if paragraph and (not text or bullet or indent != margin):
            yield " ".join(paragraph)
            paragraph = []
        if not paragraph:
            margin = indent + (bullet.end() if bullet else 0)
            text = text[bullet.end() :] if bullet else text
        if text:
            paragraph.append(text)
    if paragraph:
        yield " ".join(paragraph)


def _prose_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """Yield the indentation and text of each line; the text is empty if the line is not prose."""
    listing = fenced = doctest = False
    dropped_beyond: int | None = None  # everything indented deeper than this is code or a list
    for line, following in pairwise([*lines, ""]):
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            doctest = False
        elif dropped_beyond is not None and indent > dropped_beyond:
            text = ""
        elif text.startswith("```"):
            fenced, text = not fenced, ""
        elif _RULE.fullmatch(following.strip()):
            listing, text = bool(_LIST_SECTION.fullmatch(text)), ""
        elif listing or fenced or doctest or _RULE.fullmatch(text) or _TABLE.fullmatch(text):
            text = ""
        elif text.startswith(">>>"):
            doctest, text = True, ""
        elif note := _NOTE.match(text):
            dropped_beyond, text = None, text[note.end() :]
        elif _MARKED_BLOCK.match(text):
            dropped_beyond, text = indent, ""
        else:
            dropped_beyond = indent if text.endswith(":") else None
        yield indent, text


def _plain(paragraph: str) -> str:
    if _HAS_MARKUP.search(paragraph):
        for pattern, replacement in _MARKUP:
            paragraph = pattern.sub(replacement, paragraph)
    return paragraph


def _is_prose(sentence: str) -> bool:
    return (
        sentence.count(" ") >= 2
        and not sentence.endswith(":")  # introduces code or a list that was removed
        and " : " not in sentence  # "axis : int" of a parameter list
        and "\\" not in sentence
        and sum(map(str.isalpha, sentence)) + sentence.count(" ") >= 0.8 * len(sentence)
    )
