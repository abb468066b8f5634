"""Corpus settings: how sources are turned into sentences."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clusterns.settings import Settings

# The unit of text that is embedded and that a search returns.
Unit = Literal["row", "sentence", "passage"]

# One word is not a sentence ("Notes", "1980s"), but two may be a title or a query, and lines of two or
# three words make up 7 % of SimCSE's own training file.
MIN_WORDS = 2


class CorpusSettings(Settings):
    """How text is read."""

    column: str | None = None
    """Column of the text in tables and JSON lines: a name, or a number from 1 if a table has no header. A text
    file is then read as tab-separated columns. Empty: text, sentence, or the only column of text."""
    document: str | None = None
    """Sentences that form a document: a column as for `column`, or for plain text `paragraph` (separated by
    blank lines), `line` (with split_sentences) or `file`. Whole documents are then held out of training."""
    split_sentences: bool = False
    """Split paragraphs into sentences."""
    min_words: int = Field(MIN_WORDS, ge=1)
    """Drop sentences with fewer words."""
