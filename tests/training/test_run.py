from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.locks import locked
from clusterns.methods.method import Context
from clusterns.methods.registry import get_part
from clusterns.training.build import build_loss, build_model
from clusterns.training.folder import RunFolder, RunResult, read_metrics
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.trainer import NotFiniteError
from tests.helpers.models import Scripted
from tests.training.conftest import TOPICS, RunIt

Capture = pytest.CaptureFixture[str]
MakeRecipe = Callable[..., Recipe]


def test_the_last_step_is_kept_with_a_warning_if_the_score_fell(
    run: RunIt, capsys: Capture
) -> None:
    result, folder = run([0.3, 0.5, 0.4, 0.3, 0.1], patience=1, checkpoint="last")
    assert (result.best_score, result.best_step, result.steps) == (0.1, 8, 8)
    assert "probably collapsed" in capsys.readouterr().err
    last = load_file(folder.checkpoints / "checkpoint-8" / "model.safetensors")
    kept = load_file(folder.model / "model.safetensors")
    assert kept.keys() == last.keys()
    assert all(torch.equal(kept[key], last[key]) for key in kept)
    slight = RunResult("score", 0.3, 0.25, best_step=2, steps=2).harm or ""
    assert "fell from 0.3000 to 0.2500" in slight
    assert "collapsed" not in slight


def test_a_run_leaves_everything_that_its_folder_promises(
    tiny_bert: Path, run: RunIt, recipe: MakeRecipe, tmp_path: Path
) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    scores = [0.1, 0.2, 0.5, 0.4, 0.3]
    evaluator = Scripted(list(scores))
    corpus, logs = {"fingerprint": "f"}, {"report_to": ["tensorboard"]}
    result, folder = run(evaluator, corpus=corpus, **logs)
    assert (result.base_score, result.best_score, result.best_step) == (0.1, 0.5, 4)
    assert (result.steps, result.clustering_started_at) == (8, 2)
    resolved = yaml.safe_load(folder.recipe_file.read_text())
    assert resolved["clusters"] == 4
    assert resolved["temperature"] == 0.05
    assert load_recipe(str(folder.recipe_file)) == recipe(**logs)
    assert folder.record["versions"]["torch"] == torch.__version__
    lines = read_metrics(folder.metrics_file)
    assert lines[0] == {"step": 0, "eval_score": 0.1}
    with folder.metrics_file.open("a") as file:
        file.write('{"step": 9, "lo')  # as a kill leaves it
    assert read_metrics(folder.metrics_file) == lines
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 9))
    assert [line["eval_score"] for line in lines if "eval_score" in line] == scores
    assert {"hard_negative_similarity", "false_negative_rate"} <= lines[-2].keys()
    events = [(line["step"], line["event"]) for line in lines if "event" in line]
    assert events == [(2, "clustering starts, 4 centroids")]
    (file,) = folder.path.rglob("events.out.tfevents.*")
    board = EventAccumulator(str(file)).Reload()
    (text,) = board.Tensors("train/event/text_summary")
    assert (text.step, text.tensor_proto.string_val[0]) == (2, b"clustering starts, 4 centroids")
    steps = [event.step for event in board.Scalars("train/hard_negative_similarity")]
    assert steps == list(range(2, 9))  # from the step at which clustering starts
    assert board.Scalars("eval/score")[-1].value == pytest.approx(0.3)

    model = SentenceTransformer(str(folder.model))
    assert [type(m).__name__ for m in model] == ["Transformer", "Pooling"]
    assert model[1].pooling_mode == "cls"
    assert model.max_seq_length == load_base(str(tiny_bert)).max_seq_length
    weights = torch.cat([p.detach().flatten() for p in model[0].parameters()])
    assert torch.equal(weights, evaluator.seen[2][0])  # those of step 4
    card = (folder.model / "README.md").read_text()
    for expected in (
        "`ContrastiveLoss` with `Clustering`", "Clustering-Aware Negative Sampling",
        f"# {tiny_bert.name} trained with ClusterNS\n",
        "| score | 0.1000 | 0.5000 |\n\nThe model is from step 4 of 8.", f"base: {tiny_bert.name}\n",
    ):  # fmt: skip
        assert expected in card
    # A base_model must be the name of a Hub model.
    for unexpected in ("widget", "Unknown", "base_model", str(tiny_bert), str(tmp_path)):
        assert unexpected not in card


def test_if_nothing_beats_the_base_the_base_is_the_result(
    tiny_bert: Path, run: RunIt, capsys: Capture
) -> None:
    result, folder = run([0.9, 0.1, 0.2], patience=2)
    assert (result.best_step, result.best_score) == (0, 0.9)
    assert result.steps == 4  # two validations without gain over the base
    assert "No step beat the base" in capsys.readouterr().err
    base = load_base(str(tiny_bert), "cls").encode(["a song"])
    assert (SentenceTransformer(str(folder.model)).encode(["a song"]) == base).all()


