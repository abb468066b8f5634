"""A frozen judge (DCLR): a model that is trained already says which negatives are false ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.losses.batch import Batch, Rows
from clusterns.losses.distributed import gather
from clusterns.losses.part import Part, Terms, TermsOf
from clusterns.losses.tokenised import Features, mini_batches, sorted_by_length

AT_ONCE = 64


class Judge(Part):
    """In-batch negatives that another model finds more alike than ``above`` leave the denominator.

    It reads the rows as they are tokenised for the model that is trained, or, where its tokeniser
    is another one, columns of its own behind them.

    Args:
        judge: the frozen model. It can be loaded again, so it is no part of a checkpoint.
        above: cosine from which on a negative is false (phi).
        columns: the tokenised columns of anchors and positives that it reads.
    """

    def __init__(
        self, judge: SentenceTransformer, above: float = 0.9, *, columns: tuple[int, int] = (0, 1)
    ) -> None:
        super().__init__()
        self.judge = judge.eval().requires_grad_(False)
        self.above = above
        self.read = columns
        self._verdict: tuple[Tensor, Tensor] | None = None

    def see(self, model: Any, columns: Sequence[Features], learn: bool) -> None:
        """Embed the anchors and the positives of all processes; one column stands for both."""
        # A batch without a column of its own for the positives has one column for both.
        first, second = (min(each, len(columns) - 1) for each in self.read)
        anchors = self._embedded(columns[first])
        positives = anchors if second == first else self._embedded(columns[second])
        self._verdict = gather(anchors), gather(positives)

    def _embedded(self, column: Features) -> Tensor:
        """(n, d) unit vectors of the judge."""
        self.judge.to(column["attention_mask"].device)
        rows, back = sorted_by_length(column)
        parts = [self.judge(part)["sentence_embedding"] for part in mini_batches(rows, AT_ONCE)]
        return F.normalize(torch.cat(parts), dim=-1)[back]

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """The negatives that were judged to be false ones."""
        assert self._verdict is not None
        anchors, positives = self._verdict

        def terms(rows: Rows) -> Terms:
            alike = anchors[rows.targets] @ positives.T > self.above
            return Terms(excluded=alike.scatter(1, rows.targets[:, None], False))

        return terms

    def diagnostics(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The share of the in-batch negatives that were judged to be false ones."""
        if self._verdict is None:
            return {}
        anchors, positives = self._verdict
        n = len(anchors)
        alike = (anchors @ positives.T > self.above).fill_diagonal_(False)
        return {"judged_false_negatives": alike.sum() / max(1, n * n - n)}

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {"judge_above": self.above}
