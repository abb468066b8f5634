"""What a file holds, judged by its name."""

from __future__ import annotations

from pathlib import Path

HTML = (".html", ".htm")
MARKUP = (".md", ".markdown", ".rst", *HTML)
TEXTS = (".txt", *MARKUP)
KINDS = (*TEXTS, ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")
PACKED = (".gz", ".xz", ".bz2", ".zst")


def file_format(path: Path) -> str:
    """The ending that says what a file holds: ``.jsonl`` for ``corpus.jsonl.gz``."""
    endings = [suffix.lower() for suffix in path.suffixes]
    if endings and endings[-1] in PACKED:
        endings.pop()
    return endings[-1] if endings and endings[-1] in KINDS else ".txt"


def is_data_file(path: Path) -> bool:
    """Whether a file has a known ending."""
    return path.suffix.lower() in KINDS + PACKED


def is_light(path: Path) -> bool:
    """Whether a file can be opened without importing anything heavy."""
    return file_format(path) != ".parquet" and path.suffix.lower() != ".zst"
