"""The rows of sources with the place of each, as they are or cut into units that a search can return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise
from typing import Literal

import numpy as np
import pyarrow as pa
import regex

from clusterns.data.columns import Columns
from clusterns.data.lines import text_lines
from clusterns.data.sentences import (
    SAMPLE,
    UNSPACED,
    Wrapping,
    paragraphs,
    split_sentences,
)
from clusterns.data.sources import FileSource, Source, readable
from clusterns.errors import UserError

Unit = Literal["row", "sentence", "passage"]
MAX_WORDS = 180  # of a passage
PLACE = {"source": pa.string(), "line": pa.int64(), "heading": pa.string()}
RESERVED = ("id", "text", "embedding", *PLACE)

MARKUP = (".md", ".markdown", ".rst")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*")
_UNDERLINE = re.compile(r"([=\-~^\"*+#])\1{2,}\s*")
_UNSPACED = regex.compile(UNSPACED)


def located_rows(
    sources: Sequence[Source],
    columns: Columns,
    advance: Callable[[int], object] = lambda _: None,
    unit: Unit = "row",
    max_words: int = MAX_WORDS,
) -> Iterator[pa.RecordBatch]:
    """Yield batches with the columns text, id, those of ``PLACE``, and those that are kept.

    Args:
        sources: what to read.
        columns: which columns of tables.
        advance: is told how many more bytes were read.
        unit: row: every line of a text file and every row of a table, empty ones too. sentence: their sentences.
            passage: paragraphs of hard-wrapped text and of markup, other lines and rows, each cut after a
            sentence if it has more than ``max_words``.
        max_words: maximum length of a passage.
    """
    for name in columns.keep:
        if name in RESERVED:
            raise UserError(f"--keep {name}: this name is taken. Rename the column.")
    for source in sources:
        if isinstance(source, FileSource) and unit == "passage" and source.is_plain(columns):
            yield from _passages_of_file(source, columns, advance, max_words)
            continue
        done = 0
        for batch in source.rows(columns._replace(unwrap=unit == "sentence"), advance):
            lines = np.arange(done + 1, done + 1 + len(batch))
            done += len(batch)
            batch = _with_place(batch, source, lines, None)
            if unit != "row":
                split = split_sentences if unit == "sentence" else lambda t: cut(t, max_words)
                batch = _split(batch, split)
            yield batch


def cut(text: str, max_words: int) -> list[str]:
    """Cut a text after sentences into parts of at most ``max_words`` if it has more; none if it is blank."""
    if not text.strip():
        return []
    if count_words(text) <= max_words:
        return [text]
    parts: list[list[str]] = [[]]
    size = 0
    for sentence in split_sentences(text):
        words = count_words(sentence)
        if parts[-1] and size + words > max_words:
            parts.append([])
            size = 0
        parts[-1].append(sentence)
        size += words
    return [" ".join(part) for part in parts]


def count_words(text: str) -> int:
    """The number of words, counting each character of a script without spaces."""
    return len(text.split()) + (0 if text.isascii() else len(_UNSPACED.findall(text)))


def _with_place(
    batch: pa.RecordBatch,
    source: Source,
    lines: Sequence[int] | np.ndarray,
    headings: Sequence[str | None] | None,
) -> pa.RecordBatch:
    name = str(source.path) if isinstance(source, FileSource) else getattr(source, "name", None)
    values = [[name] * len(batch), lines, headings or [None] * len(batch)]
    for (key, kind), column in zip(PLACE.items(), values, strict=True):
        batch = batch.append_column(pa.field(key, kind), pa.array(column, kind))
    return batch


def _split(batch: pa.RecordBatch, split: Callable[[str], list[str]]) -> pa.RecordBatch:
    parts = [split(text or "") for text in batch["text"].to_pylist()]
    rows = np.repeat(np.arange(len(batch)), [len(part) for part in parts])
    texts = pa.array(chain.from_iterable(parts), pa.string())
    return batch.take(pa.array(rows)).set_column(0, "text", texts)


def _passages_of_file(
    source: FileSource, columns: Columns, advance: Callable[[int], object], max_words: int
) -> Iterator[pa.RecordBatch]:
    """The paragraphs of a file that is hard-wrapped or markup, else its lines, with their headings."""
    is_markup = any(suffix.lower() in MARKUP for suffix in source.path.suffixes)
    with readable(source.path), source.path.open("rb") as raw:
        wrapping = Wrapping.find(list(islice(text_lines(source.path, raw), SAMPLE)))
        raw.seek(0)
        lines = text_lines(source.path, raw)
        found: Iterator[tuple[int, str, str | None]]
        if wrapping is None and not is_markup:
            found = (
                (n, part, None) for n, line in enumerate(lines) for part in cut(line, max_words)
            )
        else:
            found = _passages(lines, wrapping, max_words)
        done = 0
        while some := list(islice(found, 10_000)):
            numbers, texts, headings = zip(*some, strict=True)
            batch = pa.record_batch({"text": texts, "id": pa.nulls(len(texts), pa.string())})
            yield _with_place(batch, source, np.array(numbers) + 1, headings)
            advance(raw.tell() - done)
            done = raw.tell()


def _passages(
    lines: Iterable[str], wrapping: Wrapping | None, max_words: int
) -> Iterator[tuple[int, str, str | None]]:
    """Yield the index of the first line, the text and the heading of each passage.

    A heading stands at the beginning of the passage below it.
    """
    heading: str | None = None
    above: list[tuple[int, str]] = []
    start = 0
    for paragraph in paragraphs(lines):
        blocks = wrapping.join(paragraph) if wrapping else [*enumerate(paragraph)]
        texts: list[tuple[int, str]] = []
        for place, text in _without_underlines(blocks):
            title = _title(text)
            if title is None:
                texts.append((start + place, text))
                continue
            if texts:
                yield from _pack([*above, *texts], heading, max_words)
                above, texts = [], []
            heading = title
            above.append((start + place, title))
        if any(text.strip() for _, text in texts):
            yield from _pack([*above, *texts], heading, max_words)
            above = []
        start += len(paragraph)
    if above:
        yield from _pack(above, heading, max_words)


def _without_underlines(blocks: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Turn a title with a line of signs below it into one with number signs before it."""
    after = iter([*pairwise([text for _, text in blocks]), ("", "")])
    for place, text in blocks:
        _, below = next(after)
        if _UNDERLINE.fullmatch(text) and len(blocks) > 1:
            continue
        is_title = _UNDERLINE.fullmatch(below) and text.strip() and len(below.strip()) >= 3
        yield place, f"# {text.strip()}" if is_title else text


def _title(text: str) -> str | None:
    found = _HEADING.fullmatch(text)
    return found[1] if found and found[1] else None


def _pack(
    blocks: Sequence[tuple[int, str]], heading: str | None, max_words: int
) -> Iterator[tuple[int, str, str | None]]:
    """Join blocks line by line to passages; cut those that are too long."""
    first, size = 0, 0
    texts: list[str] = []
    for place, text in blocks:
        words = count_words(text)
        if texts and size + words > max_words:
            yield first, "\n".join(texts), heading
            texts, size = [], 0
        if not texts:
            first = place
        if words > max_words:
            for part in cut("\n".join([*texts, text]), max_words):
                yield first, part, heading
            texts, size = [], 0
        else:
            texts.append(text.strip())
            size += words
    if texts:
        yield first, "\n".join(texts), heading
