"""``clusterns similar``: near-duplicates."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Ge, Le
from pydantic import Field

from clusterns.commands.options import CorpusOptions, OptionalPath, OptionalTexts, as_list
from clusterns.commands.request import function
from clusterns.console import log, stdout
from clusterns.files import atomic_file

if TYPE_CHECKING:
    from clusterns.explorer.duplicates import Duplicates

SHOWN = 5  # rows of a group


class SimilarRequest(CorpusOptions):
    """Find near-duplicates: pairs of sentences above a threshold, and the groups they connect.

    Cosines differ from model to model: the table shows what each threshold would give.

    clusterns similar runs/mine titles.txt

    clusterns similar runs/mine titles.txt --threshold 0.95 --deduplicated clean.txt
    """

    corpus: OptionalTexts = Field(default=(), kw_only=False)
    threshold: Annotated[float, Ge(-1), Le(1)] = 0.9
    """Minimum cosine of near-duplicates."""
    pairs: OptionalPath = None
    """Write all pairs to this .csv or .jsonl file."""
    groups: OptionalPath = None
    """Write all groups to this .csv or .jsonl file."""
    deduplicated: OptionalPath = None
    """Write the text without near-duplicates to this file. A line is removed only if it duplicates an earlier line
    that is kept."""

    def run(self) -> Duplicates:
        """Find the near-duplicates and write the files asked for."""
        from clusterns.explorer.corpus import check_corpus
        from clusterns.explorer.export import write_rows

        pairs, groups, deduplicated = (
            None if path is None else Path(path)
            for path in (self.pairs, self.groups, self.deduplicated)
        )
        corpus = as_list(self.corpus)
        check_corpus(str(self.model), corpus, self.pooling, pairs=pairs, groups=groups)
        import numpy as np

        from clusterns.explorer.duplicates import THRESHOLDS, Duplicates, find_pairs, line_pairs

        opened = self.open(corpus)
        candidates = find_pairs(*opened.neighbors, min(self.threshold, *THRESHOLDS))
        found = Duplicates(opened.rows, self.threshold, line_pairs(candidates, opened.rows.of))
        numbers, chosen = opened.rows.numbers.tolist(), found.pairs
        if pairs is not None:
            write_rows(
                pairs,
                ("cosine", "line1", "line2", "text1", "text2"),
                (
                    (round(float(c), 4), numbers[a], numbers[b], found.text(a), found.text(b))
                    for a, b, c in zip(chosen.first, chosen.second, chosen.cosines, strict=True)
                ),
            )
            log(f"Wrote {len(chosen.first):,} pairs to {pairs}.")
        if groups is not None:
            write_rows(
                groups,
                ("group", "line", "text"),
                (
                    (n, numbers[row], found.text(row))
                    for n, rows in enumerate(found.groups)
                    for row in rows
                ),
            )
            log(f"Wrote {len(found.groups):,} groups to {groups}.")
        if deduplicated is not None:
            kept = [found.text(row) for row in np.flatnonzero(found.kept)]
            with atomic_file(deduplicated) as temporary:
                text = "".join(f"{' '.join(t.splitlines())}\n" for t in kept)
                temporary.write_text(text, "utf-8")
            log(f"Wrote {len(kept):,} of {len(numbers):,} sentences to {deduplicated}.")
        return found


class SimilarCommand(SimilarRequest):
    top: Annotated[int, Ge(0)] = 10
    """Number of groups to show."""

    def show(self, result: Duplicates) -> None:
        """Print what each threshold would give, and the largest groups."""
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
            table = Table("line", "text", title=f"{len(groups):,} groups at {self.threshold:g}")
            for group in groups[: self.top]:
                for row in group[:SHOWN]:
                    table.add_row(f"{numbers[row]:,}", result.text(row)[:200])
                if len(group) > SHOWN:
                    table.add_row("", f"and {len(group) - SHOWN:,} more")
                table.add_section()
            stdout.print(table)


similar = function(SimilarRequest)
