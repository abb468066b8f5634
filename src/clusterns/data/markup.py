"""Markdown, reStructuredText and HTML to plain text with as many lines, so that line numbers stay right.

Lines that hold no prose become empty. Headings keep their form in Markdown and reStructuredText and get
number signs in HTML. Markup that goes over a border between blocks (of a megabyte) may stay.
"""

from __future__ import annotations

import html
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from html.parser import HTMLParser
from itertools import chain

from clusterns.data.kinds import HTML

# Raise this number whenever the same file would give other lines.
RULES = 1

_INLINE_TAGS = (
    "a abbr b bdi bdo cite code del dfn em font i ins kbd mark q s samp small span strong sub sup \
time tt u var wbr img".split()
)
_DROPPED_TAGS = ("script", "style", "nav", "pre", "template", "noscript", "svg", "title")

_FRONT_MATTER = re.compile(
    r"(---|\+\+\+)[ \t]*\n(?=[ \t]*(?:#|\[|[\w.\"'-]+[ \t]*[:=]))(?:.*\n)*?(?:\1|\.{3})[ \t]*(?:\n|\Z)"
)
_OPENING = re.compile(
    r"[\s>]*(?:(?:[-*+]|\d+[.)])\s+)?(?:(?P<fence>`{3,}(?!.*`)|~{3,})|(?P<tag><(?:script|style|pre)\b)|"
    r"(?P<comment><!--)|(?P<block>\{%-?\s*(?:highlight|comment|raw)\b))",
    re.IGNORECASE,
)
_PARAGRAPH_END = re.compile(r"(\n[ \t]*\n)")
_ENTITY = re.compile(r"&#?\w+;")

# Punctuation in code and after a backslash is no markup: until the end it is written in noncharacters.
_HIDE = {ord(sign): 0xFDD0 + place for place, sign in enumerate(string.punctuation)}
_SHOW = {hidden: sign for sign, hidden in _HIDE.items()}
_ESCAPED = r"\\(?P<sign>[!-/:-@\[-`{-~])"
_CODE = re.compile(rf"(?<!`)(`+)(?!`)(?P<code>.+?)(?<!`)\1(?!`)|{_ESCAPED}", re.DOTALL)
_LITERAL = re.compile(rf"``(?P<code>.+?)``|{_ESCAPED}", re.DOTALL)

_TARGET = (
    r"\(\s*(?:<[^<>\n]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)"
    r"(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*\)"
)
_EMPHASIS = (
    (r"(\*\*\*|\*\*|~~)(?=[^\s*~])(.+?)(?<=\S)\1", r"\2"),
    (r"(?<![\w*])\*(?=[^\s*])(.+?)(?<=[^\s*])\*(?![\w*])", r"\1"),
)
_DROPPED = (
    r"\{(?:\{[^{}]*\}|[#.:%][^{}]*)\}",  # {{ template }}, {% tag %}, {#anchor}
    "<!--.*?-->",
    r"!\[(?:\[[^\[\]]*\]\]|[^\[\]]*\](?:" + _TARGET + r"|\[[^\[\]]*\])?)",  # images
)
_MARKDOWN = (
    *((rf"[ \t]+(?:{dropped})(?!\w)|{dropped}", "") for dropped in _DROPPED),
    (r"^[ \t>]*\[[^\]\n^][^\]\n]*\]:[ \t]*\S+(?:[ \t]+[\"'(][^\n]*[\"')])?[ \t]*$", ""),  # targets
    (r"\[\^[^\]\s]+\]:?", ""),  # footnotes
    (r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]", r"\1"),  # [[page|words]]
    (r"\[([^\[\]]*)\]" + _TARGET, r"\1"),
    (r"(?<!\w)\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
    (r"<([a-z][a-z+.-]*:[^\s<>]+|[\w.+-]+@[\w.-]+)>", r"\1"),
    (rf"</?(?:{'|'.join(_INLINE_TAGS)})(?:\s[^<>]*)?/?>", ""),
    (r"</?[a-z][\w:-]*(?:\s[^<>]*)?/?>", " "),
    (r"^[ \t]*(?::{3,}|!!! \w).*?$", ""),  # containers
    (r"^[ \t]*(?:>[ \t]?)+(?:\[!\w+\])?", ""),
    (r"^([ \t]*[-*+]) \[[ x]\](?= )", r"\1"),  # tasks
    *_EMPHASIS,
    (r"(?<!\w)(__?)(?=[^\s_])(.+?)(?<=[^\s_])\1(?!\w)", r"\2"),
    (r"\\$", ""),
)
_ROLE = r"(?:(?<!\w)_)?(?::[\w:+.-]+:)?"
_RST = (
    (_ROLE + r"`([^`<>]*?)\s*<[^<>`]*>`(?:__?)?", r"\1"),  # `words <target>`_
    (r":[\w:+.-]+:`~[^`]*?([^`.]+)`", r"\1"),  # :func:`~numpy.sort` shows as sort
    (_ROLE + r"`!?([^`]*)`(?:__?(?!\w))?", r"\1"),
    (r"[ \t]*\[[#*\w.-]+\]_(?!\w)", ""),  # footnotes
    (r"(?<!\w)([a-z][\w.-]*[a-z0-9])__?(?!\w)", r"\1"),  # word_
    (r"\|(?=\S)([^|\n]+?)(?<=\S)\|_{0,2}", r"\1"),
    *_EMPHASIS,
    (r"\\[ ]", ""),
)
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]+\| )?\s*([\w:+.-]+)::(?:\s+(.*))?")
# What stands below these is prose, as is what stands beside the first ones.
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

_Rules = Sequence[tuple["re.Pattern[str]", str]]


