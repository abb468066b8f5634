"""One run: begin, train, finish. The input is a recipe and text, the output a run folder."""

from __future__ import annotations

import math
import shutil
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Any

from datasets import Dataset
from sentence_transformers import SentenceTransformer, SentenceTransformerTrainingArguments
from sentence_transformers.base.evaluation import BaseEvaluator
from transformers import (
    EarlyStoppingCallback,
    PrinterCallback,
    ProgressCallback,
    TrainerState,
    set_seed,
)

from clusterns.console import log
from clusterns.data.documents import documents_of
from clusterns.encoder.locate import resolve_base
from clusterns.encoder.training_modules import without_training_modules
from clusterns.errors import Interrupted, UserError
from clusterns.files import atomic_folder, flush, wrap_os_errors, write_json
from clusterns.locks import locked
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.methods.registry import get_method
from clusterns.record import make_record
from clusterns.static.reweight import reweight
from clusterns.training.build import (
    Setup,
    build,
    build_context,
    build_model,
    fit_once,
    has_fit,
    texts_of,
)
from clusterns.training.callbacks import History, Interrupt, Order, Progress, Steps, write_metrics
from clusterns.training.card import write_run_card
from clusterns.training.checkpoints import (
    is_over,
    last_checkpoint,
    load_loss,
    load_weights,
    remove_half_written,
    trainer_state,
)
from clusterns.training.folder import RunFolder, RunResult
from clusterns.training.memory import check_memory, estimate_memory, memory_errors
from clusterns.training.processes import check_launcher, first_process_does, processes
from clusterns.training.recipe import Recipe
from clusterns.training.trainer import ContrastiveTrainer, training_arguments


def train(
    recipe: Recipe,
    dataset: Dataset,
    evaluator: BaseEvaluator,
    folder: RunFolder,
    *,
    resume: bool = False,
    corpus: dict[str, Any] | None = None,
    quiet: bool = False,
) -> RunResult:
    """Train on ``dataset`` (column ``text``) and keep the last step, or the best one by ``evaluator``.

    Args:
        recipe: all settings.
        dataset: the training sentences.
        evaluator: scores a model by its ``primary_metric``.
        folder: the run folder.
        resume: continue from the last complete checkpoint.
        corpus: facts about the corpus for the record; ``fingerprint`` identifies the text.
        quiet: hide progress bars.
    """
    # Invalid settings are refused before anything is written.
    check_launcher()
    facts = {"fingerprint": "", **(corpus or {})}
    run = _Run(recipe, dataset, evaluator, folder, resume, facts, quiet)
    with ExitStack() as stack:
        first_process_does(lambda: stack.enter_context(locked(folder.path)))
        return run.train() if get_method(recipe.method).trains else run.make()


