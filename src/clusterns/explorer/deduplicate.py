"""Write a corpus without some of its rows, preserving all columns, ids and quotation marks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from clusterns.data.columns import Columns
from clusterns.data.kinds import file_format
from clusterns.data.lines import text_lines
from clusterns.data.sources import FileSource, find_sources, readable
from clusterns.data.tables import open_table
from clusterns.errors import UserError
from clusterns.files import atomic_file

LINES = (".txt", ".csv", ".tsv", ".jsonl", ".ndjson")  # formats whose rows are lines
PARQUET = ".parquet"


def same_format(corpus: Sequence[str], output: Path) -> bool:
    """Whether the corpus consists of files in one format, the format of ``output``, that can be rewritten in full."""
    sources = find_sources(corpus)
    formats = {file_format(one.path) if isinstance(one, FileSource) else "" for one in sources}
    return formats == {output.suffix.lower()} and formats <= {*LINES, PARQUET}


def write_without(
    corpus: Sequence[str], columns: Columns, removed: Collection[int], output: Path
) -> None:
    """Write the rows of files of one format to a file, except rows with these numbers, from 1 over all files."""
    paths = [source.path for source in find_sources(corpus) if isinstance(source, FileSource)]
    with atomic_file(output) as temporary:
        if output.suffix.lower() == PARQUET:
            import pyarrow as pa
            import pyarrow.parquet as pq

            table = pa.concat_tables([pq.read_table(path) for path in paths])
            mask = [number not in removed for number in range(1, len(table) + 1)]
            pq.write_table(table.filter(pa.array(mask)), temporary)
        else:
            with temporary.open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in _lines(paths, columns, removed))


def _lines(paths: Sequence[Path], columns: Columns, removed: Collection[int]) -> Iterator[str]:
    number = 0
    header: list[str] | None = None
    for path in paths:
        with readable(path), path.open("rb") as raw:
            lines = list(text_lines(path, raw))
            raw.seek(0)
            if FileSource(path).is_plain(columns):
                starts = [*range(1, len(lines) + 1)]
            else:
                starts = [line for line, _ in open_table(path, raw, columns.wanted())]
        if lines and not lines[-1]:
            lines.pop()  # after the last line end
        ends = [*starts[1:], len(lines) + 1]
        above = lines[: starts[0] - 1] if starts else lines
        if header is None:
            header = above
            yield from above
        elif above != header:
            raise UserError(
                f"{path} has another header than {paths[0]}: deduplicate it separately."
            )
        for start, end in zip(starts, ends, strict=True):
            number += 1
            if number not in removed:
                yield from lines[start - 1 : end - 1]
