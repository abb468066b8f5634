"""Token weights and partial whitening for a trained encoder, as in static embeddings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize
from sentence_transformers.sentence_transformer.modules import WordWeights
from tokenizers import Tokenizer

from clusterns.data.split import evenly_spaced, select_texts
from clusterns.encoder.load import tokenizer_of, with_modules
from clusterns.static.vectors import partial_whitening, sif_weights
from clusterns.static.vocabulary import special_tokens, tokenize

COUNTED_LINES = 100_000
WHITENED_LINES = 10_000


def reweight(
    model: SentenceTransformer,
    texts: Sequence[str],
    *,
    sif_weight: float = 1e-3,
    exponent: float = 0.25,
) -> SentenceTransformer:
    """``model`` with SIF token weights in its mean pooling, and partial whitening at the end.

    Both are fitted on lines spread evenly over ``texts``.

    Args:
        model: an encoder followed by mean pooling.
        texts: the corpus.
        sif_weight: weight a token of frequency p by a / (a + p); this is a.
        exponent: divide principal directions by their variance to this power.
    """
    tokenizer = Tokenizer.from_str(tokenizer_of(model).backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.no_truncation()
    vocabulary = tokenizer.get_vocab()
    counted = tokenize(tokenizer, select_texts(texts, evenly_spaced(len(texts), COUNTED_LINES)))
    frequencies = np.bincount(counted.ids, minlength=max(vocabulary.values()) + 1)
    weights = sif_weights(frequencies, sif_weight, special_tokens(tokenizer))
    tokens = sorted(vocabulary, key=lambda token: vocabulary[token])
    by_token = {token: float(weights[vocabulary[token]]) for token in tokens}
    encoder, *rest = model
    weighted = with_modules(model, [encoder, WordWeights(tokens, by_token), *rest])
    sample = select_texts(texts, evenly_spaced(len(texts), WHITENED_LINES))
    mean, rotation = partial_whitening(weighted.encode(sample), exponent)
    dense = Dense(
        *rotation.shape,
        activation_function=None,
        init_weight=torch.from_numpy(rotation.T.copy()).float(),
        init_bias=torch.from_numpy(-mean @ rotation).float(),
    )
    return with_modules(weighted, [*weighted, dense, Normalize()])
