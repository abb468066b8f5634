"""The rows of sources with the place of each, as they are or cut into units that a search can return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice, pairwise

import numpy as np
import pyarrow as pa
import regex

from clusterns.data.columns import Columns
from clusterns.data.formats import find_wrapping
from clusterns.data.kinds import MARKUP, file_format
from clusterns.data.lines import text_lines
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
    """Yield batches with the columns text, id, number, those of ``PLACE``, and those that are kept.

    ``number`` counts the rows over all sources from 1, ``line`` those of each source.

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
    offset = 0
    for source in sources:
        lines = 0
        for batch in _batches(source, columns, advance, unit, max_words):
            numbers = batch["line"].to_numpy() + offset
            lines = max(lines, int(batch["line"][-1].as_py()) if len(batch) else 0)
            yield batch.append_column("number", pa.array(numbers))
        offset += lines


def _batches(
    source: Source,
    columns: Columns,
    advance: Callable[[int], object],
    unit: Unit,
    max_words: int,
) -> Iterator[pa.RecordBatch]:
    if unit != "row" and isinstance(source, FileSource) and source.is_plain(columns):
        yield from _batches_of_text(source, advance, unit, max_words)
        return
    done = 0
    for batch in source.rows(columns._replace(unwrap=False), advance):
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


def _batches_of_text(
    source: FileSource, advance: Callable[[int], object], unit: Unit, max_words: int
) -> Iterator[pa.RecordBatch]:
    with readable(source.path), source.path.open("rb") as raw:
        wrapping = find_wrapping(source.path, raw)
        raw.seek(0)
        units = _units(source, text_lines(source.path, raw), wrapping, unit, max_words)
        done = 0
        while some := list(islice(units, 10_000)):
            numbers, texts, headings = zip(*some, strict=True)
            batch = pa.record_batch({"text": texts, "id": pa.nulls(len(texts), pa.string())})
            yield _with_place(batch, source, np.array(numbers) + 1, headings)
            advance(raw.tell() - done)
            done = raw.tell()


def _units(
    source: FileSource,
    lines: Iterator[str],
    wrapping: Wrapping | None,
    unit: Unit,
    max_words: int,
) -> Iterator[tuple[int, str, str | None]]:
    """Yield the index of the first line, the text and the heading of each unit of plain text."""
    if unit == "passage" and (wrapping or file_format(source.path) in MARKUP):
        yield from _passages(lines, wrapping, max_words)
        return
    for number, text in unwrap(lines, wrapping) if wrapping else enumerate(lines):
        for part in cut(text, max_words) if unit == "passage" else split_sentences(text):
            yield number, part, None


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
        if texts and size + words > max_words >= words:
            yield first, "\n".join(texts), heading
            texts, size = [], 0
        first = first if texts else place
        texts.append(text.strip())
        size += words
        if words > max_words:
            for part in cut("\n".join(texts), max_words):
                yield first, part, heading
            texts, size = [], 0
    if texts:
        yield first, "\n".join(texts), heading
