"""Rows of sources with their locations, split into the units that a search returns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import regex

from clusterns.data.columns import Columns
from clusterns.data.formats import find_wrapping
from clusterns.data.kinds import MARKUP, file_format
from clusterns.data.lines import text_lines
from clusterns.data.markup import MARK
from clusterns.data.sentences import UNSPACED, Wrapping, paragraphs, split_sentences, unwrap
from clusterns.data.settings import Unit
from clusterns.data.sources import FileSource, Source, readable
from clusterns.errors import UserError

MAX_WORDS = 180  # of a passage
PLACE = {"source": pa.string(), "line": pa.int64(), "heading": pa.string()}
RESERVED = ("id", "text", "embedding", *PLACE)

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
    """Yield batches with the columns text and id, the kept columns, those of ``PLACE``, and number.

    ``number`` counts the rows over all sources from 1, ``line`` those of each source.

    Args:
        sources: the text to read.
        columns: the columns of tables.
        advance: called with the number of bytes read.
        unit: row: every line of a text file and every row of a table, including empty ones. sentence: their
            sentences. passage: paragraphs of hard-wrapped text and of markup; of other sources, lines and rows. Those
            longer than ``max_words`` are split between sentences.
        max_words: maximum length of a passage.
    """
    for name in columns.keep:
        if name in RESERVED:
            raise UserError(f"--keep {name}: this column name is reserved. Rename the column.")

    def split(text: str) -> list[str]:
        return split_sentences(text) if unit == "sentence" else cut(text, max_words)

    offset = 0
    for source in sources:
        last = 0
        if unit != "row" and isinstance(source, FileSource) and source.is_plain(columns):
            batches = _text_units(source, advance, unit, max_words, split)
        else:
            batches = _table_units(source, columns, advance, None if unit == "row" else split)
        for batch in batches:
            last = batch["line"][-1].as_py() if len(batch) else last
            yield batch.append_column("number", pc.add(batch["line"], offset))
        offset += last


def cut(text: str, max_words: int) -> list[str]:
    """Split a text between sentences into parts of at most ``max_words``; a blank text has no parts."""
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


def _table_units(
    source: Source,
    columns: Columns,
    advance: Callable[[int], object],
    split: Callable[[str], list[str]] | None,
) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in source.rows(columns._replace(unwrap=False), advance):
        lines = np.arange(done + 1, done + 1 + len(batch))
        done += len(batch)
        batch = _with_place(batch, source, lines, [None] * len(batch))
        if split is not None:
            parts = [split(text or "") for text in batch["text"].to_pylist()]
            rows = np.repeat(np.arange(len(batch)), [len(part) for part in parts])
            texts = pa.array(chain.from_iterable(parts), pa.string())
            batch = batch.take(pa.array(rows)).set_column(0, "text", texts)
        yield batch


def _text_units(
    source: FileSource,
    advance: Callable[[int], object],
    unit: Unit,
    max_words: int,
    split: Callable[[str], list[str]],
) -> Iterator[pa.RecordBatch]:
    with readable(source.path), source.path.open("rb") as raw:
        wrapping = find_wrapping(source.path, raw)
        raw.seek(0)
        lines = text_lines(source.path, raw)
        is_marked = file_format(source.path) in MARKUP
        if unit == "passage" and (wrapping or is_marked):
            units = _passages(lines, wrapping, max_words)
        else:
            numbered = unwrap(lines, wrapping) if wrapping else enumerate(lines)
            units = (
                (number, part, None)
                for number, text in numbered
                for part in split(re.sub(MARK, "", text) if is_marked else text)
            )
        done = 0
        while some := list(islice(units, 10_000)):
            numbers, texts, headings = zip(*some, strict=True)
            batch = pa.record_batch({"text": texts, "id": pa.nulls(len(texts), pa.string())})
            yield _with_place(batch, source, np.array(numbers) + 1, headings)
            advance(raw.tell() - done)
            done = raw.tell()


def _with_place(
    batch: pa.RecordBatch, source: Source, lines: np.ndarray, headings: Sequence[str | None]
) -> pa.RecordBatch:
    name = str(source.path) if isinstance(source, FileSource) else getattr(source, "name", None)
    values = ([name] * len(batch), lines, headings)
    for (key, kind), column in zip(PLACE.items(), values, strict=True):
        batch = batch.append_column(pa.field(key, kind), pa.array(column, kind))
    return batch


def _passages(
    lines: Iterable[str], wrapping: Wrapping | None, max_words: int
) -> Iterator[tuple[int, str, str | None]]:
    """Yield the index of the first line, the text and the heading of each passage.

    A passage below a heading starts with the heading.
    """
    heading: str | None = None
    blocks: list[tuple[int, str]] = []
    has_text = False
    start = 0
    for paragraph in paragraphs(lines):
        joined = wrapping.join(paragraph) if wrapping else [*enumerate(paragraph)]
        for place, text, is_title in _titled(joined):
            if is_title:
                if has_text:
                    yield from _pack(blocks, heading, max_words)
                    blocks, has_text = [], False
                heading = text
            elif text:
                has_text = True
            if text:
                blocks.append((start + place, text))
        if has_text:
            yield from _pack(blocks, heading, max_words)
            blocks, has_text = [], False
        start += len(paragraph)
    yield from _pack(blocks, heading, max_words)


def _titled(blocks: Sequence[tuple[int, str]]) -> Iterator[tuple[int, str, bool]]:
    """Detect titles: lines with number signs, and lines above an underline, which is dropped."""
    for number, (place, text) in enumerate(blocks):
        below = blocks[number + 1][1].strip() if number + 1 < len(blocks) else ""
        if _UNDERLINE.fullmatch(text.strip()) and len(blocks) > 1:
            continue
        found = _HEADING.fullmatch(text)
        if found and found[1]:
            yield place, found[1], True
        else:
            is_title = bool(text.strip()) and _UNDERLINE.fullmatch(below) is not None
            yield place, text.strip(), is_title


def _pack(
    blocks: Sequence[tuple[int, str]], heading: str | None, max_words: int
) -> Iterator[tuple[int, str, str | None]]:
    """Join blocks, one per line, into passages; split passages that are too long."""
    first, size = 0, 0
    texts: list[str] = []
    for place, text in [*blocks, (0, "")]:
        words = count_words(text)
        if texts and (not text or size > max_words or size + words > max_words >= words):
            for part in cut("\n".join(texts), max_words):
                yield first, part, heading
            texts, size = [], 0
        first = first if texts else place
        texts.append(text)
        size += words
