"""Everything that the page can ask about: sentences, neighbours, topics, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.explore.keywords import Words
from clusterns.explore.lens import Lens
from clusterns.explore.neighbors import NEAREST, Change, find_change, marks
from clusterns.explore.projection import Maps, quantised
from clusterns.explore.topics import Topics

BEGINNING = 400  # characters of a sentence in a list
WHOLE = 20_000  # and where it is opened
SAMPLES, EXAMPLES, SELECTED = 8, 8, 200


class Scene:
    """The sentences as one model sees them, or two.

    Args:
        title: what to call it.
        lenses: the model, and where there is one, the model to compare with; over the same
            sentences in the same order.
        topics: of the sentences, with the first model.
    """

    def __init__(self, title: str, lenses: Sequence[Lens], topics: Topics) -> None:
        self.title = title
        self.lenses = list(lenses)
        self.topics = topics
        self.texts = lenses[0].index.texts
        self.names = lenses[0].index.names
        self.maps = Maps(self.lenses)
        self.search = lru_cache(maxsize=500)(self._search)  # a query is typed letter by letter

    def __len__(self) -> int:
        return len(self.lenses[0])

    @cached_property
    def change(self) -> Change | None:
        """What the second model saw differently; None where there is none."""
        if len(self.lenses) < 2:
            return None
        now, before = (lens.neighbours[1] for lens in self.lenses)
        return find_change(now, before, self.lenses[0].vectors)

    @cached_property
    def words(self) -> Words:
        """The words of all sentences, counted when they are first asked for."""
        return Words(text or "" for text in self.texts.to_pylist())

    # ---- answers, ready for JSON

    def about(self) -> dict[str, Any]:
        """What there is."""
        return {
            "title": self.title,
            "count": len(self),
            "models": [{"name": lens.name} for lens in self.lenses],
            "kinds": self.maps.kinds,
            "pending": self.maps.pending,
            "samples": self._samples,
            "topics": self._topics,
            "nowhere": self.topics.nowhere,
            "change": self._change,
        }

    def sentence(self, row: int, score: float | None = None, length: int = BEGINNING) -> Any:
        """One sentence, or its beginning."""
        text = self.texts[row].as_py() or ""
        return {
            "id": row,
            "text": text if len(text) <= length else text[:length] + " …",
            "name": None if self.names is None else self.names[row].as_py(),
            "topic": int(self.topics.labels[row]),
        } | ({} if score is None else {"score": round(score, 4)})

    def _search(self, query: str, top: int) -> dict[str, Any]:
        models = []
        for lens in self.lenses:
            hits = zip(*lens.search(query, top), strict=True)
            models.append(
                {"name": lens.name, "hits": [self.sentence(row, score) for score, row in hits]}
            )
        return {"models": models}

    def opened(self, row: int) -> dict[str, Any]:
        """A sentence with its neighbours: which were gained and which lost."""
        found = []
        for lens in self.lenses:
            scores, rows = (table[row, :NEAREST].tolist() for table in lens.neighbours)
            found.append([(r, s) for r, s in zip(rows, scores, strict=True) if r >= 0])
        ids = [[r for r, _ in one] for one in found]
        kinds = marks(*ids) if len(ids) == 2 else (["kept"] * len(ids[0]),)
        models = [
            {
                "name": lens.name,
                "hits": [
                    self.sentence(r, s) | {"mark": kind}
                    for (r, s), kind in zip(one, own, strict=True)
                ],
            }
            for lens, one, own in zip(self.lenses, found, kinds, strict=True)
        ]
        return self.sentence(row, length=WHOLE) | {"models": models}

    def selection(self, rows: Sequence[int]) -> dict[str, Any]:
        """What sentences have in common."""
        topics = Counter(int(topic) for topic in self.topics.labels[list(rows)])
        return {
            "count": len(rows),
            "words": self.words.typical_of(rows),
            "topics": [{"topic": topic, "count": count} for topic, count in topics.most_common(12)],
            "sentences": [self.sentence(row) for row in rows[:SELECTED]],
        }

    def changed(self, count: int) -> list[dict[str, Any]]:
        """The sentences where most changed."""
        change = self.change
        if change is None:
            return []
        return [
            self.sentence(row) | {"kept": int(change.kept[row])} for row in change.order[:count]
        ]

    # ---- arrays for the map

    def map(self, lens: int, kind: str) -> bytes | None:
        """Places of the points, or None where there is no such map (yet)."""
        if not 0 <= lens < len(self.lenses) or kind not in self.maps.kinds:
            return None
        maps = [self.maps.points(number, kind) for number in range(len(self.lenses))]
        if any(points is None for points in maps):
            return None
        all_points = [np.asarray(points) for points in maps]
        return quantised(all_points[lens], *all_points).astype("<u2").tobytes()

    def topic_of_each(self) -> bytes:
        """The topic of each point."""
        return self.topics.labels.astype("<i2").tobytes()

    def change_of_each(self) -> bytes | None:
        """The share of neighbours of each point that changed, in 255 steps."""
        if self.change is None:
            return None
        share: NDArray[np.float64] = 1 - self.change.kept / self.change.k
        return np.round(255 * share).astype(np.uint8).tobytes()

    @cached_property
    def _samples(self) -> list[Any]:
        rows = np.random.default_rng(0).permutation(len(self))[:SAMPLES]
        return [self.sentence(int(row)) for row in rows]

    @cached_property
    def _topics(self) -> list[Any]:
        return [
            {
                "id": topic.number,
                "size": topic.size,
                "words": topic.words,
                "tightness": round(topic.tightness, 4),
                "examples": [self.sentence(row) for row in topic.central[:EXAMPLES]],
            }
            for topic in self.topics.topics
        ]

    @cached_property
    def _change(self) -> Any:
        if self.change is None:
            return None
        return {
            "k": self.change.k,
            "kept": float(self.change.kept.mean()),
            "histogram": self.change.histogram,
        }
