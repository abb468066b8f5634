"""DCLR: noise as negatives, and a frozen guide model that identifies false negatives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from clusterns.errors import UserError
from clusterns.methods.method import Context, Method
from clusterns.methods.recipe import PartSettings, Recipe
from clusterns.methods.registry import method, part
from clusterns.views.settings import PAIRED
from clusterns.views.view import View

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

    from clusterns.losses.dclr import Guide, NoiseNegatives

OWN_GUIDE = "judge"  # file name, shared with earlier versions


@part("noise")
class NoiseSettings(PartSettings):
    """Random vectors as negatives, moved up the gradient of the loss (DCLR)."""

    revision: ClassVar[int] = 2  # sampled with other seeds

    noise_ratio: float = Field(1.0, ge=0)
    """Number of noise vectors as a multiple of the batch size."""
    noise_steps: int = Field(4, ge=0)
    """Number of times that the noise is moved up the gradient."""
    noise_step_size: float = Field(1e-3, ge=0)
    """Length of each move; the published 1e-3 hardly changes a similarity."""

    def make_part(self, context: Context) -> NoiseNegatives:
        """Make the noise."""
        from clusterns.losses.dclr import NoiseNegatives

        return NoiseNegatives(self, context.recipe.temperature, seed=context.recipe.seed)


@part("guide")
class GuideSettings(PartSettings):
    """In-batch negatives that a frozen guide model finds too similar are left out (DCLR)."""

    path_keys: ClassVar[tuple[str, ...]] = ("guide",)
    revision: ClassVar[int] = 2  # the guide learns from the whole corpus, with dropout

    guide: str = ""
    """Guide: a trained model as a run folder, a model folder or a Hub name. Empty: train SimCSE briefly first."""
    guide_threshold: float = Field(0.9, ge=-1, le=1)
    """Leave out negatives whose cosine under the guide is above this (phi)."""
    guide_steps: int = Field(125, ge=1)
    """Steps of the SimCSE run that trains the guide if none is given."""

    def check(self, recipe: Recipe) -> None:
        """A row must be one sentence: with two, the guide would compare the anchors only."""
        if recipe.positives in PAIRED:
            raise ValueError(
                f"positives = {recipe.positives} does not go with a guide of whole sentences."
            )

    def make_part(self, context: Context) -> Guide:
        """Make the part; the guide reads the last column of a batch, whole sentences in its own tokens."""
        from clusterns.losses.dclr import Guide

        guide = self._guide(context.folder)
        if guide is None:  # a dry run, which trains no guide: use the model, which costs the same
            from copy import deepcopy

            from clusterns.encoder.training_modules import without_training_modules
            from clusterns.losses.distributed import get_world_size

            if get_world_size() > 1:
                raise UserError(
                    "no guide is given, and several processes cannot train one: train SimCSE first "
                    "(`clusterns train ... --method simcse`) and pass its run with --set guide=DIR."
                )
            guide = without_training_modules(deepcopy(context.model))
        return Guide(self, guide, column=-1)

    def more_views(
        self, recipe: Recipe, views: tuple[View, ...], folder: Path | None
    ) -> tuple[View, ...]:
        """A column for the guide, after those of the encoder."""
        guide = self._guide(folder)
        if guide is None:
            return views
        prompt = guide.prompts.get(guide.default_prompt_name) if guide.default_prompt_name else None
        return *views, View(preprocess=guide.preprocess, prompt=prompt)

    def fit(self, context: Context) -> None:
        """Train the guide if none is given."""
        if not self.guide and context.folder is not None:
            from clusterns.losses.dclr import load_guide

            _train_guide(context, self.guide_steps, context.folder / OWN_GUIDE)
            load_guide.cache_clear()  # an earlier run may have left its guide in the same folder

    def _guide(self, folder: Path | None) -> SentenceTransformer | None:
        from clusterns.losses.dclr import load_guide

        if self.guide:
            return load_guide(self.guide)
        made = folder / OWN_GUIDE if folder is not None else None
        return load_guide(str(made)) if made is not None and made.is_dir() else None


@method
class DCLR(Method):
    """Noise negatives make the space uniform; negatives that a trained model finds similar are left out.

    In-batch negatives may mean the same as the anchor, and they all lie in the narrow cone of the
    encoder. The guide removes the former; noise adds negatives from outside the cone.
    """

    name = "dclr"
    title = "DCLR"
    paper = "Zhou et al., ACL 2022"
    needs = "a trained guide (guide=MODEL), or time for a short SimCSE run first"
    parts = ("noise", "guide")


def _train_guide(context: Context, steps: int, path: Path) -> None:
    """Train a copy of the model with plain SimCSE for some steps and save it to ``path``.

    It reads as many sentences as the steps need, sampled from the whole corpus. Its positives are
    dropout masks, so dropout is enabled again for an encoder that has it turned off.
    """
    from copy import deepcopy

    import torch
    from datasets import Dataset

    from clusterns.console import log
    from clusterns.data.split import select_texts
    from clusterns.encoder.short_training import train_briefly
    from clusterns.encoder.speed import has_dropout, set_dropout
    from clusterns.encoder.training_modules import preserve_rng_state, without_training_modules
    from clusterns.files import atomic_folder
    from clusterns.losses.contrastive import ContrastiveLoss

    recipe, n = context.recipe, len(context.texts)
    log(f"No guide is given: training SimCSE first, {steps} steps of {recipe.batch_size}.")
    model = deepcopy(context.model)
    if not has_dropout(model):
        set_dropout(model, 0.1)
    order = torch.randperm(n, generator=torch.Generator().manual_seed(recipe.seed))
    sample = sorted(order[: steps * recipe.batch_size].tolist())
    with preserve_rng_state(model.device):
        train_briefly(
            model,
            Dataset.from_dict({"text": select_texts(context.texts, sample)}),
            ContrastiveLoss(model, recipe.temperature, mini_batch_size=recipe.mini_batch_size),
            description="SimCSE",
            quiet=context.quiet,
            max_length=recipe.max_length,
            max_steps=steps,
            per_device_train_batch_size=recipe.batch_size,
            learning_rate=recipe.learning_rate,
            # A process has a single precision; the run that follows could not change it.
            bf16=recipe.precision == "bf16",
            fp16=recipe.precision == "fp16",
            seed=recipe.seed,
            use_cpu=not torch.accelerator.is_available(),
        )
    with atomic_folder(path) as temporary:
        without_training_modules(model).save_pretrained(str(temporary))
