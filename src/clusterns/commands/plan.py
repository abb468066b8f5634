"""A training run, validated before heavy imports, then estimated or executed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from clusterns.adaptation.settings import read_settings
from clusterns.console import log, shows_status
from clusterns.data.columns import NO_DOCUMENTS_TO_PAIR, Columns
from clusterns.data.settings import CorpusSettings
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import INCLUDED, MINIBERT, is_sentence_transformer, resolve_base
from clusterns.errors import UserError
from clusterns.evaluation.custom import check_scored_pairs, split_columns
from clusterns.files import read_json
from clusterns.methods.registry import get_method
from clusterns.training.folder import RunFolder, RunResult
from clusterns.training.recipe import DEFAULT_RECIPE, MINIBERT_RECIPE, Recipe, load_recipe
from clusterns.views.settings import PAIRED

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.evaluation.datasets import ScoredPairs
    from clusterns.training.estimate import Estimate

KEYWORDS = NONE, LABEL_FREE, STSB = "none", "label-free", "stsb"
LARGER_BASE = "google-bert/bert-base-uncased"


@dataclass(frozen=True)
class Trained:
    """A finished run."""

    path: Path
    """The run folder."""
    model: Path
    """The model in it: ``SentenceTransformer(str(run.model))``."""
    result: RunResult
    """Scores before and after, and the step of the model."""


def plan_run(
    corpus: Sequence[str],
    output: str | Path | None,
    recipe: str | Path | None = None,
    changes: Mapping[str, Any] | None = None,
    resume: bool = False,
) -> Plan:
    """Check everything that can be checked quickly.

    Args:
        corpus: files, folders or Hub datasets; empty if a run is resumed.
        output: run folder; None if the plan is only to be estimated.
        recipe: name or file; None: chosen according to the changes, or that of the resumed run.
        changes: overrides of the recipe's settings.
        resume: whether to resume the run in ``output``.
    """
    folder = open_folder(output, resume)
    changes, sources = dict(changes or {}), [absolute_path(name) for name in corpus]
    if folder is not None and resume:
        reading = folder.record["corpus"].get("reading")
        if reading is None or read_settings(folder.recipe_file) is not None:
            raise UserError(f"--resume: {output} was not started by `clusterns train`.")
        recipe, sources = recipe or folder.recipe_file, sources or reading["sources"]
        # Recipes of older runs do not contain the reading options.
        known = {key: value for key, value in reading.items() if key != "sources"}
        changes = {**known, **changes}
    if not sources:
        raise UserError("pass the text to learn from: clusterns train CORPUS --output DIR.")
    # The minibert recipe sets its own learning rate.
    is_ours = {"base", "method", "template"}.isdisjoint(changes)
    chosen = load_recipe(str(recipe or (MINIBERT_RECIPE if is_ours else DEFAULT_RECIPE)), changes)
    no_base = chosen.base is None
    places = {"base": chosen.base or MINIBERT}
    places |= {k: v for k in chosen.all_path_keys() if (v := getattr(chosen, k))}
    placed = {key: absolute_path(place) for key, place in places.items()}
    plan = Plan(chosen.model_copy(update=placed), sources, folder, resume, no_base)
    if folder is None or not folder.is_finished:  # else the text may no longer exist
        plan.check()
    return plan


def open_folder(output: str | Path | None, resume: bool) -> RunFolder | None:
    """The run folder, if it may be written to."""
    folder = None if output is None else RunFolder(Path(output))
    if folder is not None:
        # In each process: the run starts only after all processes have joined to read the corpus.
        folder.check(resume)
    return folder


@dataclass(frozen=True)
class Plan:
    """The recipe, text and run folder of a training run."""

    recipe: Recipe
    sources: list[str]
    folder: RunFolder | None
    resume: bool
    no_base: bool
    """Whether neither the caller nor the recipe specifies a base."""

    @property
    def reading(self) -> dict[str, Any]:
        """How the corpus is read: the arguments of ``prepare_corpus``."""
        options = self.recipe.model_dump(include=set(CorpusSettings.model_fields))
        return {"sources": self.sources, **options}

    def check(self) -> None:
        """Refuse files and models that are missing or do not fit."""
        recipe = self.recipe
        if recipe.dev not in KEYWORDS:
            if not split_columns(Path(recipe.dev))[0].is_file():
                raise UserError(
                    f"--dev {recipe.dev}: this file does not exist. Pass a file of scored pairs, or "
                    f"{STSB}, {LABEL_FREE} or {NONE}."
                )
            check_scored_pairs(Path(recipe.dev))
        if recipe.positives == "document" and recipe.document is None:
            raise UserError(NO_DOCUMENTS_TO_PAIR)
        check_sources(self.sources, Columns(recipe.column, document=recipe.document))
        resolve_base(recipe.base)

    def estimate(self) -> Estimate:
        """Estimate the cost of the run from a few steps, without side effects."""
        from clusterns.training.estimate import estimate

        return estimate(self.recipe, self.text()[0])

    def run(self) -> Trained:
        """Train or resume, and save the model."""
        folder = self.folder
        if folder is None:
            raise UserError("specify the run folder with --output.")
        if folder.is_finished:
            log(f"The run in {folder.path} is finished: its model is {folder.model}.")
            return Trained(folder.path, folder.model, RunResult(**read_json(folder.results_file)))
        from clusterns.evaluation.validators import validation
        from clusterns.training.run import train

        pairs = scored_pairs(self.recipe.dev)
        rows, heldout, facts = self.text()
        evaluator = validation(pairs, heldout)
        result = train(
            self.recipe, rows, evaluator, folder, resume=self.resume, corpus=facts, quiet=not shows_status(),
        )  # fmt: skip
        return Trained(folder.path, folder.model, result)

    def text(self) -> tuple[Dataset, Dataset, dict[str, Any]]:
        """The training rows, the held-out rows, and facts for the record."""
        from clusterns.data.corpus import prepare_corpus
        from clusterns.data.split import split_rows, subsample
        from clusterns.training.build import check_batches
        from clusterns.training.processes import first_process_does, wait_for_others

        recipe, prepare = self.recipe, partial(prepare_corpus, **self.reading)
        _describe_base(recipe, self.no_base)
        # Other processes find the corpus in the cache, or prepare it if they do not share the cache.
        text = first_process_does(prepare, for_hours=True) or prepare()
        wait_for_others()
        log(text.report.summary())
        if not self.resume and recipe.document is not None:
            suggest_documents(recipe)
        rows, heldout = split_rows(text.dataset, recipe.heldout, recipe.seed)
        available = len(rows)
        rows = subsample(rows, recipe.max_sentences, recipe.seed)
        log(
            f"Learning from {len(rows):,} of {available:,} sentences; {len(heldout):,} are held out."
        )
        check_batches(recipe, len(rows))
        return rows, heldout, {
            "reading": self.reading,
            "fingerprint": text.fingerprint,
            "counts": asdict(text.report),
            "training": len(rows),
            "heldout": len(heldout),
        }  # fmt: skip


def scored_pairs(dev: str) -> ScoredPairs | None:
    """The pairs for selecting a step; None for the label-free score or no validation."""
    from clusterns.evaluation.catalog import EvaluationData, MissingData
    from clusterns.evaluation.custom import read_scored_pairs

    if dev in (NONE, LABEL_FREE):
        return None
    if dev != STSB:
        return read_scored_pairs(Path(dev))
    try:
        return EvaluationData().pairs("STS-B dev")
    except MissingData as error:
        raise UserError(
            f"dev = {STSB}: validation needs STS-B dev. {error} Or use the label-free score: "
            f"--dev {LABEL_FREE}."
        ) from None


def absolute_path(name: str | Path) -> str:
    """An existing file or folder as an absolute path, so that the run can resume from anywhere."""
    path, columns = split_columns(Path(name).expanduser())
    is_path = name not in (*INCLUDED, *KEYWORDS) and path.exists()
    return f"{path.resolve()}{columns and f':{columns}'}" if is_path else str(name)


# ---- advice before a run


def _describe_base(recipe: Recipe, no_base: bool) -> None:
    if no_base:
        log(
            f"The base is {MINIBERT}, the small BERT inside this package. If you have a GPU or a day, choose a "
            f"larger one: --base {LARGER_BASE}, a 440 MB download that takes about 30 times as long per step "
            "(--dry-run measures it here)."
        )
    elif get_method(recipe.method).trains and is_sentence_transformer(resolve_base(recipe.base)):
        log(
            "The base is already a sentence encoder. Contrastive training on a narrow corpus is known to make a "
            "good one worse, on that corpus and elsewhere. `clusterns adapt` is made for this case (docs/adapt.md)."
        )


def suggest_documents(recipe: Recipe) -> None:
    """Suggest learning from documents, if the method supports it."""
    if not get_method(recipe.method).trains or recipe.positives in PAIRED:
        return
    try:  # some methods refuse it
        type(recipe).model_validate({**recipe.model_dump(), "positives": "document"})
    except ValidationError:
        return
    log(
        "Whole documents are held out of training. To train on pairs of neighboring sentences of a document, "
        "add --set positives=document."
    )
