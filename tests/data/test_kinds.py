from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.data.kinds import file_format, is_data_file


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.txt", ".txt"),
        ("a.jsonl.gz", ".jsonl"),
        ("a.CSV.XZ", ".csv"),
        ("a.v2.tsv", ".tsv"),
        ("a.gz", ".txt"),
        ("wiki.en", ".txt"),
        ("README", ".txt"),
        ("README.md.gz", ".md"),
        ("page.HTM", ".htm"),
        ("a.parquet", ".parquet"),
    ],
)
def test_the_ending_says_what_a_file_holds(name: str, expected: str) -> None:
    assert file_format(Path(name)) == expected


def test_known_endings() -> None:
    assert is_data_file(Path("a.jsonl.zst"))
    assert is_data_file(Path("README.md"))
    assert not is_data_file(Path("README.png"))
