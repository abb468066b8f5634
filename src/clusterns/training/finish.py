"""How a run ends: the final model without its train-only parts, and what came out."""

from __future__ import annotations

import math
import shutil
from dataclasses import asdict, dataclass, field
from typing import Any

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import TrainerState

from clusterns.console import log
from clusterns.encoder.training_modules import without_training_modules
from clusterns.files import atomic_folder, flush, write_json
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.training.build import build_model
from clusterns.training.checkpoints import load_weights
from clusterns.training.folder import RunFolder
from clusterns.training.processes import processes
from clusterns.training.recipe import Recipe


@dataclass(frozen=True)
class RunResult:
    """What came out of a run."""

    metric: str
    """Name of the validation score."""
    base_score: float
    """The score of the base, at step 0."""
    best_score: float
    """The score of the final model."""
    best_step: int
    """The step that the final model is from: the last one, or the best by dev (0 where nothing beat the base)."""
    steps: int
    """Steps that were trained."""
    clustering_started_at: int | None = None
    """The step at which clustering started, if it did."""
    facts: dict[str, Any] = field(default_factory=dict)
    """What the method has to say besides."""


def finish(
    recipe: Recipe,
    model: SentenceTransformer,
    loss: ContrastiveLoss,
    state: TrainerState,
    evaluator: BaseEvaluator,
    folder: RunFolder,
) -> RunResult:
    """Save the final model without its train-only parts, and the results; the first process does."""
    facts = loss.summary()
    metric = folder.record["metric"]
    score, step = state.best_metric or 0.0, state.best_global_step or 0
    if recipe.keeps_last_step:
        score, step = _last_score(state, metric), state.global_step
    result = RunResult(
        metric=metric.removeprefix("eval_"),
        base_score=folder.record["base_score"],
        best_score=score,
        best_step=step,
        steps=state.global_step,
        clustering_started_at=facts.pop("clustering_started_at", None),
        facts=facts,
    )
    if not processes().is_main_process:
        return result
    for warning in loss.warnings():
        log(warning)
    if recipe.keeps_last_step:
        _warn_of_harm(result)
    score = save(_best(recipe, model, result, folder), result, evaluator, folder)
    # A rank measure moves in steps, and half precision validates with less exact vectors than the
    # saved model gives: what was trained is kept, whatever it scores.
    slack = 1e-3 if recipe.precision == "fp32" else 0.02
    if not math.isclose(score, result.best_score, rel_tol=0, abs_tol=slack):
        log(
            f"Warning: the saved model scores {score:.4f}, and scored {result.best_score:.4f} when "
            f"it was validated at step {result.best_step}."
        )
    return result


def _last_score(state: TrainerState, metric: str) -> float:
    """The score of the last step, which is always validated."""
    return float(next(line[metric] for line in reversed(state.log_history) if metric in line))


def _warn_of_harm(result: RunResult) -> None:
    """Sound the alarm where training has made the base worse, by a score that did not choose the step."""
    if result.best_score >= result.base_score:
        return
    collapsed = result.best_score < result.base_score / 2
    log(
        f"Warning: {result.metric} fell from {result.base_score:.4f} to {result.best_score:.4f}. "
        + ("The model has probably collapsed: lower learning_rate. " if collapsed else "")
        + "The last step is kept; to keep the best one, use --dev label-free or your own scored pairs."
    )


def save(
    model: SentenceTransformer, result: RunResult, evaluator: BaseEvaluator, folder: RunFolder
) -> float:
    """Write the final model and the results; gives the model's score."""
    model.model_card_data.widget = []  # they would be sentences of the user's corpus
    score = float(evaluator(model)[evaluator.primary_metric])
    with atomic_folder(folder.model) as temporary:
        model.save_pretrained(str(temporary))
    values = asdict(result)
    if not result.facts:
        del values["facts"]
    for file in (folder.recipe_file, folder.run_file, folder.metrics_file):
        flush(file)
    write_json(folder.results_file, values, durable=True)
    shutil.rmtree(folder.checkpoints / "eval", ignore_errors=True)
    return score


def _best(
    recipe: Recipe, model: SentenceTransformer, result: RunResult, folder: RunFolder
) -> SentenceTransformer:
    """The model of the best validation."""
    if result.best_step == 0:
        log(
            f"Nothing beat the base ({result.metric} {result.base_score:.4f} at step 0): "
            "the final model is the one this run started from."
        )
        card, model = model.model_card_data, build_model(recipe)
        model.model_card_data = card
    else:
        load_weights(model, folder.checkpoints / f"checkpoint-{result.best_step}")
    return without_training_modules(model)
