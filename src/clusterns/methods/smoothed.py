"""Smoothed targets: a good encoder learns to see the topics of a text, without labels or negatives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from clusterns.corpus.taken import taken
from clusterns.methods.adapting import Adapting, AdaptingSettings
from clusterns.methods.general import replayed_text
from clusterns.methods.method import Context
from clusterns.methods.recipe import Recipe
from clusterns.methods.registry import method, part
from clusterns.views.view import View

if TYPE_CHECKING:
    from datasets import Dataset

    from clusterns.losses.targets import Targets

TARGETS = "targets.npy"
# Distinct lines: a run learns from fewer, and each has to be embedded.
MOST_GENERAL = 2000


@part("targets")
class TargetSettings(Recipe):
    """Every row has a vector that its sentence is to come to."""

    target_weight: float = Field(10.0, gt=0)
    """Weight of the regression, one minus the cosine."""

    def make_part(self, context: Context) -> Targets:
        """The targets that the fit has left."""
        from clusterns.losses.targets import Targets

        file = None if context.folder is None else context.folder / TARGETS
        return Targets(file, self.target_weight)


class SmoothedSettings(AdaptingSettings):
    """How the targets are made."""

    target_neighbours: int = Field(10, ge=0)
    """Nearest sentences of the text that a sentence is drawn to; 0 leaves them out."""
    target_power: float = Field(3.0, ge=0)
    """Power of the similarity in a neighbour's weight."""
    target_clusters: int = Field(50, ge=2)
    """Centroids of the text that a sentence is drawn to."""
    target_pull: float = Field(0.5, ge=0)
    """Weight of the centroids; 0 leaves them out."""
    target_temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax over the centroids."""
    replay: float = Field(0.5, ge=0)
    """Rows of general text for each row of the text, whose vectors are to stay."""

    def general_lines(self, count: int) -> list[str]:
        """The distinct general text that is learned beside ``count`` rows."""
        wanted = min(round(self.replay * count), MOST_GENERAL)
        return replayed_text(self.general, self.base, wanted, self.seed)

    def general_rows(self, count: int) -> NDArray[np.int64]:
        """Which of these lines stands in each row of general text: all in turn."""
        lines = min(round(self.replay * count), MOST_GENERAL)
        return np.resize(np.arange(lines), round(self.replay * count))


@method
class Smoothed(Adapting):
    """Each sentence moves towards its neighbours and its topic, as the start sees them; general text stays.

    For a model that is good already and a text of topics. Contrastive learning pushes the sentences of a
    batch apart, which in a narrow text are of the same topics; here nothing is pushed. The result lies on
    the way from the start to what was trained, as far as the start's knowledge is kept.
    """

    name = "smoothed"
    title = "smoothed targets"
    paper = "this package"
    needs = "a good sentence encoder as the base"
    purpose = "topics"
    parts = ("targets",)
    settings = SmoothedSettings
    contrastive = False
    row_numbers = True
    defaults = {
        "batch_size": 96,
        "learning_rate": 1e-4,
        "warmup_steps": 3,
        "max_steps": 25,
        "eval_steps": 25,
        "max_length": 128,
        "max_sentences": 20_000,
        "train_layers": 2,
        "dropout": 0.0,
        # At most half of the way: no score without labels tells where more would still be a gain. The
        # limit on general text is what keeps fine shades of meaning; see docs/adapt.md.
        "shares": (0.1, 0.2, 0.3, 0.4, 0.5),
        "keep": 0.9975,
    }

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The sentence, once."""
        return (View(),)

    def rows(self, recipe: Recipe, dataset: Dataset) -> Dataset:
        """The text, and general text below it."""
        from datasets import Dataset, concatenate_datasets

        assert isinstance(recipe, SmoothedSettings)
        own = super().rows(recipe, dataset)
        general = Dataset.from_dict({"text": recipe.general_lines(len(own))}, features=own.features)
        return concatenate_datasets([own, general.select(recipe.general_rows(len(own)))])

    def fit(self, context: Context) -> None:
        """Vectors of all rows by the start, smoothed where they are the text's own."""
        from clusterns.vectors.smoothing import smoothed

        recipe, own = context.recipe, len(context.texts)
        assert context.folder is not None
        assert isinstance(recipe, SmoothedSettings)
        texts = [*taken(context.texts, range(own)), *recipe.general_lines(own)]
        vectors = context.embed(texts, progress=not context.quiet).float().cpu().numpy()
        targets = smoothed(
            vectors[:own],
            neighbours=recipe.target_neighbours,
            power=recipe.target_power,
            clusters=recipe.target_clusters,
            pull=recipe.target_pull,
            temperature=recipe.target_temperature,
            seed=recipe.seed,
            progress=not context.quiet,
        )
        np.save(
            context.folder / TARGETS,
            np.concatenate([targets, vectors[own:][recipe.general_rows(own)]]),
        )