def test_training_lowers_the_loss_and_brings_topics_together(run: RunIt) -> None:
    class TopicGap(BaseEvaluator):
        """Similarity within a topic minus similarity across topics."""

        def __init__(self) -> None:
            super().__init__()
            self.primary_metric = "gap"

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            sentences = [" ".join(w) for words in TOPICS.values() for w in (words[:4], words[4:])]
            s = model.similarity(*[model.encode(sentences, convert_to_tensor=True)] * 2)
            within = (s[0, 1] + s[2, 3] + s[4, 5]) / 3
            across = (s[0, 2] + s[0, 4] + s[2, 4] + s[1, 3]) / 4
            return {"gap": float(within - across)}

    changes = {"positives": "crop", "pooling": "mean"}
    result, folder = run(TopicGap(), max_steps=60, eval_steps=20, epochs=20, **changes)
    losses = [line["loss"] for line in read_metrics(folder.metrics_file) if "loss" in line]
    assert sum(losses[-5:]) < sum(losses[2:7])
    assert result.best_score > result.base_score + 0.05


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_the_last_checkpoint(
    run: RunIt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Poison(Scripted):
        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            scores = super().__call__(model)
            if len(self.seen) == 3:  # step 4 is being validated: poison what follows
                self.poisoned = next(model[0].parameters())
            return scores

    evaluator = Poison([0.1, 0.2, 0.3, 0.4])
    original = torch.optim.AdamW.step

    def step(self: torch.optim.AdamW, *args, **kwargs):
        done = original(self, *args, **kwargs)
        if hasattr(evaluator, "poisoned"):
            evaluator.poisoned.data.fill_(float("nan"))
        return done

    monkeypatch.setattr(torch.optim.AdamW, "step", step)
    with pytest.raises(NotFiniteError, match="learning_rate"):
        run(evaluator, log_steps=100)
    folder = RunFolder(tmp_path / "run")
    kept = sorted(path.name for path in folder.checkpoints.glob("checkpoint-*"))
    assert kept == ["checkpoint-2", "checkpoint-4"]
    assert not folder.model.exists()


def test_output_folders_are_guarded(recipe: MakeRecipe, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.mkdir()
    (full / "precious.txt").write_text("x")
    with pytest.raises(UserError, match="not empty"):
        RunFolder(full).check(resume=False)
    with pytest.raises(UserError, match="is a file"):
        RunFolder(full / "precious.txt").check(resume=False)
    with pytest.raises(UserError, match="there is no run"):
        RunFolder(tmp_path / "nowhere").check(resume=True)
    folder = RunFolder(tmp_path / "run")
    folder.create(recipe(), {"fingerprint": "one"})
    with pytest.raises(UserError, match="--resume"):
        folder.check(resume=False)
    folder.check_same(recipe(check_memory=False), "one")
    with pytest.raises(UserError, match="the corpus is not the text"):
        folder.check_same(recipe(), "two")
    with pytest.raises(UserError, match=r"temperature = 0\.1 differs"):
        folder.check_same(recipe(temperature=0.1), "one")
    folder.note(metric="eval_STS-B_spearman")  # as STS-B dev was once logged
    folder.check_same(recipe(), "one", "eval_STS-B-dev_spearman")
    with pytest.raises(UserError, match="is validated by eval_STS-B_spearman, not by eval_a"):
        folder.check_same(recipe(), "one", "eval_a_spearman")


def test_a_run_knows_its_base_by_its_weights(
    tiny_bert: Path, recipe: MakeRecipe, tmp_path: Path
) -> None:
    base = Path(shutil.copytree(tiny_bert, tmp_path / "base"))
    folder = RunFolder(tmp_path / "run")
    folder.create(recipe(base=str(base)), {"fingerprint": "one"})
    folder.check_same(recipe(base=str(base)), "one")
    with (base / "model.safetensors").open("ab") as weights:
        weights.write(b" ")
    with pytest.raises(UserError, match="weights of the base have changed"):
        folder.check_same(recipe(base=str(base)), "one")


@pytest.mark.parametrize(
    ("variable", "changes", "message"),
    [
        ("ACCELERATE_USE_FSDP", {}, "FSDP, which splits .* torchrun"),
        ("ACCELERATE_USE_DEEPSPEED", {}, "DeepSpeed, which splits .* torchrun"),
        ("", {"batch_size": 200}, "160 sentences for training, fewer than batch_size = 200"),
    ],
)
def test_a_run_that_cannot_work_writes_nothing(
    variable: str, changes: dict[str, Any], message: str, run: RunIt, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    if variable:
        monkeypatch.setenv(variable, "true")
    with pytest.raises(UserError, match=message):
        run([0.1], **changes)
    assert not (tmp_path / "run").exists()


def test_a_global_initialization_sees_the_whole_corpus_and_needs_k_sentences(
    tiny_bert: Path, recipe: MakeRecipe
) -> None:
    chosen = recipe(initialization="corpus", initialization_sample=100)
    texts = [f"sentence {i}" for i in range(160)]
    seen: list[str] = []

    def embed(sentences: list[str]) -> torch.Tensor:
        seen.extend(sentences)
        return torch.zeros(len(sentences), 32)

    context = Context(chosen, load_base(str(tiny_bert)), texts, embed)
    get_part("clustering").make_part(chosen, context).corpus_vectors()
    assert seen == [texts[i * 160 // 100] for i in range(100)]
    with pytest.raises(UserError, match="3 sentences cannot start 4 clusters"):
        get_part("clustering").make_part(chosen, replace(context, texts=texts[:3]))


def test_a_trained_model_is_kept_whatever_it_scores_once_saved(run: RunIt, capsys: Capture) -> None:
    class Wavering(Scripted):
        """Never gives the same model the same score twice."""

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            self.seen = []
            return super().__call__(model)

    result, folder = run(Wavering([0.1, 0.5, 0.4]), max_steps=2)
    assert result.best_score == 0.5
    assert "the saved model scores 0.4000, but scored 0.5000" in capsys.readouterr().err
    assert folder.is_finished
    assert SentenceTransformer(str(folder.model)).encode("a song").shape == (32,)


def test_two_runs_in_one_folder_are_refused_and_a_truncating_base_stays_one(
    run: RunIt, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterns.locks.WAIT", 0.0)
    path = tmp_path / "run"
    with locked(path), pytest.raises(UserError, match="in use by process"):
        run([0.1])
    assert not path.exists()

    class Meddler(Scripted):
        """While it validates, somebody starts the same run again."""

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            with pytest.raises(UserError, match="in use by process"), locked(path):
                pass
            return super().__call__(model)

    # Clustering starts from the corpus, in a base that truncates its embeddings.
    base = load_base(str(tiny_bert), "cls")
    base.truncate_dim = 8
    base.save_pretrained(str(tmp_path / "base"))
    result, folder = run(
        Meddler([0.1, 0.2]), base=str(tmp_path / "base"), max_steps=2, start_step=1, pooling="auto",
        head=True, initialization="corpus", initialization_sample=100,
    )  # fmt: skip
    assert result.clustering_started_at == 1
    assert SentenceTransformer(str(folder.model)).encode("a song").shape == (8,)
    with locked(path):
        assert folder.is_finished


def test_a_run_in_a_linked_folder_and_outside_the_main_thread(
    run: RunIt, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    changes = {"start_step": None, "sigma": -1.0, "max_steps": 2}
    with ThreadPoolExecutor(1) as pool:
        result, _ = pool.submit(run, [0.1, 0.2], **changes).result()
    assert result.best_step == 2
    assert "Clustering never started" in capsys.readouterr().err
    assert (tmp_path / "run").is_symlink()
    assert (tmp_path / "disk" / "model").is_dir()


def test_workers_that_tokenize_ahead_change_nothing(run: RunIt, rows: Dataset) -> None:
    """Over two epochs, with crops, which are drawn anew in each."""

    def trained(workers: int) -> tuple[list[dict], torch.Tensor]:
        _, folder = run(
            [0.1, 0.2], name=f"{workers} workers", batch_size=32, eval_steps=8, epochs=2,
            positives="crop", dropout=0.0, workers=workers,
        )  # fmt: skip
        timing = ("runtime", "per_second")
        lines = [
            {key: value for key, value in line.items() if not key.endswith(timing)}
            for line in read_metrics(folder.metrics_file)
        ]
        model = SentenceTransformer(str(folder.model))
        return lines, torch.cat([p.detach().flatten() for p in model.parameters()])

    (lines, weights), (lines_ahead, weights_ahead) = trained(0), trained(2)
    assert len(rows) // 32 < 8  # more than an epoch
    assert lines_ahead == lines
    assert torch.equal(weights_ahead, weights)


def test_the_loss_is_made_where_the_model_is(recipe: MakeRecipe, rows: Dataset) -> None:
    model = build_model(recipe()).to("meta")
    loss = build_loss(recipe(), model, rows["text"])
    assert {buffer.device.type for buffer in loss.buffers()} == {"meta"}
