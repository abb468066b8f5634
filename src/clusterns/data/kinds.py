"""File formats, recognized by extension."""

from __future__ import annotations

from pathlib import Path

HTML = (".html", ".htm")
MARKUP = (".md", ".markdown", ".rst", *HTML)
TEXTS = (".txt", *MARKUP)
KINDS = (*TEXTS, ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
PACKED = (".gz", ".xz", ".bz2", ".zst")


def file_format(path: Path) -> str:
    """The extension that determines the format: ``.jsonl`` for ``corpus.jsonl.gz``."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in PACKED:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in KINDS else ".txt"


def is_data_file(path: Path) -> bool:
    """Whether a file has a known extension."""
    return path.suffix.lower() in KINDS + PACKED


def is_light(path: Path) -> bool:
    """Whether a file can be opened without importing anything heavy."""
    return file_format(path) != ".parquet" and path.suffix.lower() != ".zst"
