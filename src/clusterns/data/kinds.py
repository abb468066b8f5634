"""What a file holds, told from its name."""

from __future__ import annotations

from pathlib import Path

HTML = (".html", ".htm")
MARKUP = (".md", ".markdown", ".rst", *HTML)
TEXTS = (".txt", *MARKUP)
KINDS = (*TEXTS, ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
PACKED = (".gz", ".xz", ".bz2", ".zst")


def file_format(path: Path) -> str:
    """Name the ending that says what a file holds: ``corpus.jsonl.gz`` gives ``.jsonl``."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings and endings[-1] in KINDS else ".txt"


def is_data_file(path: Path) -> bool:
    """Tell whether a file's ending is one of those we know."""
    return path.suffix.lower() in KINDS + PACKED


def is_light(path: Path) -> bool:
    """Tell whether a file can be looked into without importing anything heavy."""
    return file_format(path) != ".parquet" and path.suffix.lower() != ".zst"
