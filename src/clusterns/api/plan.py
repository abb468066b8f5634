"""A training that is checked before anything heavy is loaded, then measured or run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.adaptation.settings import read_settings
from clusterns.api.beforehand import say_base, say_documents, say_truncation
from clusterns.console import log, silenced
from clusterns.data.columns import NO_DOCUMENTS_TO_PAIR, Columns
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import INCLUDED, MINIBERT, resolve_base
from clusterns.errors import UserError
from clusterns.evaluation.custom import check_own, split_columns
from clusterns.files import read_json
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import DEFAULT_RECIPE, MINIBERT_RECIPE, Recipe, load_recipe

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.evaluation.datasets import ScoredPairs
    from clusterns.training.estimate import Estimate
    from clusterns.training.run import RunResult

# Nothing heavy is imported above: what is wrong with a call is said at once.
KEYWORDS = NONE, LABEL_FREE, STSB = "none", "label-free", "stsb"


@dataclass(frozen=True)
class Trained:
    """A finished run."""

    path: Path
    """The run folder."""
    model: Path
    """The model in it: ``SentenceTransformer(str(run.model))``."""
    result: RunResult
    """Scores before and after, and the step that the model is from."""


def plan_training(
    corpus: str | Path | Sequence[str | Path] | None = None,
    output: str | Path | None = None,
    *,
    base: str | Path | None = None,
    recipe: str | Path | None = None,
    method: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    dev: str | Path | None = None,
    column: str | None = None,
    document: str | None = None,
    split_sentences: bool = False,
    min_words: int | None = None,
    resume: bool = False,
) -> TrainingPlan:
    """Check all that can be checked in no time; the arguments are those of ``train``.

    Without ``output`` the plan can only be estimated.
    """
    folder = None if output is None else RunFolder(Path(output))
    if folder is not None:
        # By each process: none can begin the run before all have joined to read the corpus.
        folder.check(resume)
    begun = folder.record["corpus"] if folder is not None and resume else None
    if begun is not None and folder is not None:
        if "reading" not in begun or read_settings(folder.recipe_file) is not None:
            raise UserError(f"--resume: {output} was not begun by `clusterns train`.")
        recipe = recipe or folder.recipe_file
    names = [corpus] if isinstance(corpus, str | Path) else list(corpus or [])
    if begun is not None and not names:
        reading = begun["reading"]
    else:
        reading = {
            "sources": [absolute_path(name) for name in names],
            "column": column,
            "split_sentences": split_sentences,
            **({} if min_words is None else {"min_words": min_words}),
            **({} if document is None else {"document": document}),
        }
    if not reading["sources"]:
        raise UserError("name the text to learn from: clusterns train CORPUS --output DIR.")
    named = {"base": base, "method": method, "seed": seed, "dev": dev}
    changes = {k: str(v) if isinstance(v, Path) else v for k, v in named.items() if v is not None}
    changes = {**(settings or {}), **changes}
    chosen = load_recipe(str(recipe or _recipe_for(changes)), changes)
    no_base = chosen.base is None
    chosen = _placed(chosen.model_copy(update={"base": chosen.base or MINIBERT}))
    plan = TrainingPlan(chosen, reading, folder, resume, no_base)
    if folder is not None and folder.is_finished:
        return plan  # what it was made of may be gone
    if chosen.dev not in KEYWORDS:
        if not split_columns(Path(chosen.dev))[0].is_file():
            raise UserError(
                f"--dev {chosen.dev}: there is no such file; name a file of scored pairs, {STSB} or "
                f"{LABEL_FREE} or {NONE}."
            )
        check_own("pairs", Path(chosen.dev))
    if chosen.positives == "document" and reading.get("document") is None:
        raise UserError(NO_DOCUMENTS_TO_PAIR)
    columns = Columns(reading["column"], document=reading.get("document"))
    check_sources(reading["sources"], columns)
    resolve_base(chosen.base)
    return plan


def _recipe_for(changes: Mapping[str, Any]) -> str:
    """At the rate that suits minibert, where that is the base and no published method is asked for."""
    left_to_us = {"base", "method", "template"}.isdisjoint(changes)
    return MINIBERT_RECIPE if left_to_us else DEFAULT_RECIPE


@dataclass(frozen=True)
class TrainingPlan:
    """A checked call: what is trained on what, and where it goes."""

    recipe: Recipe
    reading: dict[str, Any]
    """How the corpus is read: the arguments of ``prepare_corpus``."""
    folder: RunFolder | None
    resume: bool
    no_base: bool
    """Whether neither the caller nor the recipe named one."""

    def estimate(self, *, quiet: bool = False) -> Estimate:
        """What the run would cost here, measured on a few steps that change nothing."""
        from clusterns.training.estimate import estimate

        with silenced(quiet):
            rows, _, _ = self._text(quiet)
            return estimate(self.recipe, rows)

    def run(self, *, quiet: bool = False) -> Trained:
        """Train, or go on with the run, and keep the best model."""
        if self.folder is None:
            raise UserError("name the run folder with --output.")
        with silenced(quiet):
            if self.folder.is_finished:
                log(f"The run in {self.folder.path} is finished: its model is {self.folder.model}.")
                result = _result_of(self.folder)
            else:
                result = self._run(self.folder, quiet)
        return Trained(self.folder.path, self.folder.model, result)

    def _run(self, folder: RunFolder, quiet: bool) -> RunResult:
        from clusterns.evaluation.validators import validation
        from clusterns.training.run import train as run

        pairs = scored_pairs(self.recipe.dev)
        rows, heldout, facts = self._text(quiet)
        return run(
            self.recipe,
            rows,
            validation(self.recipe, pairs, heldout),
            folder,
            resume=self.resume,
            corpus=facts,
            quiet=quiet,
        )

    def _text(self, quiet: bool) -> tuple[Dataset, Dataset, dict[str, Any]]:
        """The rows for training, those kept out, and facts for the record."""
        from clusterns.data.corpus import prepare_corpus
        from clusterns.data.split import split_rows, subsample
        from clusterns.training.processes import first_process_does
        from clusterns.training.run import check_batches

        def prepare() -> Any:
            return prepare_corpus(**self.reading, progress=not quiet)

        say_base(self.recipe, self.no_base)
        # The others find it in the cache.
        text = first_process_does(prepare) or prepare()
        log(text.report.summary())
        if not self.resume and self.reading.get("document") is not None:
            say_documents(self.recipe)
        rows, heldout = split_rows(text.dataset, self.recipe.heldout, self.recipe.seed)
        rows = subsample(rows, self.recipe.max_sentences, self.recipe.seed)
        check_batches(self.recipe, len(rows))
        say_truncation(self.recipe, heldout["text"][:])
        facts = {
            "reading": self.reading,
            "fingerprint": text.fingerprint,
            "counts": text.report.as_dict(),
            "training": len(rows),
            "heldout": len(heldout),
        }
        return rows, heldout, facts


def scored_pairs(dev: str) -> ScoredPairs | None:
    """The pairs that decide which model is best; None where the label-free score does."""
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
            f"dev = {STSB}: this run is to be validated on STS-B dev. {error} Or choose by the "
            f"label-free score: --dev {LABEL_FREE}."
        ) from None


def _result_of(folder: RunFolder) -> RunResult:
    from clusterns.training.run import RunResult

    return RunResult(**read_json(folder.results_file))


def _placed(recipe: Recipe) -> Recipe:
    """The recipe with whole paths."""
    named = {key: getattr(recipe, key) for key in recipe.keys_of_places()}
    return recipe.model_copy(
        update={key: absolute_path(name) for key, name in named.items() if name}
    )


def absolute_path(name: str | Path) -> str:
    """A file or folder by its whole path, so that the run can go on from anywhere; others as is."""
    path, columns = split_columns(Path(name).expanduser())
    is_path = name not in (*INCLUDED, *KEYWORDS) and path.exists()
    return f"{path.resolve()}{columns and f':{columns}'}" if is_path else str(name)
