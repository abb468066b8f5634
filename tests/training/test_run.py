from __future__ import annotations

import json
import random
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from datasets import Dataset
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator

from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.locks import locked
from clusterns.methods.method import Context
from clusterns.methods.registry import get_part
from clusterns.training.build import build_loss, build_model
from clusterns.training.folder import RunFolder, read_metrics
from clusterns.training.recipe import Recipe, load_recipe
from clusterns.training.run import train
from clusterns.training.trainer import NotFiniteError
from tests.helpers.models import Scripted

TOPICS = {
    "music": ["song", "guitar", "opera", "chorus", "violin", "melody", "concert", "rhythm"],
    "space": ["planet", "orbit", "comet", "telescope", "galaxy", "rocket", "moon", "crater"],
    "law": ["court", "judge", "appeal", "verdict", "statute", "counsel", "trial", "jury"],
}


@pytest.fixture(scope="module")
def rows() -> Dataset:
    generator = random.Random(0)
    words = list(TOPICS.values())
    texts = [" ".join(generator.choices(generator.choice(words), k=8)) for _ in range(160)]
    return Dataset.from_dict({"text": texts, "name": ["x"] * len(texts)})


def recipe(base: Path, **changes) -> Recipe:
    values = {
        "base": str(base), "batch_size": 16, "clusters": 4, "start_step": 2, "max_steps": 8,
        "eval_steps": 2, "log_steps": 1, "learning_rate": 1e-3, "pooling": "cls", "patience": 0,
        "dev": "label-free",
    }  # fmt: skip
    return load_recipe("default", {**values, **changes})


@pytest.mark.parametrize(
    "changes", [{"dev": "none"}, {"dev": "label-free", "checkpoint": "last"}], ids=str
)
def test_the_last_step_is_kept_and_a_fallen_score_is_an_alarm(
    changes: dict[str, str],
    tiny_bert: Path,
    rows: Dataset,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chosen = recipe(tiny_bert, patience=1, **changes)
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.3, 0.5, 0.4, 0.3, 0.1]), folder, quiet=True)
    assert (result.best_score, result.best_step, result.steps) == (0.1, 8, 8)
    assert "probably collapsed" in capsys.readouterr().err
    last = load_file(folder.checkpoints / "checkpoint-8" / "model.safetensors")
    kept = load_file(folder.model / "model.safetensors")
    assert kept.keys() == last.keys()
    assert all(torch.equal(kept[key], last[key]) for key in kept)
    scores = [0.3, 0.1, 0.2, 0.25, 0.25]
    train(chosen, rows, Scripted(scores), RunFolder(tmp_path / "other"), quiet=True)
    said = capsys.readouterr().err
    assert "fell from 0.3000 to 0.2500" in said
    assert "collapsed" not in said


