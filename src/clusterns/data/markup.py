"""Convert Markdown, reStructuredText and HTML to plain text with the same line numbers.

Lines without prose become empty. Headings get number signs in Markdown and HTML, and keep their form in
reStructuredText; list items keep their markers. A file is read at once, since markup can span many lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from clusterns.data.kinds import HTML

if TYPE_CHECKING:
    from markdown_it.token import Token

# Increment when the same file would give different lines.
RULES = 2
# Marker of a heading or list item, as a pattern that Arrow supports as well.
MARK = r"^\s*(?:#{1,6}|[-*+•]|\d{1,3}[.)]|#\.)\s+"

_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=[ \t]*(?:#|\[|[\w.\"'-]+[ \t]*[:=]))(?:.*\n)*?(?:\1|\.{3})[ \t]*(?:\n|\Z)"
)
# Markdown extensions of site generators and wikis. The named groups are kept, including code.
_DROPPED = r"\{(?:\{[^{}]*\}|[#.:%][^{}]*)\}|!\[\[[^\[\]]*\]\]|\[\^[^\]\s]+\](?::[ ]*)?"
_ADDED = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)|^([ \t]*)(```|~~~).*?^\3\4)"
    r"|\{%-?\s*(?P<block>highlight|comment|raw)\b.*?\{%-?\s*end(?P=block).*?%\}"
    rf"|[ \t]+(?:{_DROPPED})(?!\w)|{_DROPPED}"
    r"|\[\[(?:[^\[\]|]*\|)?(?P<page>[^\[\]|]*)\]\]"
    r"|^[ \t]*(?::{3,}|!!! \w)[^\n]*$"
    r"|^(?P<quote>[ \t]*(?:>[ \t]?)+)\[!\w+\]"
    r"|^(?P<task>[ \t]*[-*+]) \[[ x]\](?= )",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_UNRESOLVED = re.compile(
    r"(?<!\w)\[([^\[\]]+)\]\[[^\[\]]*\]"
)  # a link whose target is not in this file
_MARGIN = re.compile(r"\s*(?:(?:[-*+]|\d+[.)])\s+)*")
_INLINE_TAGS = (
    "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strong sub sup \
time tt u var wbr img".split()
)
_DROPPED_TAGS = ("script", "style", "nav", "pre", "template", "noscript", "svg", "title")

_LITERAL = re.compile(r"(``.+?``|\\[!-/:-@\[-`{-~])", re.DOTALL)
_ROLE = r"(?:(?<!\w)_)?(?::[\w:+.-]+:)?"
_RST = [
    (re.compile(pattern, re.DOTALL | re.IGNORECASE), words)
    for pattern, words in (
        (_ROLE + r"`([^`<>]*?)\s*<[^<>`]*>`(?:__?)?", r"\1"),  # `words <target>`_
        (r":[\w:+.-]+:`~[^`]*?([^`.]+)`", r"\1"),  # :func:`~numpy.sort` shows as sort
        (_ROLE + r"`!?([^`]*)`(?:__?(?!\w))?", r"\1"),
        (r"[ \t]*\[[#*\w.-]+\]_(?!\w)", ""),  # footnotes
        (r"(?<!\w)([a-z][\w.-]*[a-z0-9])__?(?!\w)", r"\1"),  # word_
        (r"\|(?=\S)([^|\n]+?)(?<=\S)\|_{0,2}", r"\1"),
        (r"\*\*(?=[^\s*])(.+?)(?<=\S)\*\*", r"\1"),
        (r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", r"\1"),
        (r"\\[ ]", ""),
    )
]
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]+\| )?\s*([\w:+.-]+)::(?:\s+(.*))?")
# Directives with prose as content; those of the first pattern also have prose as argument.
_ADMONITION = re.compile(
    "note|warning|tip|important|hint|attention|caution|danger|error|admonition|seealso|topic|rubric"
)
_PROSE = re.compile(
    r"(?:version|deprecat)\w+|(?:\w+:)?(?:function|\w*method|class|attribute|data|exception|module|"
    r"decorator|property|option|envvar|describe|macro|type|member)"
)
_FOOTNOTE_OR_FIELD = re.compile(r"(?:\.\. \[[^\]]+\]|:[^:`]+:)(?: +|$)")
_RULE = re.compile(r"([!-/:-=?-@\[-`{-~])\1{2,}")
_ITEM = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)]|#\.)\s+)?")


def without_markup(kind: str, text: str) -> list[str]:
    """Convert a file of this format (``.md``, ...) to lines of plain text."""
    if kind in HTML:
        return _Page().lines(text)
    return _rst_lines(text) if kind == ".rst" else _markdown_lines(text)


def _markdown_lines(text: str) -> list[str]:
    from markdown_it import MarkdownIt

    front = _FRONT_MATTER.match(text)
    if front:
        text = "\n" * front[0].count("\n") + text[front.end() :]
    kept = ("code", "page", "quote", "task")
    text = _ADDED.sub(lambda found: _in_lines(found, *filter(None, found.group(*kept))), text)
    source = text.removesuffix("\n").split("\n")
    lines = [""] * len(source)
    heading = ""
    for token in MarkdownIt("commonmark").enable("strikethrough").parse(text):
        if token.type.startswith("heading"):
            heading = "#" * int(token.tag[1]) + " " if token.nesting == 1 else ""
        elif token.map and token.type in ("inline", "html_block"):
            if token.type == "html_block":
                found = _Page().lines(token.content)
            else:
                found = _UNRESOLVED.sub(r"\1", _words(token.children or [])).split("\n")
            for line, words in enumerate(found[: token.map[1] - token.map[0]], token.map[0]):
                margin = _MARGIN.match(re.sub(r"^[ \t]*(?:>[ \t]?)+", "", source[line]))
                words = " ".join(words.split())
                if words:
                    lines[line] = (heading or (margin[0] if margin else "")) + words
    return lines


def _words(tokens: Iterable[Token]) -> str:
    """The text of inline tokens, including line breaks."""
    words = ""
    for token in tokens:
        if token.type.endswith("break"):
            words += "\n"
        elif token.type == "html_inline":
            tag = re.match(r"</?(\w+)", token.content)
            words += " " if tag and tag[1].lower() not in _INLINE_TAGS else ""
            words += "\n" * token.content.count("\n")
        elif token.type != "image":
            words += token.content
    return words


def _rst_lines(text: str) -> list[str]:
    from clusterns.data.sentences import paragraphs

    prose = _rst_prose(text.removesuffix("\n").split("\n"))
    return [line for paragraph in paragraphs(prose) for line in _plain_rst(paragraph)]


def _rst_prose(lines: Iterable[str]) -> Iterator[str]:
    """Clear the lines of directives, comments, targets and code, but keep the prose of directives."""
    beyond: int | None = None  # lines indented deeper are dropped
    options = doctest = False
    for line in lines:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if not text:
            options = doctest = False
        elif doctest or (beyond is not None and indent > beyond):
            line = ""
        elif text.startswith(">>>"):
            doctest, line = True, ""
        elif found := _DIRECTIVE.fullmatch(text):
            has_prose, options = bool(_ADMONITION.fullmatch(found[1])), True
            beyond = None if has_prose or _PROSE.fullmatch(found[1]) else indent
            line = " " * indent + found[2] if has_prose and found[2] else ""
        elif found := _FOOTNOTE_OR_FIELD.match(text):
            beyond, line = None, "" if options else " " * indent + text[found.end() :]
        elif text.startswith((".. ", "__ ")) or text == "..":
            beyond, line = indent, ""
        else:
            beyond = None
            if _RULE.fullmatch(text):
                line = "=" * len(text)
            elif text.endswith("::"):
                item = _ITEM.match(line)
                beyond = item.end() if item else indent
                line = line.rstrip()[:-2].rstrip() + ":" * (len(text) > 2)
        yield line


def _plain_rst(lines: list[str]) -> Iterator[str]:
    """Remove the inline markup of one paragraph, keeping the number of lines."""
    parts = _LITERAL.split("\n".join(lines))
    for place, part in enumerate(parts):
        if place % 2:  # a literal or an escaped sign
            parts[place] = part[2:-2] if part.startswith("``") else part[1:]
            continue
        for pattern, words in _RST:
            part = pattern.sub(lambda found: _in_lines(found, found.expand(words)), part)  # noqa: B023
        parts[place] = part
    for line, plain in zip(lines, "".join(parts).split("\n"), strict=True):
        margin = line[: len(line) - len(line.lstrip())]
        yield line if plain == line else (margin + " ".join(plain.split())).rstrip()


def _in_lines(found: re.Match[str], words: str = "") -> str:
    """``words``, padded with newlines to the number of lines of the match."""
    return words + "\n" * (found[0].count("\n") - words.count("\n"))


class _Page(HTMLParser):
    """Place each block of a page (paragraph, heading, list item, ...) on the line where it starts."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, list[tuple[str, str]]] = {}
        self._words: list[str] = []
        self._line = 0
        self._mark = self._dropped = ""
        self._depth = 0

    def lines(self, page: str) -> list[str]:
        """Return all lines; a heading is marked only if it is the only block on its line."""
        self.feed(page)
        self.close()
        self._end_block()
        found = [""] * len(page.removesuffix("\n").split("\n"))
        for line, blocks in self._blocks.items():
            alone = "".join(blocks[0])
            found[line - 1] = alone if len(blocks) == 1 else " ".join(text for _, text in blocks)
        return found

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip ``<![if ...]>``; the library raises an error for unknown sections."""
        return self.parse_bogus_comment(i, False)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start a block, or start dropping content."""
        if self._dropped:
            self._depth += tag == self._dropped
            return
        if tag not in _INLINE_TAGS:
            self._end_block()
        if tag in _DROPPED_TAGS:
            self._dropped, self._depth = tag, 1
        elif re.fullmatch("h[1-6]", tag):
            self._mark = "#" * int(tag[1]) + " "

    def handle_endtag(self, tag: str) -> None:
        """End a block, or stop dropping content."""
        if self._dropped:
            self._depth -= tag == self._dropped
            self._dropped = self._dropped if self._depth else ""
        elif tag not in _INLINE_TAGS:
            self._end_block()
            self._mark = ""

    def handle_data(self, data: str) -> None:
        """Collect the words of a block."""
        text = data if self._words else data.lstrip()
        if text and not self._dropped:
            if not self._words:
                self._line = self.getpos()[0] + data[: len(data) - len(text)].count("\n")
            self._words.append(text)

    def _end_block(self) -> None:
        if self._words:
            text = " ".join("".join(self._words).split())
            self._blocks.setdefault(self._line, []).append((self._mark, text))
            self._words = []
