"""``clusterns similar``: find near-duplicates."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from annotated_types import Ge, Le
from pydantic import Field

from clusterns.commands.options import (
    CorpusOptions,
    OptionalPath,
    OptionalTexts,
    as_list,
    check_suffixes,
)
from clusterns.commands.request import function
from clusterns.console import log, stdout
from clusterns.data.columns import Columns
from clusterns.errors import UserError

if TYPE_CHECKING:
    from clusterns.explorer.duplicates import Duplicates

MAX_SHOWN = 5  # rows of a group


class SimilarRequest(CorpusOptions):
    """Find near-duplicates: pairs of sentences above a threshold, and the groups they connect.

    Cosines differ from model to model: the table shows what each threshold would give. By default, near-duplicates
    also share their words: the same numbers, names and negations, and no other word replaced.
    """

    corpus: OptionalTexts = Field(default=(), kw_only=False)
    threshold: Annotated[float, Ge(-1), Le(1)] = 0.9
    """Minimum cosine of near-duplicates."""
    same_words: bool = True
    """Near-duplicates must share their words, especially numbers and names. Otherwise, a similar meaning is enough."""
    pairs: OptionalPath = None
    """Write all pairs to this .csv or .jsonl file."""
    groups: OptionalPath = None
    """Write all groups to this .csv or .jsonl file."""
    deduplicated: OptionalPath = None
    """Write the corpus without near-duplicates to this file: with all columns if it has the corpus's format
    (.csv, .tsv, .jsonl, .parquet or .txt), else only the text as .txt. A row is removed only if it duplicates an
    earlier row that is kept."""

    def run(self) -> Duplicates:
        """Find the near-duplicates and write the requested files."""
        found = self.find()
        self.write(found)
        return found

    def find(self) -> Duplicates:
        """Find the near-duplicates."""
        from clusterns.explorer.corpus import check_corpus

        corpus = as_list(self.corpus)
        check_suffixes("--pairs", self.pairs, ".csv", ".jsonl")
        check_suffixes("--groups", self.groups, ".csv", ".jsonl")
        check_corpus(str(self.model), corpus, self.pooling)
        if self.deduplicated is not None:
            self._copies_rows(Path(self.deduplicated))
        from clusterns.explorer.duplicates import (
            THRESHOLDS,
            Duplicates,
            find_pairs,
            line_pairs,
            with_same_words,
        )

        opened = self.open(corpus)
        candidates = find_pairs(*opened.neighbors, min(self.threshold, *THRESHOLDS))
        if self.same_words:
            candidates = with_same_words(candidates, opened.rows.distinct)
        return Duplicates(opened.rows, self.threshold, line_pairs(candidates, opened.rows.of))

    def write(self, found: Duplicates) -> None:
        """Write the requested files."""
        from clusterns.explorer.export import write_rows

        numbers, pairs = found.rows.numbers.tolist(), found.pairs
        rows_of_pairs = (
            (round(float(c), 4), numbers[a], numbers[b], found.text(a), found.text(b))
            for a, b, c in zip(pairs.first, pairs.second, pairs.cosines, strict=True)
        )
        write_rows(self.pairs, ("cosine", "line1", "line2", "text1", "text2"), rows_of_pairs)
        rows_of_groups = (
            (n, numbers[row], bool(found.kept[row]), found.text(row))
            for n, rows in enumerate(found.groups)
            for row in rows
        )
        write_rows(self.groups, ("group", "line", "kept", "text"), rows_of_groups)
        if self.deduplicated is not None:
            self._deduplicate(found, Path(self.deduplicated))

    def _copies_rows(self, output: Path) -> bool:
        """Whether rows are copied unchanged rather than as text alone; refuse other files."""
        from clusterns.explorer.corpus import is_encoded
        from clusterns.explorer.deduplicate import same_format

        corpus = as_list(self.corpus)
        by_rows = corpus and self.unit == "row" and not is_encoded(corpus)
        if by_rows and same_format(corpus, output):
            return True
        if output.suffix.lower() != ".txt":
            raise UserError(
                f"--deduplicated {output}: choose a file of the same format as the corpus, or a .txt file for the "
                "text alone."
            )
        return False

    def _deduplicate(self, found: Duplicates, output: Path) -> None:
        from clusterns.explorer.deduplicate import write_without
        from clusterns.files import atomic_file

        numbers, kept = found.rows.numbers.tolist(), found.kept.tolist()
        if self._copies_rows(output):
            removed = {number for number, keep in zip(numbers, kept, strict=True) if not keep}
            write_without(as_list(self.corpus), Columns(self.column), removed, output)
        else:
            with atomic_file(output) as temporary:
                texts = (found.text(row) for row, keep in enumerate(kept) if keep)
                lines = "".join(f"{' '.join(text.splitlines())}\n" for text in texts)
                temporary.write_text(lines, "utf-8")
        log(f"Wrote {sum(kept):,} of {len(kept):,} sentences to {output}.")


class SimilarCommand(SimilarRequest):
    """Find near-duplicates: pairs of sentences above a threshold, and the groups they connect.

    Cosines differ from model to model: the table shows what each threshold would give. By default, near-duplicates
    also share their words: the same numbers, names and negations, and no other word replaced.

    Preview:         clusterns similar runs/mine titles.csv

    Write the rest:  clusterns similar runs/mine titles.csv --threshold 0.95 --deduplicated clean.csv
    """

    top: Annotated[int, Ge(0)] = 10
    """Number of groups to show."""
    yes: bool = False
    """Write the deduplicated corpus without asking. Without a terminal, nothing is asked."""

    def perform(self) -> None:
        """Show the rows to remove before writing anything."""
        found = self.find()
        self.show(found)
        if self.deduplicated is not None and not self.yes and sys.stdin.isatty():
            count = int((~found.kept).sum())
            typer.confirm(f"Leave out {count:,} of {len(found.kept):,} rows?", abort=True, err=True)
        self.write(found)

    def show(self, result: Duplicates) -> None:
        """Print the counts at each threshold, and the largest groups."""
        from rich.table import Table

        from clusterns.explorer.duplicates import LARGE_GROUP

        numbers, groups = result.rows.numbers, result.groups
        table = Table("threshold", "pairs", "groups", "largest", "removed", "kept")
        for level in result.levels:
            mark = "> " if level.threshold == self.threshold else ""
            counts = (level.pairs, level.groups, level.largest, level.removed)
            cells = [f"{count:,}" for count in (*counts, len(numbers) - level.removed)]
            table.add_row(f"{mark}{level.threshold:g}", *cells)
        stdout.print(table)
        if groups and len(groups[0]) > max(LARGE_GROUP, len(numbers) // 10):
            log(
                f"The largest group holds {len(groups[0]):,} of {len(numbers):,} lines: "
                f"{self.threshold:g} is low for this model. Choose a higher --threshold from the table."
            )
        if groups and self.top:
            table = Table("line", "", "text", title=f"{len(groups):,} groups at {self.threshold:g}")
            for group in groups[: self.top]:
                for row in group[:MAX_SHOWN]:
                    mark = "keep" if result.kept[row] else "remove"
                    table.add_row(result.rows.place(row), mark, result.text(row)[:200])
                if len(group) > MAX_SHOWN:
                    table.add_row("", "", f"and {len(group) - MAX_SHOWN:,} more")
                table.add_section()
            stdout.print(table)


similar = function(SimilarRequest)
