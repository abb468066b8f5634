"""A linear map behind the vectors of a sentence encoder, as one built-in layer."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense, Normalize


def mapped(model: SentenceTransformer, change: NDArray[np.float64]) -> SentenceTransformer:
    """``model`` with vectors ``x + x change`` in place of x; ``model`` itself stays as it is.

    The layer stands before a last normalisation: the direction is the same, and the length stays 1.

    Args:
        model: any sentence encoder with vectors of d numbers.
        change: (d, d).
    """
    width = len(change)
    layer = Dense(
        width,
        width,
        bias=False,
        activation_function=None,
        init_weight=torch.from_numpy(change.T).float().contiguous(),
        use_residual=True,
    )
    modules = list(model)
    place = len(modules) - isinstance(modules[-1], Normalize)
    return SentenceTransformer(
        modules=[*modules[:place], layer, *modules[place:]],
        device=str(model.device),
        prompts=model.prompts,
        default_prompt_name=model.default_prompt_name,
        similarity_fn_name=model.similarity_fn_name,
        truncate_dim=model.truncate_dim,
    )