def test_a_run_leaves_everything_that_its_folder_promises(
    tiny_bert: Path, rows: Dataset, tmp_path: Path
) -> None:
    folder = RunFolder(tmp_path / "run")
    evaluator = Scripted([0.1, 0.2, 0.5, 0.4, 0.3])
    result = train(
        recipe(tiny_bert), rows, evaluator, folder, corpus={"fingerprint": "f"}, quiet=True
    )

    assert (result.base_score, result.best_score, result.best_step) == (0.1, 0.5, 4)
    assert (result.steps, result.clustering_started_at) == (8, 2)
    resolved = yaml.safe_load(folder.recipe_file.read_text())
    assert resolved["clusters"] == 4
    assert resolved["temperature"] == 0.05
    assert load_recipe(str(folder.recipe_file)) == recipe(tiny_bert)
    assert folder.record["versions"]["torch"] == torch.__version__
    lines = read_metrics(folder.metrics_file)
    assert lines[0] == {"step": 0, "eval_score": 0.1}
    with folder.metrics_file.open("a") as file:
        file.write('{"step": 9, "lo')  # as a kill leaves it
    assert read_metrics(folder.metrics_file) == lines
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 9))
    assert [line["eval_score"] for line in lines if "eval_score" in line] == [
        0.1,
        0.2,
        0.5,
        0.4,
        0.3,
    ]
    assert "hard_negative_similarity" in lines[-2]
    events = [(line["step"], line["event"]) for line in lines if "event" in line]
    assert events == [(2, "clustering starts, 4 centroids")]
    assert "false_negative_rate" in lines[-2]

    model = SentenceTransformer(str(folder.model))
    assert [type(m).__name__ for m in model] == ["Transformer", "Pooling"]
    assert model[1].pooling_mode == "cls"
    assert model.max_seq_length == load_base(str(tiny_bert)).max_seq_length
    weights = torch.cat([p.detach().flatten() for p in model[0].parameters()])
    assert torch.equal(weights, evaluator.seen[2][0])  # those of step 4
    card = (folder.model / "README.md").read_text()
    assert "ClusterNS" in card
    assert "Clustering-Aware Negative Sampling" in card
    assert "widget" not in card
    assert "trained with ClusterNS" in card
    assert "| score | 0.1000 | 0.5000 |\n\nThe model is from step 4 of 8." in card
    assert f"base: {tiny_bert.name}\n" in card
    for path in (tiny_bert, tmp_path):
        assert str(path) not in card
    assert "Unknown" not in card
    assert "base_model" not in card  # which must be the name of a Hub model


