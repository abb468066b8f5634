"""DCLR: noise as negatives, and a frozen model that judges which negatives are false."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field, model_validator

from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method, part
from clusterns.views.view import View

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.losses.dclr import Guide, NoiseNegatives

OWN_JUDGE = "judge"


@part("noise")
class NoiseSettings(Recipe):
    """Random vectors as negatives, moved up the gradient of the loss (DCLR)."""

    # Drawn by other seeds.
    revision: ClassVar[int] = 2

    noise_times: float = Field(1.0, ge=0)
    """Number of noise vectors, in batches."""
    noise_steps: int = Field(4, ge=0)
    """How often the noise is moved up the gradient."""
    noise_rate: float = Field(1e-3, ge=0)
    """How far it is moved each time; the published 1e-3 changes a similarity by next to nothing."""

    def make_part(self, context: Context) -> NoiseNegatives:
        """The noise of each step."""
        from clusterns.losses.dclr import NoiseNegatives

        return NoiseNegatives(
            self.noise_times,
            self.temperature,
            steps=self.noise_steps,
            step_size=self.noise_rate,
            seed=self.seed,
        )


@part("judge")
class JudgeSettings(Recipe):
    """In-batch negatives that a frozen model finds too much alike are left out (DCLR)."""

    revision: ClassVar[int] = 2  # the guide learns from the whole corpus, with dropout

    places: ClassVar[tuple[str, ...]] = ("judge",)

    judge: str = ""
    """The frozen, trained model: a run folder, a model's folder or a Hub name. Empty: a short SimCSE run first."""
    judge_above: float = Field(0.9, ge=-1, le=1)
    """Negatives whose cosine under the judge is above this are left out (phi)."""
    judge_steps: int = Field(125, ge=1)
    """Steps of the SimCSE run that makes the judge where none is named."""

    @model_validator(mode="after")
    def _one_sentence_a_row(self) -> JudgeSettings:
        # Of two sentences, the judge would compare the anchors only.
        if self.positives == "document":
            raise ValueError("positives = document does not go with a judge of whole sentences.")
        return self

    def make_part(self, context: Context) -> Guide:
        """The judge, which reads the last column of a batch: whole sentences in its own tokens."""
        from clusterns.losses.dclr import Guide

        model = self._judge(context.folder)
        if model is None:  # a dry run, for which none is trained: it costs what the model costs
            from copy import deepcopy

            from clusterns.encoder.training_modules import without_training_modules
            from clusterns.errors import UserError
            from clusterns.losses.distributed import get_world_size

            if get_world_size() > 1:
                raise UserError(
                    "no judge is named, and one cannot be trained by several processes: train SimCSE "
                    "first (`clusterns train ... --method simcse`) and name its run with --set "
                    "judge=DIR."
                )
            model = without_training_modules(deepcopy(context.model))
        return Guide(model, self.judge_above, column=-1)

    def more_views(self, views: tuple[View, ...], folder: Path | None) -> tuple[View, ...]:
        """A column for the judge, behind those of the encoder."""
        model = self._judge(folder)
        if model is None:
            return views
        prompt = model.prompts.get(model.default_prompt_name) if model.default_prompt_name else None
        return *views, View(preprocess=model.preprocess, prompt=prompt)

    def fit(self, context: Context) -> None:
        """Train the judge, where none is named."""
        if not self.judge and context.folder is not None:
            from clusterns.losses.dclr import load_guide
            from clusterns.methods.short_simcse import short_simcse

            short_simcse(context, self.judge_steps, context.folder / OWN_JUDGE)
            load_guide.cache_clear()  # a judge of an earlier run may have had the same place

    def _judge(self, folder: Path | None) -> SentenceTransformer | None:
        from clusterns.losses.dclr import load_guide

        if self.judge:
            return load_guide(self.judge)
        made = folder / OWN_JUDGE if folder is not None else None
        return load_guide(str(made)) if made is not None and made.is_dir() else None


@method
class DCLR(Method):
    """Noise negatives make the space even; negatives that a trained model finds alike are left out.

    In-batch negatives may mean the same as the anchor and always come from the narrow cone of the
    encoder: the judge takes the first kind out, noise adds what lies outside the cone.
    """

    name = "dclr"
    title = "DCLR"
    paper = "Zhou et al., ACL 2022"
    needs = "a trained judge (judge=MODEL), or time for a short SimCSE run first"
    parts = ("noise", "judge")
