"""What MODEL may be: a run folder, a SentenceTransformer, a plain encoder, or word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Transformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer

from clusterns.encoder.base import is_sentence_transformer, resolve_base
from clusterns.errors import UserError

POOLINGS = ("cls", "mean", "max", "lasttoken", "first-last-avg", "embedding-avg")
LAYERS = {"first-last-avg": (1, -1), "embedding-avg": (0,)}

# A half-precision checkpoint would otherwise run in half precision, which a CPU does slowly and
# less exactly; and only safetensors are read, never a pickle.
WEIGHTS: dict[str, Any] = {"dtype": torch.float32, "use_safetensors": True}


class LayerAverage(torch.nn.Module):
    """Replaces the token vectors by their mean over chosen layers; layer 0 is the embeddings."""

    def __init__(self, layers: tuple[int, ...]) -> None:
        super().__init__()
        self.layers = layers

    def forward(self, features: dict[str, Any]) -> dict[str, Any]:
        """Average ``all_layer_embeddings`` over the layers: (n, tokens, d)."""
        states = features["all_layer_embeddings"]
        chosen = torch.stack([states[layer] for layer in self.layers])
        return features | {"token_embeddings": chosen.mean(dim=0)}

    def extra_repr(self) -> str:
        """The layers, which a model's fingerprint must tell apart."""
        return f"layers={self.layers}"


def load_model(
    name: str,
    pooling: str | None = None,
    max_length: int | None = None,
    device: str | None = None,
) -> SentenceTransformer:
    """Load MODEL as something with ``encode``.

    Args:
        name: a run folder, a SentenceTransformer's path or Hub name, a plain Transformers
            encoder's path or Hub name, or a text file of word vectors.
        pooling: how a plain encoder's token vectors become one; needed there, refused elsewhere.
        max_length: tokens to read of each sentence instead of what the model says.
        device: where to run; by default the best there is.
    """
    path = Path(name)
    if path.is_file():
        _refuse(pooling, name, "word vectors are averaged")
        model = load_word_vectors(path)
    else:
        model = _load_transformer(model_place(name), pooling, device)
    if max_length is not None:
        model.max_seq_length = max_length
    return model.eval()


def model_place(name: str) -> str:
    """The folder or Hub name that holds a model; a run folder has its final one in ``model``."""
    if (Path(name) / "model").is_dir():
        return str(Path(name) / "model")
    try:
        return resolve_base(name)
    except UserError as error:
        raise UserError(
            f"MODEL {name!r} is no run folder, no folder of a model and no file of word vectors, "
            "and it is neither in the local Hub cache nor to be had from the Hub."
        ) from error


def _load_transformer(place: str, pooling: str | None, device: str | None) -> SentenceTransformer:
    # Weights that a checkpoint lacks (BERT's pooler, which no pooling here uses) are drawn at
    # random; with a fixed seed the model's fingerprint stays the same.
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return _load_seeded(place, pooling, device)


def _load_seeded(place: str, pooling: str | None, device: str | None) -> SentenceTransformer:
    try:
        if is_sentence_transformer(place):
            _refuse(pooling, place, "it is a SentenceTransformer with a pooling of its own")
            return SentenceTransformer(place, device=device, model_kwargs=dict(WEIGHTS))
        if pooling not in POOLINGS:
            raise UserError(
                f"{place} is a plain encoder: say how its token vectors become one with --pooling "
                f"({', '.join(POOLINGS)})."
            )
        layers = LAYERS.get(pooling)
        config = {"output_hidden_states": True} if layers else {}
        transformer = Transformer(place, model_kwargs=dict(WEIGHTS), config_kwargs=config)
        pool = Pooling(transformer.get_embedding_dimension(), "mean" if layers else pooling)
        middle = [LayerAverage(layers)] if layers else []
        return SentenceTransformer(modules=[transformer, *middle, pool], device=device)
    except (OSError, ValueError, ImportError) as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise UserError(f"cannot load the model {place}: {first}") from error


def _refuse(pooling: str | None, name: str, reason: str) -> None:
    if pooling is not None:
        raise UserError(f"--pooling {pooling} does not go with {name}: {reason}.")


def load_word_vectors(path: Path) -> SentenceTransformer:
    """Load word vectors in GloVe's text format; a sentence is the mean of its known words.

    No word is left out as a stop word. A sentence without a known word becomes the zero vector.
    """
    import pandas

    try:
        table = pandas.read_csv(
            path, sep=" ", header=None, quoting=3, na_filter=False, encoding="utf-8"
        )
        weights = table.iloc[:, 1:].to_numpy(dtype="float32")
        if not weights.shape[1]:
            raise ValueError("a word without numbers")
    except (ValueError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} is not in GloVe's text format (a word and its numbers a line): {error}"
        ) from error
    words = ["\0padding", *(str(word) for word in table[0])]
    padded = torch.cat([torch.zeros(1, weights.shape[1]), torch.from_numpy(weights.copy())])
    embeddings = WordEmbeddings(WhitespaceTokenizer(words, stop_words=()), padded)
    return SentenceTransformer(modules=[embeddings, Pooling(weights.shape[1], "mean")])