@dataclass(frozen=True)
class _Run:
    recipe: Recipe
    dataset: Dataset
    evaluator: BaseEvaluator
    folder: RunFolder
    resume: bool
    corpus: dict[str, Any]
    quiet: bool

    @property
    def metric(self) -> str:
        """The name of the validation score in the log."""
        return f"eval_{self.evaluator.primary_metric}"

    def train(self) -> RunResult:
        """The run of a method that trains."""
        recipe, folder = self.recipe, self.folder
        args = training_arguments(recipe, folder, self.metric)
        fit = folder.fit if self.resume and folder.fit.is_dir() else None
        setup = build(recipe, self.dataset, fit)
        memory = estimate_memory(setup)
        first_process_does(lambda: check_memory(recipe, memory, setup.model.device))
        first_process_does(self.begin)
        first_process_does(lambda: self.score_base(setup.model))
        if fit is None and has_fit(recipe):
            model, texts = setup.model, setup.texts
            first_process_does(lambda: fit_once(recipe, model, texts, folder.fit, quiet=self.quiet))
            setup = setup.rebuild(fit=folder.fit)
        return self.finish(setup, self.train_steps(args, setup))

    def begin(self) -> None:
        """Start the run, or check that it is the same one and remove leftovers of an interrupted run."""
        self.folder.check(self.resume)
        if self.resume:
            self.folder.check_same(self.recipe, self.corpus["fingerprint"], self.metric)
            remove_half_written(self.folder.checkpoints)
        else:
            self.folder.create(self.recipe, self.corpus)

    def score_base(self, model: SentenceTransformer) -> None:
        """Validate step 0, unless the run already has."""
        folder = self.folder
        if "base_score" in folder.record:
            return
        scores = self.evaluator(model)
        score = scores[self.evaluator.primary_metric]
        folder.metrics_file.unlink(missing_ok=True)
        write_metrics(folder.metrics_file, 0, {f"eval_{k}": v for k, v in scores.items()})
        folder.note(metric=self.metric, base_score=score)
        log(f"step 0: {self.evaluator.primary_metric} {score:.4f}  (the base)")

    def train_steps(self, args: SentenceTransformerTrainingArguments, setup: Setup) -> TrainerState:
        """Train from the start or the last checkpoint; return the trainer's final state."""
        recipe, folder, model = self.recipe, self.folder, setup.model
        checkpoint = last_checkpoint(folder.checkpoints) if self.resume else None
        if checkpoint is not None:
            log(f"Resuming from {checkpoint.name}.")
        interrupt = Interrupt()
        # The trainer would add the user's sentences to a model card without examples.
        model.model_card_data.widget = [{"text": ""}]
        trainer = ContrastiveTrainer(
            model=model,
            args=args,
            train_dataset=setup.rows,
            loss=setup.loss,
            evaluator=self.evaluator,
            data_collator=setup.collator,
            callbacks=[
                History(folder.metrics_file, folder.record["base_score"]),
                Order(),
                interrupt,
            ],
        )
        # The trainer uses the same seed for all processes, but each must draw its own dropout masks.
        set_seed((recipe.seed + processes().process_index) % 2**32)
        trainer.remove_callback(PrinterCallback)
        trainer.remove_callback(ProgressCallback)
        trainer.add_callback(Steps(trainer))
        patience = 0 if recipe.keeps_last_step else recipe.patience
        if patience:
            trainer.add_callback(EarlyStoppingCallback(patience))
        if not self.quiet:
            trainer.add_callback(Progress(self.metric))
        if checkpoint is not None and is_over(state := trainer_state(checkpoint), patience):
            load_loss(setup.loss, checkpoint)
            return state
        with wrap_os_errors(folder.path), memory_errors(recipe), interrupt:
            trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
        if interrupt.requested:
            raise Interrupted(f"Stopped at step {trainer.state.global_step}, which is saved")
        return trainer.state

    def finish(self, setup: Setup, state: TrainerState) -> RunResult:
        """Save the final model without its training modules, and the results, in the first process."""
        model, loss = setup.model, setup.loss
        facts = loss.summary()
        metric = self.folder.record["metric"]
        score, step = state.best_metric or 0.0, state.best_global_step or 0
        if self.recipe.keeps_last_step:  # which is always validated
            validations = [line[metric] for line in state.log_history if metric in line]
            score, step = float(validations[-1]), state.global_step
        result = RunResult(
            metric=metric.removeprefix("eval_"),
            base_score=self.folder.record["base_score"],
            best_score=score,
            best_step=step,
            steps=state.global_step,
            clustering_started_at=facts.pop("clustering_started_at", None),
            facts=facts,
        )
        if not processes().is_main_process:
            return result
        harm = result.harm if self.recipe.keeps_last_step else None
        for warning in (*loss.warnings(), *([harm] if harm else [])):
            log(warning)
        if step == 0:
            log(
                f"No step beat the base ({result.metric} {score:.4f} at step 0). The final model is the "
                "one that this run started from."
            )
            model = build_model(self.recipe)
        else:
            load_weights(model, self.folder.checkpoints / f"checkpoint-{step}")
        final = without_training_modules(model)
        if self.recipe.sif_whitening:
            final = reweight(final, setup.texts)
            score = float(self.evaluator(final)[self.evaluator.primary_metric])
            result = replace(result, best_score=score)
        saved = self.save(final, result, loss)
        # A rank correlation changes in steps, and half precision validates with less exact embeddings than
        # those of the saved model. The trained model is kept in any case.
        slack = 1e-3 if self.recipe.precision == "fp32" else 0.02
        if not math.isclose(saved, score, rel_tol=0, abs_tol=slack):
            log(
                f"Warning: the saved model scores {saved:.4f}, but scored {score:.4f} when it was "
                f"validated at step {step}."
            )
        return result

    def make(self) -> RunResult:
        """The run of a method that makes its model without training."""
        recipe, folder = self.recipe, self.folder
        if processes().num_processes > 1:
            raise UserError(f"method {recipe.method} does not train. Run it in one process.")
        folder.check(self.resume)
        if self.resume:  # before the computation
            folder.check_same(recipe, self.corpus["fingerprint"], self.metric)
        method, started = get_method(recipe.method), make_record()["date"]
        set_seed(recipe.seed)
        model = method.encoder(recipe, resolve_base(recipe.base))
        # If a method raises an error, nothing remains, unless the method keeps its steps.
        if method.keeps_steps:
            self.begin()
        context = build_context(recipe, model, texts_of(self.dataset), folder.fit)
        documents = documents_of(self.dataset)
        made = method.make(replace(context, documents=documents, quiet=self.quiet))
        if not method.keeps_steps:
            self.begin()
        folder.note(date=started)
        self.score_base(model)
        name, before = self.evaluator.primary_metric, folder.record["base_score"]
        score = float(self.evaluator(made)[name])
        result = RunResult(name, before, score, best_step=0, steps=0)
        self.save(made, result)
        shutil.rmtree(folder.fit, ignore_errors=True)
        return result

    def save(
        self, model: SentenceTransformer, result: RunResult, loss: ContrastiveLoss | None = None
    ) -> float:
        """Write the final model and the results; return the model's score."""
        folder = self.folder
        score = float(self.evaluator(model)[self.evaluator.primary_metric])
        with atomic_folder(folder.model) as temporary:
            model.save_pretrained(str(temporary), create_model_card=False)
            write_run_card(temporary, model, self.recipe, result, folder.record, loss)
        values = asdict(result)
        if not result.facts:
            del values["facts"]
        for file in (folder.recipe_file, folder.run_file, folder.metrics_file):
            flush(file)
        write_json(folder.results_file, values, durable=True)
        shutil.rmtree(folder.checkpoints / "eval", ignore_errors=True)
        return score
