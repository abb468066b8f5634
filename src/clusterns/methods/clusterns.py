"""ClusterNS: SimCSE's frame, with centroids as hard negatives and clusters as false negatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sentence_transformers import SentenceTransformer
from torch import Tensor

from clusterns.encoder.randomness import kept_random_state
from clusterns.encoder.training_only import heads_on
from clusterns.losses.cluster_ns import ClusterNSLoss
from clusterns.methods.settings import ClusteringSettings, ClusterNSSettings
from clusterns.methods.simcse import frame


def clusterns(
    model: SentenceTransformer, settings: ClusterNSSettings, seed: int, corpus: Sequence[str]
) -> ClusterNSLoss:
    """The loss of ClusterNS; ``corpus`` is read for a global initialisation only."""
    chosen = settings.model_dump(include=set(ClusteringSettings.model_fields))
    initialisation = chosen.pop("initialisation")
    sample_size = chosen.pop("initialisation_sample")
    return ClusterNSLoss(
        model,
        **chosen,
        seed=seed,
        corpus_vectors=(
            _training_vectors(model, corpus, sample_size) if initialisation == "corpus" else None
        ),
        **frame(model, settings),
    )


def _training_vectors(
    model: SentenceTransformer, corpus: Sequence[str], sample_size: int
) -> Callable[[], Tensor]:
    """A function that embeds evenly spaced sentences of the corpus as training does."""
    step = max(1, len(corpus) // sample_size)

    def embed() -> Tensor:
        sample = [corpus[i] for i in range(0, len(corpus), step)][:sample_size]
        was_training = model.training
        with heads_on(model), model.truncate_embeddings(None), kept_random_state(model.device):
            vectors = model.encode(sample, convert_to_tensor=True, show_progress_bar=False)
        model.train(was_training)
        return vectors

    return embed
