"""Types of evaluation data, as plain values."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.vectors.settings import By

# Accuracy under the best one-to-one match of clusters to classes.
CLUSTERING_ACCURACY = "clustering accuracy"
SEARCH_BY: tuple[By, ...] = ("vectors", "words", "both")  # in the order of the tables


def digest_of(texts: Iterable[str], numbers: NDArray[np.generic]) -> str:
    """A short digest of examples and their order; predictions with equal digests can be compared."""
    digest = hashlib.blake2b("\n".join(texts).encode(), digest_size=8)
    digest.update(np.asarray(numbers, dtype=np.float64).tobytes())
    return digest.hexdigest()


def label_of(name: str, variant: str) -> str:
    """The name of a set in tables: its name, with the variant in brackets."""
    return f"{name} ({variant})" if variant else name


class Identity:
    """Identifies a set: ``name``, ``variant`` ("Hub", "10,000 rows"; "" for the set itself), ``metric``."""

    name: str
    variant: str
    metric: str

    @property
    def label(self) -> str:
        """Its name in tables."""
        return label_of(self.name, self.variant)


@dataclass(frozen=True)
class ScoredPairs(Identity):
    """Sentence pairs with a gold similarity each.

    ``subsets`` maps the names of its subsets to their rows, if it has any (STS12-16).
    """

    sentences1: Sequence[str]
    sentences2: Sequence[str]
    scores: NDArray[np.float64]
    name: str = "pairs"
    source: str = ""
    subsets: dict[str, slice] = field(default_factory=dict)
    variant: str = ""
    metric: str = "Spearman"

    def __post_init__(self) -> None:
        if len(self.scores) < 2 or np.ptp(self.scores) == 0:
            raise UserError(
                f"{self.source or self.name}: a correlation needs at least two pairs with "
                f"different scores; found {len(self.scores)} pairs."
            )

    @property
    def sentences(self) -> list[str]:
        """Every sentence of both sides."""
        return [*self.sentences1, *self.sentences2]

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of pairs."""
        return (len(self.scores),)

    @property
    def clusters(self) -> NDArray[np.intp]:
        """The cluster of each pair, numbered from 0; pairs that share a sentence are in the same cluster.

        A sentence connects all pairs that contain it, so a cluster is a connected component.
        """
        from scipy.sparse import coo_matrix
        from scipy.sparse.csgraph import connected_components

        numbers = {text: number for number, text in enumerate(dict.fromkeys(self.sentences))}
        first = [numbers[text] for text in self.sentences1]
        second = [numbers[text] for text in self.sentences2]
        edges = coo_matrix((np.ones(len(first)), (first, second)), shape=(len(numbers),) * 2)
        _, components = connected_components(edges, directed=False)
        return np.unique(components[first], return_inverse=True)[1]

    @property
    def digest(self) -> str:
        """Identifies the examples."""
        return digest_of(self.sentences, self.scores)


@dataclass(frozen=True)
class LabeledTexts(Identity):
    """Texts with a class each; ``labels`` are numbered from 0 without gaps.

    If examples are pairs of texts (MRPC), ``partners`` contains the second ones.
    """

    texts: Sequence[str]
    labels: NDArray[np.int64]
    partners: Sequence[str] | None = None
    name: str = "texts"
    source: str = ""
    variant: str = ""
    metric: str = CLUSTERING_ACCURACY

    def __post_init__(self) -> None:
        if self.classes < 2:
            raise UserError(f"{self.source or self.name}: needs at least two classes.")

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.labels.max()) + 1 if len(self.labels) else 0

    @property
    def sentences(self) -> list[str]:
        """Every text; both sides if examples are pairs."""
        return [*self.texts, *(self.partners or ())]

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of texts."""
        return (len(self.labels),)

    @property
    def digest(self) -> str:
        """Identifies the examples."""
        return digest_of(self.sentences, self.labels)


@dataclass(frozen=True)
class TransferTask(Identity):
    """A classification task: one part to cross-validate on, or train and test parts, perhaps with a dev part."""

    name: str
    train: LabeledTexts
    test: LabeledTexts | None = None
    dev: LabeledTexts | None = None
    variant: str = ""
    metric: str = "accuracy"

    @property
    def parts(self) -> list[LabeledTexts]:
        """The parts that the task has."""
        return [part for part in (self.train, self.dev, self.test) if part is not None]

    @property
    def sentences(self) -> list[str]:
        """Every text of every part."""
        return [sentence for part in self.parts for sentence in part.sentences]

    @property
    def source(self) -> str:
        """The source of the task."""
        return self.train.source

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of texts in each part; the model is scored on the last one."""
        return tuple(len(part.labels) for part in self.parts)

    @property
    def digest(self) -> str:
        """Identifies the examples that a model is scored on."""
        return (self.test or self.train).digest


@dataclass(frozen=True)
class Retrieval(Identity):
    """Queries, the texts to search, and the positions of each query's relevant texts."""

    queries: Sequence[str]
    texts: Sequence[str]
    relevant: Sequence[frozenset[int]]
    name: str = "queries"
    source: str = ""
    by: By = "vectors"
    variant: str = ""
    metric: str = "nDCG@10"

    @property
    def sentences(self) -> list[str]:
        """Every query and every text."""
        return [*self.queries, *self.texts]

    @property
    def rows(self) -> tuple[int, ...]:
        """Number of queries."""
        return (len(self.queries),)

    @property
    def digest(self) -> str:
        """Identifies the examples."""
        numbers = [number for found in self.relevant for number in (*sorted(found), -1)]
        return digest_of(self.sentences, np.array([len(self.queries), *numbers]))


EvaluationSet = ScoredPairs | LabeledTexts | TransferTask | Retrieval


def input_digest(data: EvaluationSet) -> str:
    """Identifies all examples that affect a score; for a task, this includes the training examples."""
    if isinstance(data, TransferTask):
        return digest_of([part.digest for part in data.parts], np.array([]))
    return data.digest
