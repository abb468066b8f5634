"""A frozen judge (DCLR): a model that is trained already says which negatives are false ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.encoder.load import load_model
from clusterns.encoder.locate import is_sentence_transformer, resolve_model
from clusterns.losses.batch import Batch, Rows, most_cells
from clusterns.losses.distributed import gather
from clusterns.losses.part import Part, Terms, TermsOf
from clusterns.losses.tokenised import Features, mini_batches, sorted_by_length

AT_ONCE = 64


class Judge(Part):
    """In-batch negatives that another model finds more alike than ``above`` leave the denominator.

    Args:
        judge: the frozen model. It can be loaded again, so it is no part of a checkpoint.
        above: cosine from which on a negative is false (phi).
        column: the tokenised column that it reads, in its own tokens.
    """

    def __init__(self, judge: SentenceTransformer, above: float = 0.9, *, column: int = 0) -> None:
        super().__init__()
        self.judge = judge.eval().requires_grad_(False)
        self.above = above
        self.column = column
        self._vectors: Tensor | None = None

    def see(self, model: Any, columns: Sequence[Features], learn: bool) -> None:
        """Embed the sentences of all processes: (N, d) unit vectors."""
        column = columns[self.column]
        self.judge.to(column["attention_mask"].device)
        _, back = sorted_by_length(column)
        parts = [self.judge(part)["sentence_embedding"] for part in mini_batches(column, AT_ONCE)]
        vectors = torch.cat(parts)
        # Half precision could not tell a cosine of 0.90 from one of 0.904.
        vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
        self._vectors = gather(F.normalize(vectors if len(parts) == 1 else vectors[back], dim=-1))

    def follow(self, batch: Batch, learn: bool) -> TermsOf:
        """The negatives that were judged to be false ones."""
        vectors = self._vectors
        assert vectors is not None

        def terms(rows: Rows) -> Terms:
            alike = vectors[rows.targets] @ vectors.T > self.above
            return Terms(excluded=alike.scatter(1, rows.targets[:, None], False))

        return terms

    def diagnostics(self, batch: Batch) -> Mapping[str, Tensor | float]:
        """The share of the in-batch negatives that were judged to be false ones."""
        if self._vectors is None:
            return {}
        vectors, n = self._vectors, len(self._vectors)
        few = vectors.split(max(1, most_cells(vectors.device) // n))
        alike = sum((some @ vectors.T > self.above).sum() for some in few)
        themselves = (vectors.square().sum(1) > self.above).sum()
        return {"judged_false_negatives": (alike - themselves) / max(1, n * n - n)}

    def config(self) -> Mapping[str, Any]:
        """Settings for the model card."""
        return {"judge_above": self.above}


@lru_cache(maxsize=1)
def load_judge(name: str) -> SentenceTransformer:
    """The judge by its name, loaded once for loss and collator; of a plain encoder (SimCSE's
    releases are such), the state of the first token."""
    plain = not is_sentence_transformer(resolve_model(name))
    return load_model(name, pooling="cls" if plain else None)
