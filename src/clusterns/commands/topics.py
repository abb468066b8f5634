"""``clusterns topics``: find the topics of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from annotated_types import Ge
from pydantic import BeforeValidator, Field

from clusterns.commands.options import (
    CorpusOptions,
    Files,
    OptionalPath,
    OptionalTexts,
    TopicCount,
    as_list,
    check_suffixes,
)
from clusterns.commands.request import Cli, function
from clusterns.console import log, stdout
from clusterns.data.columns import Columns
from clusterns.data.kinds import TEXTS, file_format
from clusterns.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from rich.tree import Tree

    from clusterns.explorer.texts import Texts
    from clusterns.explorer.topics import Topics


class TopicsOfRows(NamedTuple):
    """The topics of a corpus, and of the rows of that corpus or of new text."""

    topics: Topics
    rows: Texts
    labels: NDArray[np.int16]
    """The topic of each distinct text; -1 for outliers."""
    cosines: NDArray[np.float32]
    """The cosine of each distinct text with its nearest centroid."""


def _groups(groups: Sequence[str | Sequence[int]]) -> list[list[int]]:
    """Parse groups of numbers, which the command line writes as "3,7"."""
    try:
        return [
            [int(part) for part in (group.split(",") if isinstance(group, str) else group)]
            for group in groups
        ]
    except ValueError:
        raise UserError(f"--merge {' '.join(map(str, groups))}: write topics as 3,7.") from None


def _is_text(names: Sequence[str]) -> bool:
    return all(file_format(Path(name)) in TEXTS for name in names)


class TopicsRequest(CorpusOptions):
    """Find topics: clusters of sentences, with their keywords and central sentences.

    Sentences that are no closer to their topic's centroid than outsiders stay unassigned (topic -1).

    clusterns topics runs/mine titles.txt

    clusterns topics runs/mine titles.txt --k 20 --output topics.csv --sentences titles.csv
    """

    corpus: OptionalTexts = Field(default=(), kw_only=False)
    k: TopicCount = None
    merge: Annotated[
        Sequence[Sequence[int]], BeforeValidator(_groups), Cli(list[str], metavar="N,N,...")
    ] = ()
    """Merge these topics. May be repeated."""
    merge_to: Annotated[int | None, Ge(1)] = None
    """Merge the most similar topics until this many remain."""
    outliers: bool = True
    """Leave sentences unassigned that are not close to any topic. --no-outliers: assign each to its nearest topic."""
    output: OptionalPath = None
    """Write the topics to this .csv or .jsonl file."""
    sentences: OptionalPath = None
    """Write the sentences with their topics to this .csv or .jsonl file; outliers have topic -1."""
    assign: Files = ()
    """New text to assign to the topics; --sentences then writes its sentences. May be repeated."""
    seed: int = 0
    """Random seed."""

    def run(self) -> TopicsOfRows:
        """Find the topics and write the requested files."""
        from clusterns.explorer.corpus import check_corpus
        from clusterns.explorer.export import write_rows

        corpus, assign = as_list(self.corpus), as_list(self.assign)
        check_suffixes("--output", self.output, ".csv", ".jsonl")
        check_suffixes("--sentences", self.sentences, ".csv", ".jsonl")
        check_corpus(str(self.model), corpus, self.pooling, assign)
        from clusterns.explorer.topics import find_topics
        from clusterns.vectors.embed import Embedder

        opened = self.open(corpus)
        if len(opened) < 2:
            raise UserError("topics need at least two distinct sentences.")
        topics = find_topics(
            opened.vectors, opened.texts, self.k, seed=self.seed, outliers=self.outliers
        ).merge(self.merge)
        topics = topics.merge_to(self.merge_to or len(topics.topics))
        found = TopicsOfRows(topics, opened.rows, topics.labels, topics.cosines)
        if assign:
            from clusterns.explorer.texts import read_texts

            # A plain text file has no columns, even if the corpus has.
            column = None if _is_text(assign) and not _is_text(corpus) else self.column
            new = read_texts(assign, Columns(column), unit=self.unit)
            embed = Embedder(opened.model, self.batch_size, progress=True)
            found = TopicsOfRows(topics, new, *topics.assign(embed(new.distinct, "document")))
        topic_rows = (
            (t.number, t.size, round(t.cohesion, 4), t.words, [opened.texts[r] for r in t.central])
            for t in topics.topics
        )
        write_rows(self.output, ("topic", "size", "cohesion", "words", "central"), topic_rows)
        labels, cosines, texts = found.labels, found.cosines, found.rows.distinct
        sentence_rows = (
            (int(number), int(labels[row]), round(float(cosines[row]), 4), texts[row])
            for number, row in zip(found.rows.numbers, found.rows.of, strict=True)
        )
        write_rows(self.sentences, ("line", "topic", "cosine", "text"), sentence_rows)
        return found


class TopicsCommand(TopicsRequest):
    tree: bool = False
    """Show how topics merge, as a tree."""

    def show(self, result: TopicsOfRows) -> None:
        """Print the topics, their tree, and how new sentences were assigned."""
        from rich.table import Table

        topics = result.topics
        table = Table("topic", "size", "cohesion", "keywords", "central sentence")
        for topic in topics.topics:
            central = topics.texts[topic.central[0]][:120] if topic.central else ""
            words = ", ".join(topic.words[:6])
            table.add_row(
                str(topic.number), f"{topic.size:,}", f"{topic.cohesion:.2f}", words, central
            )
        stdout.print(table)
        if self.tree and topics.tree:
            stdout.print(_tree(topics, topics.tree[-1].number))
        log(
            f"{len(topics.labels):,} distinct sentences in {len(topics.topics)} topics; "
            f"{topics.outliers:,} outliers."
        )
        if as_list(self.assign):
            labels = result.labels.tolist()
            table = Table("topic", f"of {len(labels):,} new sentences")
            for number, size in Counter(labels).most_common():
                table.add_row("none" if number < 0 else str(number), f"{size:,}")
            stdout.print(table)


def _tree(topics: Topics, number: int, parent: Tree | None = None) -> Tree:
    """The hierarchy of topics below a node."""
    from rich.tree import Tree

    count = len(topics.topics)
    if number < count:
        topic = topics.topics[number]
        text = f"{number}: {', '.join(topic.words[:5])} ({topic.size:,})"
        return Tree(text) if parent is None else parent.add(text)
    node = topics.tree[number - count]
    text = f"{', '.join(node.words[:5])} ({node.size:,}; cosine {node.cosine:.2f})"
    branch = Tree(text) if parent is None else parent.add(text)
    for child in node.children:
        _tree(topics, child, branch)
    return branch


topics = function(TopicsRequest)
