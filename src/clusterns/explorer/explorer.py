"""The data that the page requests: sentences, neighbors, topics, and changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clusterns.errors import UserError
from clusterns.explorer.corpus import (
    EmbeddedCorpus,
    open_other,
    short_name,
)
from clusterns.explorer.neighbors import NEAREST, NeighborChange, compare_neighbors, mark_changes
from clusterns.explorer.projection import Projections, quantize
from clusterns.explorer.topics import Topics, find_topics
from clusterns.vectors.settings import By

if TYPE_CHECKING:
    from clusterns.vectors.ranking import Hit

PREVIEW_LENGTH, FULL_LENGTH = 400, 20_000  # characters in a list, and of an opened sentence
N_SAMPLES, N_EXAMPLES, N_SELECTED, N_TOPICS, N_VALUES = 8, 8, 200, 12, 12


class Explorer:
    """Sentences under one model, or two.

    Args:
        title: heading of the page.
        corpora: the sentences embedded by the model, and optionally by a second model.
        topics: topics of the sentences under the first model.
    """

    def __init__(self, title: str, corpora: Sequence[EmbeddedCorpus], topics: Topics) -> None:
        self.title = title
        self.corpora = list(corpora)
        self.topics = topics
        self.texts = corpora[0].index.texts
        self.names = corpora[0].index.names
        self.maps = Projections(self.corpora)
        self.search = lru_cache(maxsize=500)(
            self._search
        )  # cached, since a query is typed letter by letter

    def __len__(self) -> int:
        return len(self.corpora[0])

    @cached_property
    def change(self) -> NeighborChange | None:
        """Changes between the models; None if there is only one."""
        if len(self.corpora) < 2:
            return None
        now, before = (corpus.neighbors[1] for corpus in self.corpora)
        return compare_neighbors(now, before, self.corpora[0].vectors)

    # ---- responses in JSON

    def about(self) -> dict[str, Any]:
        """Describe the corpus and the models."""
        return self._about | {"kinds": self.maps.kinds, "pending": self.maps.pending}

    @cached_property
    def _about(self) -> dict[str, Any]:
        samples = np.random.default_rng(0).permutation(len(self))[:N_SAMPLES]
        change = self.change
        return {
            "title": self.title,
            "count": len(self),
            "models": [{"name": corpus.name} for corpus in self.corpora],
            "columns": [
                {"name": name, "values": values} for name, (values, _) in self._columns.items()
            ],
            "samples": [self.sentence(int(row)) for row in samples],
            "topics": [
                asdict(topic)
                | {
                    "id": topic.number,
                    "examples": [self.sentence(row) for row in topic.central[:N_EXAMPLES]],
                }
                for topic in self.topics.topics
            ],
            "tree": [asdict(node) | {"id": node.number} for node in self.topics.tree],
            "outliers": self.topics.outliers,
            "change": change
            and {
                "k": change.k,
                "shared": float(change.shared.mean()),
                "histogram": change.histogram,
            },
        }

    def sentence(self, row: int, score: float | None = None, length: int = PREVIEW_LENGTH) -> Any:
        """A sentence, or its beginning."""
        text = self.texts[row].as_py() or ""
        return {
            "id": row,
            "text": text if len(text) <= length else text[:length] + " …",
            "name": None if self.names is None else self.names[row].as_py(),
            "topic": int(self.topics.labels[row]),
        } | ({} if score is None else {"score": round(score, 4)})

    def _search(
        self, query: str, top: int, by: By = "both", column: str = "", value: str = ""
    ) -> dict[str, Any]:
        chosen = self.corpora[0].rows.having({column: [value]}) if column else None
        found = [corpus.search([query], top, by, chosen)[0] for corpus in self.corpora]
        return self._by_model([[self._hit(hit) for hit in hits] for hits in found])

    def _hit(self, hit: Hit) -> dict[str, Any]:
        cosine = None if hit.cosine is None else round(hit.cosine, 4)
        return self.sentence(hit.row, hit.score) | {"cosine": cosine, "words": hit.words}

    def _by_model(self, hits: Sequence[list[Any]]) -> dict[str, Any]:
        models = zip(self.corpora, hits, strict=True)
        return {"models": [{"name": corpus.name, "hits": own} for corpus, own in models]}

    def opened(self, row: int) -> dict[str, Any]:
        """A sentence with its neighbors, marked as kept, gained or lost."""
        hits = []
        for corpus in self.corpora:
            cosines, rows = (table[row, :NEAREST].tolist() for table in corpus.neighbors)
            pairs = zip(cosines, rows, strict=True)
            hits.append([self.sentence(r, cosine) for cosine, r in pairs if r >= 0])
        ids = [[hit["id"] for hit in one] for one in hits]
        marks = mark_changes(*ids) if len(ids) == 2 else [["kept"] * len(ids[0])]
        for one, own in zip(hits, marks, strict=True):
            for hit, mark in zip(one, own, strict=True):
                hit["mark"] = mark
        return self.sentence(row, length=FULL_LENGTH) | self._by_model(hits)

    def previews(self, rows: Sequence[int]) -> dict[str, Any]:
        """The beginnings of sentences."""
        return {"sentences": [self.sentence(row) for row in rows]}

    def selection(self, rows: Sequence[int]) -> dict[str, Any]:
        """Describe what sentences have in common."""
        topics = Counter(int(topic) for topic in self.topics.labels[list(rows)])
        return self.previews(rows[:N_SELECTED]) | {
            "count": len(rows),
            "words": self.topics.keywords.of_rows(rows),
            "topics": [
                {"topic": topic, "count": count} for topic, count in topics.most_common(N_TOPICS)
            ],
        }

    def changed(self, count: int) -> dict[str, Any]:
        """The sentences whose neighbors changed most."""
        change = self.change
        rows = change.order[:count] if change else []
        found = [self.sentence(row) | {"shared": int(change.shared[row])} for row in rows if change]
        return {"sentences": found}

    # ---- arrays for the map

    def map(self, model: int, kind: str) -> bytes | None:
        """Positions of the sentences; None if the map does not exist (yet)."""
        if not 0 <= model < len(self.corpora) or kind not in self.maps.kinds:
            return None
        maps = [np.asarray(self.maps.points(n, kind)) for n in range(len(self.corpora))]
        return quantize(maps[model], *maps).astype("<u2").tobytes()

    def topic_labels(self) -> bytes:
        """The topic of each sentence."""
        return self.topics.labels.astype("<i2").tobytes()

    def column(self, number: int) -> bytes | None:
        """The frequent value of the column that each sentence has, as a number; -1 for other values."""
        columns = [*self._columns.values()]
        return columns[number][1] if number < len(columns) else None

    @cached_property
    def _columns(self) -> dict[str, tuple[list[str], bytes]]:
        found = {}
        rows = self.corpora[0].rows
        for name in rows.columns:
            values = rows.values(name)
            counts = Counter(value for value in values if value)
            frequent = [value for value, _ in counts.most_common(N_VALUES)]
            numbers = {value: n for n, value in enumerate(frequent)}
            codes = np.array([numbers.get(value or "", -1) for value in values], dtype="<i2")
            found[name] = (frequent, codes.tobytes())
        return found

    def change_levels(self) -> bytes | None:
        """The share of each sentence's neighbors that changed, from 0 to 255."""
        if self.change is None:
            return None
        share = 1 - self.change.shared / self.change.k
        return np.round(255 * share).astype(np.uint8).tobytes()


def open_explorer(
    model: str,
    corpus: Sequence[str],
    first: EmbeddedCorpus,
    *,
    against: str | None = None,
    k: int | None = None,
    **options: Any,
) -> Explorer:
    """Find the topics of a corpus, and embed it with a second model to compare with.

    Args:
        model: name or path of the model.
        corpus: the sources that ``first`` was opened from.
        first: the corpus with the model.
        against: another model to compare with; "base" is the one that the run started from.
        k: number of topics; None to choose it from the text.
        options: how to load that model; see :func:`clusterns.encoder.load.load_model`.
    """
    if len(first) < 3:
        raise UserError("the explorer needs at least three different sentences.")
    corpora = [first]
    if against is not None:
        corpora.append(open_other(against, first, Path(model), **options))
    topics = find_topics(first.vectors, first.texts, k)
    return Explorer(short_name(corpus[0] if corpus else model), corpora, topics)
