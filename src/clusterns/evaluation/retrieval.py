"""Retrieval: do queries find their relevant texts?"""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator
from sentence_transformers.util import cos_sim

from clusterns.evaluation.datasets import Retrieval
from clusterns.vectors.embed import Embedder

CUTS = [1, 3, 5, 10]


class _FromEmbedder(InformationRetrievalEvaluator):
    """Sentence Transformers' evaluator, fed by an embedder: nothing is encoded twice."""

    def embed_inputs(
        self, model: Any, sentences: Any, encode_fn_name: str | None = None, **_: Any
    ) -> Any:
        return torch.from_numpy(model(sentences, encode_fn_name))


def retrieval_of(embed: Embedder, retrieval: Retrieval) -> dict[str, float]:
    """nDCG@10, MRR@10, MAP@100, and accuracy and recall at several cuts, in [0, 1]."""
    evaluator = _FromEmbedder(
        queries=_numbered(retrieval.queries),
        corpus=_numbered(retrieval.texts),
        relevant_docs={
            str(query): {str(text) for text in texts}
            for query, texts in enumerate(retrieval.relevant)
        },
        accuracy_at_k=CUTS,
        precision_recall_at_k=CUTS,
        score_functions={"cosine": cos_sim},
    )
    found: dict[str, dict[str, dict[int, float]]] = evaluator.compute_all_metrics(embed)
    return {
        metric.replace("@k", f"@{cut}"): float(value)
        for metric, values in found["cosine"].items()
        for cut, value in values.items()
        if metric != "precision@k"
    }


def _numbered(texts: Any) -> dict[str, str]:
    return {str(number): text for number, text in enumerate(texts)}
