"""Evaluate any embedding model: STS, transfer, clustering, geometry, one's own sets."""

from __future__ import annotations

from clusterns.evaluation.data import EvaluationData, find_stsb_dev
from clusterns.evaluation.evaluators import ScoredPairsEvaluator, SuiteEvaluator
from clusterns.evaluation.halves import HalvesEvaluator
from clusterns.evaluation.own import read_labelled_texts, read_queries, read_scored_pairs
from clusterns.evaluation.sets import LabelledTexts, Retrieval, ScoredPairs, TransferTask
from clusterns.evaluation.validation import validation

__all__ = [
    "EvaluationData",
    "HalvesEvaluator",
    "LabelledTexts",
    "Retrieval",
    "ScoredPairs",
    "ScoredPairsEvaluator",
    "SuiteEvaluator",
    "TransferTask",
    "find_stsb_dev",
    "read_labelled_texts",
    "read_queries",
    "read_scored_pairs",
    "validation",
]