def _compiled(rules: Iterable[tuple[str, str]]) -> _Rules:
    flags = re.DOTALL | re.MULTILINE | re.IGNORECASE
    return [(re.compile(pattern, flags), words) for pattern, words in rules]


_MARKDOWN_RULES, _RST_RULES = _compiled(_MARKDOWN), _compiled(_RST)


def without_markup(kind: str, blocks: Iterator[str]) -> Iterator[str]:
    """Yield each line of a file of this kind (``.md``, ...) as plain text, from its blocks of whole lines."""
    if kind in HTML:
        yield from _Page().lines(blocks)
        return
    from clusterns.data.sentences import paragraphs

    if kind == ".rst":
        lines, code, rules = _rst_prose(_split(blocks)), _LITERAL, _RST_RULES
    else:
        first = next(blocks, "")
        if front := _FRONT_MATTER.match(first):
            first = "\n" * front[0].count("\n") + first[front.end() :]
        lines = _markdown_prose(_split(chain([first], blocks)))
        code, rules = _CODE, _MARKDOWN_RULES
    for paragraph in paragraphs(lines):
        yield from _plain(paragraph, code, rules)


def _split(blocks: Iterable[str]) -> Iterator[str]:
    for block in filter(None, blocks):
        yield from block.removesuffix("\n").split("\n")


def _markdown_prose(lines: Iterable[str]) -> Iterator[str]:
    """Empty the lines of code, comments, scripts and styles."""
    end: re.Pattern[str] | None = None
    for line in lines:
        opening = None if end else _OPENING.match(line)
        if opening:
            mark = opening[opening.lastgroup or 0]
            end = _closing(mark)
        if end is None:
            yield line
        elif closing := end.search(line, opening.end() if opening else 0):
            end = None
            before = line[: opening.end() - len(mark)] if opening else ""
            yield before + line[closing.end() :]
        else:
            yield ""


def _closing(mark: str) -> re.Pattern[str]:
    """What ends the block that a mark begins."""
    if mark[0] in "`~":
        return re.compile(rf"^[\s>]*{mark[0]}{{{len(mark)},}}\s*$")
    if mark == "<!--":
        return re.compile("-->")
    word = mark.lstrip("{%-< ")
    return re.compile(
        rf"\{{%-?\s*end{word}.*?%\}}" if mark[0] == "{" else f"</{word}>", re.IGNORECASE
    )


def _rst_prose(lines: Iterable[str]) -> Iterator[str]:
    """Empty the lines of directives, comments, targets and code, except what directives say in prose."""
    beyond: int | None = None  # deeper lines are dropped
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
            says, options = bool(_ADMONITION.fullmatch(found[1])), True
            beyond = None if says or _PROSE.fullmatch(found[1]) else indent
            line = " " * indent + found[2] if says and found[2] else ""
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


def _plain(lines: list[str], code: re.Pattern[str], rules: _Rules) -> Iterator[str]:
    """Replace the markup within the lines of one paragraph, which stay as many."""
    text = code.sub(
        lambda found: (found["code"] or found["sign"]).translate(_HIDE), "\n".join(lines)
    )
    for pattern, words in rules:
        text = pattern.sub(lambda found: _with_line_ends(found, found.expand(words)), text)  # noqa: B023
    for line, plain in zip(lines, text.split("\n"), strict=True):
        plain = _ENTITY.sub(lambda found: html.unescape(found[0]), plain)
        if plain == line:
            yield line
        else:
            margin = line[: len(line) - len(line.lstrip())]
            yield (margin + " ".join(plain.translate(_SHOW).split())).rstrip()


def _with_line_ends(found: re.Match[str], words: str) -> str:
    return words + "\n" * (found[0].count("\n") - words.count("\n"))


class _Page(HTMLParser):
    """Puts each block of a page (a paragraph, heading, list item, ...) on the line that it begins on."""

    def __init__(self) -> None:
        super().__init__()
        self._done: dict[int, list[tuple[str, str]]] = {}
        self._words: list[str] = []
        self._line = 0
        self._mark = self._dropped = ""
        self._depth = 0

    def lines(self, blocks: Iterable[str]) -> Iterator[str]:
        """Yield all lines."""
        first, total = 1, 0
        for block in blocks:
            self.feed(block)
            total += len(block.removesuffix("\n").split("\n"))
            end = self._line if self._words else self.getpos()[0]
            yield from map(self._text, range(first, end))
            first = max(first, end)
        self.close()
        self._end_block()
        yield from map(self._text, range(first, total + 1))

    def parse_marked_section(self, i: int, report: int = 1) -> int:
        """Skip ``<![if ...]>``; the library raises an error at unknown ones."""
        return self.parse_bogus_comment(i, False)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, or drop what follows."""
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
        """End a block, or what was dropped."""
        if self._dropped:
            self._depth -= tag == self._dropped
            self._dropped = self._dropped if self._depth else ""
        elif tag not in _INLINE_TAGS:
            self._end_block()
            self._mark = ""

    def handle_data(self, data: str) -> None:
        """Take the words of a block."""
        text = data if self._words else data.lstrip()
        if text and not self._dropped:
            if not self._words:
                self._line = self.getpos()[0] + data[: len(data) - len(text)].count("\n")
            self._words.append(text)

    def _end_block(self) -> None:
        if self._words:
            text = " ".join("".join(self._words).split())
            self._done.setdefault(self._line, []).append((self._mark, text))
            self._words = []

    def _text(self, line: int) -> str:
        """The text of a line; a heading is one only if it stands alone."""
        blocks = self._done.pop(line, [])
        return "".join(blocks[0]) if len(blocks) == 1 else " ".join(text for _, text in blocks)
