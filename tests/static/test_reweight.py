from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from clusterns.encoder.load import load_base
from clusterns.static.reweight import reweight
from tests.helpers.models import open_plain
from tests.helpers.texts import sentences


def test_weights_and_whitening_by_hand(tiny_bert: Path, tmp_path: Path) -> None:
    base, texts = load_base(str(tiny_bert), "mean"), sentences(120)
    reweight(base, texts, sif_weight=0.01, exponent=0.4).save_pretrained(str(tmp_path))
    found = open_plain(tmp_path)
    tokens = [base.tokenizer.tokenize(text) for text in texts]
    counts = Counter(token for each in tokens for token in each)
    total = sum(counts.values())

    states = base.encode(texts, output_value="token_embeddings")
    by_hand = []
    for of_text, each in zip(tokens, states, strict=True):
        weights = np.array([0.01 / (0.01 + counts[token] / total) for token in of_text])
        inner = each.numpy()[1 : 1 + len(of_text)]  # without [CLS] and [SEP]
        by_hand.append(weights @ inner / weights.sum())
    vectors = np.array(by_hand, np.float64)
    vectors -= vectors.mean(axis=0)
    variances, directions = np.linalg.eigh(np.cov(vectors, rowvar=False))
    kept = variances > 1e-6 * variances[-1]
    white = vectors @ (directions[:, kept] * variances[kept] ** -0.4)
    white /= np.linalg.norm(white, axis=1, keepdims=True)
    ours = found.encode(texts)
    np.testing.assert_allclose(ours @ ours.T, white @ white.T, atol=1e-3)
