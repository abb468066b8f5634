"""What a user would do instead of `clusterns adapt`, with the settings that its issue trackers and docs suggest.

All train the last two layers, dropout off unless it makes the positives, on the lines that adapt learns from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)

from clusterns import load_base, train
from clusterns.encoder.freeze import train_last_layers
from clusterns.encoder.speed import set_dropout
from clusterns.encoder.whitening import whiten

Rival = Callable[[str, Sequence[str], Path, Path, int], SentenceTransformer]
STEPS, BATCH, RATE = 40, 64, 1e-4


def contrastive(**changes: Any) -> Rival:
    """The last step of a run of this package, whatever its label-free score says."""

    def run(
        name: str, texts: Sequence[str], corpus: Path, output: Path, seed: int
    ) -> SentenceTransformer:
        settings = {
            "max_steps": STEPS, "eval_steps": STEPS, "batch_size": BATCH, "learning_rate": RATE, "patience": 0,
            "train_layers": 2, "heldout": 100, "max_length": 128, **changes,
        }  # fmt: skip
        train(corpus, output, base=name, seed=seed, settings=settings, column="text", quiet=True)
        return SentenceTransformer(str(output / "checkpoints" / f"checkpoint-{STEPS}"))

    return run


def peer(loss_of: Callable[[SentenceTransformer, str], Any], noisy: bool) -> Rival:
    """A loss of Sentence Transformers in its own trainer."""

    def run(
        name: str, texts: Sequence[str], corpus: Path, output: Path, seed: int
    ) -> SentenceTransformer:
        model = load_base(name)
        loss = loss_of(model, name)
        if noisy:
            set_dropout(model, 0.0)
        train_last_layers(model, 2)  # afterwards: TSDAE ties weights, which unfreezes them
        rows = {
            "anchor": [deleted(text, seed) for text in texts] if noisy else list(texts),
            "positive": list(texts),
        }
        arguments = SentenceTransformerTrainingArguments(
            str(output), max_steps=STEPS, per_device_train_batch_size=BATCH, learning_rate=RATE, seed=seed,
            save_strategy="no", report_to="none", use_cpu=True, disable_tqdm=True, dataloader_drop_last=True,
        )  # fmt: skip
        SentenceTransformerTrainer(model, arguments, Dataset.from_dict(rows), loss=loss).train()
        return model.eval()

    return run


def deleted(text: str, seed: int) -> str:
    """TSDAE's noise: six words of ten are gone."""
    import random

    words = text.split()
    generator = random.Random(f"{seed} {text}")
    kept = [word for word in words if generator.random() > 0.6]
    return " ".join(kept or words[:1])


def tsdae(model: SentenceTransformer, name: str) -> Any:
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss

    return DenoisingAutoEncoderLoss(model, decoder_name_or_path=name, tie_encoder_decoder=True)


def gist(model: SentenceTransformer, name: str) -> Any:
    from sentence_transformers.sentence_transformer.losses import GISTEmbedLoss

    return GISTEmbedLoss(model, load_base(name), temperature=0.05)


def whitened(
    name: str, texts: Sequence[str], corpus: Path, output: Path, seed: int
) -> SentenceTransformer:
    return whiten(load_base(name), texts, 256, max_length=128, quiet=True)


RIVALS: dict[str, Rival] = {
    "simcse": contrastive(method="simcse", dropout=0.1),
    "crops": contrastive(method="simcse", positives="crop", dropout=0.0),
    "clusterns": contrastive(method="clusterns", clusters=64, sigma=1.0, dropout=0.1),
    "tsdae": peer(tsdae, noisy=True),
    "gist": peer(gist, noisy=False),
    "whitening": whitened,
}