def test_where_nothing_beats_the_base_the_base_is_the_result(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = RunFolder(tmp_path / "run")
    result = train(
        recipe(tiny_bert, patience=2), rows, Scripted([0.9, 0.1, 0.2]), folder, quiet=True
    )
    assert (result.best_step, result.best_score) == (0, 0.9)
    assert result.steps == 4  # two validations without gain over the base
    assert "Nothing beat the base" in capsys.readouterr().err
    base = load_base(str(tiny_bert), "cls").encode(["a song"])
    assert (SentenceTransformer(str(folder.model)).encode(["a song"]) == base).all()


def test_training_lowers_the_loss_and_brings_topics_together(
    tiny_bert: Path, rows: Dataset, tmp_path: Path
) -> None:
    class TopicGap(BaseEvaluator):
        """Similarity within a topic minus similarity across topics."""

        primary_metric = "gap"

        def __init__(self) -> None:
            super().__init__()
            self.primary_metric = "gap"

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            sentences = [" ".join(w) for words in TOPICS.values() for w in (words[:4], words[4:])]
            s = model.similarity(*[model.encode(sentences, convert_to_tensor=True)] * 2)
            within = (s[0, 1] + s[2, 3] + s[4, 5]) / 3
            across = (s[0, 2] + s[0, 4] + s[2, 4] + s[1, 3]) / 4
            return {"gap": float(within - across)}

    folder = RunFolder(tmp_path / "run")
    chosen = recipe(
        tiny_bert, max_steps=60, eval_steps=20, epochs=20, positives="crop", pooling="mean"
    )
    result = train(chosen, rows, TopicGap(), folder, quiet=True)
    losses = [line["loss"] for line in read_metrics(folder.metrics_file) if "loss" in line]
    assert sum(losses[-5:]) < sum(losses[2:7])
    assert result.best_score > result.base_score + 0.05


def test_a_loss_that_is_not_a_number_stops_the_run_and_keeps_the_last_checkpoint(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(tmp_path / "run")

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
        train(recipe(tiny_bert, log_steps=100), rows, evaluator, folder, quiet=True)
    kept = sorted(path.name for path in folder.checkpoints.glob("checkpoint-*"))
    assert kept == ["checkpoint-2", "checkpoint-4"]
    assert not folder.model.exists()


def test_output_folders_are_guarded(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
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
    folder.create(recipe(tiny_bert), {"fingerprint": "one"})
    with pytest.raises(UserError, match="--resume"):
        folder.check(resume=False)
    folder.check_same(recipe(tiny_bert), "one")
    with pytest.raises(UserError, match="the corpus is not the text"):
        folder.check_same(recipe(tiny_bert), "two")
    with pytest.raises(UserError, match=r"temperature = 0\.1 differs"):
        folder.check_same(recipe(tiny_bert, temperature=0.1), "one")
    folder.note(metric="eval_STS-B_spearman")  # as STS-B dev was once logged
    folder.check_same(recipe(tiny_bert), "one", "eval_STS-B-dev_spearman")
    with pytest.raises(UserError, match="is validated by eval_STS-B_spearman, not by eval_a"):
        folder.check_same(recipe(tiny_bert), "one", "eval_a_spearman")


def test_a_run_knows_its_base_by_its_weights(tiny_bert: Path, tmp_path: Path) -> None:
    base = Path(shutil.copytree(tiny_bert, tmp_path / "base"))
    folder = RunFolder(tmp_path / "run")
    folder.create(recipe(base), {"fingerprint": "one"})
    folder.check_same(recipe(base), "one")
    with (base / "model.safetensors").open("ab") as weights:
        weights.write(b" ")
    with pytest.raises(UserError, match="weights of the base have changed"):
        folder.check_same(recipe(base), "one")


def test_fewer_sentences_than_a_batch(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(UserError, match="160 sentences for training, fewer than batch_size = 200"):
        train(recipe(tiny_bert, batch_size=200), rows, Scripted([0.1]), folder, quiet=True)
    assert not folder.path.exists()


def test_simcse_runs_in_the_same_frame(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
    chosen = load_recipe(
        "default", {"method": "simcse", "base": str(tiny_bert), "batch_size": 16, "max_steps": 2}
    )
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.1, 0.2]), folder, quiet=True)
    assert result.clustering_started_at is None
    assert "clusters" not in yaml.safe_load(folder.recipe_file.read_text())
    assert read_json(folder.results_file)["best_step"] == 2


def test_clustering_that_never_starts_is_said(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = recipe(tiny_bert, start_step=None, sigma=-1.0, max_steps=2)
    train(chosen, rows, Scripted([0.1, 0.2]), RunFolder(tmp_path / "run"), quiet=True)
    assert "Clustering never started" in capsys.readouterr().err


def test_a_global_initialization_sees_the_whole_corpus_and_needs_k_sentences(
    tiny_bert: Path,
) -> None:
    chosen = recipe(tiny_bert, initialization="corpus", initialization_sample=100)
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


def test_a_global_initialisation_runs(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
    chosen = recipe(tiny_bert, initialization="corpus", initialization_sample=100, max_steps=4)
    folder = RunFolder(tmp_path / "run")
    result = train(chosen, rows, Scripted([0.1, 0.2, 0.3]), folder, quiet=True)
    assert result.clustering_started_at == 2
    assert json.loads(folder.results_file.read_text())["steps"] == 4


def test_the_diagnostics_reach_tensorboard(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    chosen = recipe(tiny_bert, max_steps=4, report_to=["tensorboard"])
    folder = RunFolder(tmp_path / "run")
    train(chosen, rows, Scripted([0.1, 0.2, 0.3]), folder, quiet=True)
    (events,) = folder.path.rglob("events.out.tfevents.*")
    log = EventAccumulator(str(events)).Reload()
    (text,) = log.Tensors("train/event/text_summary")
    assert (text.step, text.tensor_proto.string_val[0]) == (2, b"clustering starts, 4 centroids")
    steps = [event.step for event in log.Scalars("train/hard_negative_similarity")]
    assert steps == [2, 3, 4]  # from the step at which clustering starts
    assert log.Scalars("eval/score")[-1].value == pytest.approx(0.3)


def test_a_trained_model_is_kept_whatever_it_scores_once_saved(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Wavering(Scripted):
        """Never gives the same model the same score twice."""

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            self.seen = []
            return super().__call__(model)

    folder = RunFolder(tmp_path / "run")
    result = train(
        recipe(tiny_bert, max_steps=2), rows, Wavering([0.1, 0.5, 0.4]), folder, quiet=True
    )
    assert result.best_score == 0.5
    assert "the saved model scores 0.4000, but scored 0.5000" in capsys.readouterr().err
    assert folder.is_finished
    assert SentenceTransformer(str(folder.model)).encode("a song").shape == (32,)


def test_two_runs_in_one_folder_are_refused(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clusterns.locks.WAIT", 0.0)
    folder = RunFolder(tmp_path / "run")
    with locked(folder.path), pytest.raises(UserError, match="in use by process"):
        train(recipe(tiny_bert), rows, Scripted([0.1]), folder, quiet=True)
    assert not folder.path.exists()

    class Meddler(Scripted):
        """While it validates, somebody starts the same run again."""

        def __call__(self, model: SentenceTransformer, *args, **kwargs) -> dict[str, float]:
            with pytest.raises(UserError, match="in use by process"), locked(folder.path):
                pass
            return super().__call__(model)

    train(recipe(tiny_bert, max_steps=2), rows, Meddler([0.1, 0.2]), folder, quiet=True)
    with locked(folder.path):
        assert folder.is_finished


@pytest.mark.parametrize("initialization", ["batch", "corpus"])
def test_a_base_that_cuts_its_vectors_stays_one_that_does(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, initialization: str
) -> None:
    base = load_base(str(tiny_bert), "cls")
    base.truncate_dim = 8
    base.save_pretrained(str(tmp_path / "base"))
    chosen = recipe(
        tmp_path / "base", max_steps=2, start_step=1, pooling="auto", head=True,
        initialization=initialization,
    )  # fmt: skip
    folder = RunFolder(tmp_path / "run")
    train(chosen, rows, Scripted([0.1, 0.2]), folder, quiet=True)
    assert SentenceTransformer(str(folder.model)).encode("a song").shape == (8,)


def test_an_empty_folder_behind_a_link_takes_a_run(
    tiny_bert: Path, rows: Dataset, tmp_path: Path
) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "run").symlink_to(tmp_path / "disk")
    folder = RunFolder(tmp_path / "run")
    train(recipe(tiny_bert, max_steps=2), rows, Scripted([0.1, 0.2]), folder, quiet=True)
    assert (tmp_path / "run").is_symlink()
    assert (tmp_path / "disk" / "model").is_dir()


def test_a_run_outside_the_main_thread(tiny_bert: Path, rows: Dataset, tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with ThreadPoolExecutor(1) as pool:
        run = pool.submit(
            train, recipe(tiny_bert, max_steps=2), rows, Scripted([0.1, 0.2]), folder, quiet=True
        )
    assert run.result().best_step == 2


def test_workers_that_tokenise_ahead_change_nothing(
    tiny_bert: Path, rows: Dataset, tmp_path: Path
) -> None:
    """Over two epochs, with crops, which each sentence gets anew in each."""

    def trained(workers: int) -> tuple[list[dict], torch.Tensor]:
        folder = RunFolder(tmp_path / f"{workers} workers")
        chosen = recipe(
            tiny_bert, batch_size=32, max_steps=8, eval_steps=8, epochs=2, positives="crop",
            dropout=0.0, workers=workers,
        )  # fmt: skip
        train(chosen, rows, Scripted([0.1, 0.2]), folder, quiet=True)
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


@pytest.mark.parametrize(
    ("variable", "name"),
    [("ACCELERATE_USE_FSDP", "FSDP"), ("ACCELERATE_USE_DEEPSPEED", "DeepSpeed")],
)
def test_a_launcher_that_splits_the_model_is_refused(
    tiny_bert: Path, rows: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    variable: str, name: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(variable, "true")
    folder = RunFolder(tmp_path / "run")
    with pytest.raises(UserError, match=f"{name}, which splits .* torchrun"):
        train(recipe(tiny_bert), rows, Scripted([0.1]), folder, quiet=True)
    assert not folder.path.exists()


def test_the_loss_is_made_where_the_model_is(tiny_bert: Path, rows: Dataset) -> None:
    chosen = recipe(tiny_bert)
    model = build_model(chosen).to("meta")
    loss = build_loss(chosen, model, rows["text"])
    assert {buffer.device.type for buffer in loss.buffers()} == {"meta"}
