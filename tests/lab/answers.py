"""StoredResult answers of made-up models to made-up pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from clusterns.evaluation.datasets import ScoredPairs
from clusterns.evaluation.results import SetResult, StoredResult

RANDOM = np.random.default_rng(0)
GOLD = RANDOM.integers(0, 11, size=300) / 2
TEXTS = [f"text {number}" for number in range(300)]
PAIRS = ScoredPairs(TEXTS, TEXTS, GOLD, "STS12")


def keep_answers(run: Path, label: str, seed: int, noise: float) -> float:
    """Keep the answers of a model that says gold and so much noise, and give its score."""
    random = np.random.default_rng([seed, *label.encode()])
    answers = (GOLD + noise * random.normal(size=300)).astype(np.float32)
    found = {"STS12": SetResult(0, "Spearman", 300, 0, digest=PAIRS.digest)}
    kept = StoredResult(
        "sts", "STS12", PAIRS.digest, label, {}, {}, {}, found, predictions={"sts": answers}
    )
    kept.write(run / "evaluation")
    return 100 * float(spearmanr(answers, GOLD).statistic)
