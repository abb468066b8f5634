from __future__ import annotations

from pathlib import Path

from clusterns.data.kinds import file_format, is_data_file


def test_the_ending_says_what_a_file_holds() -> None:
    kinds = {
        "a.txt": ".txt", "a.jsonl.gz": ".jsonl", "a.CSV.XZ": ".csv", "a.v2.tsv": ".tsv",
        "a.gz": ".txt", "wiki.en": ".txt", "README": ".txt", "README.md.gz": ".md",
        "page.HTM": ".htm", "a.parquet": ".parquet",
    }  # fmt: skip
    assert {name: file_format(Path(name)) for name in kinds} == kinds
    known = [is_data_file(Path(name)) for name in ("a.jsonl.zst", "README.md", "README.png")]
    assert known == [True, True, False]
