"""The exported trainer in a script of one's own: a resume is as if the run had never stopped."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch
from datasets import Dataset
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
from torch import Tensor
from transformers import set_seed

from clusterns import ClusterNSLoss, ContrastiveLoss, ContrastiveTrainer, load_base
from clusterns.errors import UserError
from clusterns.training.checkpoints import load_loss
from tests.helpers.texts import sentences
from tests.helpers.vectors import Vectors


def run(
    base: Path, output: Path, kind: type[SentenceTransformerTrainer] = ContrastiveTrainer, **train
) -> tuple[ContrastiveLoss, Tensor, list[dict]]:
    texts = sentences(64, words=(4, 9))
    set_seed(3)
    model = load_base(str(base), "mean")
    loss = ClusterNSLoss(model, clusters=4, start_step=2, momentum=0.1, margin_weight=1.0)
    arguments = SentenceTransformerTrainingArguments(
        str(output), per_device_train_batch_size=8, max_steps=6, save_steps=4, learning_rate=1e-3,
        dataloader_drop_last=True, use_cpu=True, report_to="none", logging_steps=1, seed=3,
        disable_tqdm=True,
    )  # fmt: skip
    trainer = kind(model, arguments, train_dataset=Dataset.from_dict({"text": texts}), loss=loss)
    trainer.train(**train)
    weights = torch.cat([p.detach().flatten() for p in model.parameters()])
    return loss, weights, trainer.state.log_history


def test_a_resume_has_the_centroids_and_equals_a_run_that_never_stopped(
    tiny_bert: Path, tmp_path: Path
) -> None:
    whole, weights, log = run(tiny_bert, tmp_path / "run")
    assert whole.clustering.started_at == 2
    assert "hard_negative_similarity" in log[-2]
    shutil.rmtree(tmp_path / "run" / "checkpoint-6")
    resumed, resumed_weights, _ = run(tiny_bert, tmp_path / "run", resume_from_checkpoint=True)
    assert (resumed.clustering.step, resumed.clustering.started_at) == (6, 2)
    assert torch.equal(resumed.centroids, whole.centroids)
    assert torch.equal(resumed_weights, weights)


def test_a_checkpoint_without_the_state_is_refused_where_there_is_one(
    tiny_bert: Path, tmp_path: Path
) -> None:
    run(tiny_bert, tmp_path / "run", SentenceTransformerTrainer)
    with pytest.raises(UserError, match="does not contain the state of the loss"):
        run(tiny_bert, tmp_path / "run", resume_from_checkpoint=True)
    load_loss(ContrastiveLoss(Vectors()), tmp_path)  # which has no state


def test_a_checkpoint_of_an_earlier_version_is_refused_in_a_sentence(tmp_path: Path) -> None:
    earlier = {"centroids.vectors": torch.zeros(4, 5), "centroids._extra_state": torch.ones(2)}
    save_file(earlier, tmp_path / "loss.safetensors")
    loss = ClusterNSLoss(Vectors(), clusters=4, start_step=2)
    with pytest.raises(UserError, match="earlier version .* the run cannot be resumed"):
        load_loss(loss, tmp_path)
