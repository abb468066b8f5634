"""A method: a record of the parts, views and defaults that a paper describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.methods.recipe import Recipe
from clusterns.views.settings import CROPPED
from clusterns.views.view import Crop, Repetition, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from torch import Tensor

    from clusterns.losses.contrastive import ContrastiveLoss
    from clusterns.losses.part import Part


@dataclass(frozen=True)
class Context:
    """What a part or a fit may look at when it is made."""

    recipe: Recipe
    model: SentenceTransformer
    """The model that will be trained, with its train-only modules."""
    texts: Sequence[str]
    """The corpus."""
    embed: Callable[..., Tensor]
    """Training vectors of sentences: cut, templated and headed as in training, without dropout; with a
    bar where ``progress`` says so."""
    folder: Path | None = None
    """Where the fit leaves its files; None in a dry run, which has none."""
    documents: NDArray[np.int64] | None = None
    """The document of each text, if the corpus says; for :meth:`Method.make` only."""
    quiet: bool = False
    """No progress bars."""


class Method:
    """One training method. The docstring of a subclass explains it to users, its first line first.

    Most methods consist of ``name``, ``title``, ``paper``, ``parts`` and ``defaults``.
    """

    name: str
    title: str
    """As people write it."""
    prompt_title: str = ""
    """Its name where a template is used. Empty: "prompt-based" and the title."""
    paper: str
    """Authors and year."""
    needs: str = ""
    """What the user must have, in a few words."""
    parts: tuple[str, ...] = ()
    """Parts of its loss, by name."""
    settings: type[Recipe] = Recipe
    """Keys that belong to the method and to none of its parts."""
    defaults: Mapping[str, Any] = {}
    """Defaults that differ from those of the keys."""
    revision: int = 1
    """Raised when the method's numbers change: trials of an earlier revision are not used as its results."""
    trains = True
    """False: :meth:`make` gives the model, and nothing is trained."""
    keeps_steps = False
    """:meth:`make` leaves the result of each step in ``context.folder``, and resumes from there."""

    def check(self, recipe: Recipe) -> None:
        """Refuse settings with a ValueError that says why."""

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The views of a row, those of the parts aside: by default anchor and positive."""
        templates = recipe.templates or (None, None)
        step = Crop(recipe.crop_min) if recipe.positives in CROPPED else None
        anchor, positive = (
            View(text=step, templates=() if template is None else (template,))
            for template in templates
        )
        if recipe.positives == "repetition":
            tokens = Repetition(recipe.repetition_rate)
            positive = View(tokens=tokens, templates=positive.templates)
        return anchor, positive

    def views_are_the_same(self, views: Sequence[View]) -> bool:
        """Whether anchor and positive differ by their dropout masks only."""
        return len(views) > 1 and views[0] == views[1] and views[0].is_fixed

    def encoder(self, recipe: Recipe, base: str) -> SentenceTransformer:
        """The base as a model, before its training modules; random weights follow the run's seed."""
        from clusterns.encoder.load import load_base
        from clusterns.encoder.prompt import prompt_encoder

        if recipe.templates:
            return prompt_encoder(base, recipe.templates[0], seed=None)
        return load_base(base, recipe.pooling, seed=None)

    def loss(
        self, model: SentenceTransformer, parts: Sequence[Part], **frame: Any
    ) -> ContrastiveLoss:
        """The loss of these parts."""
        from clusterns.losses.contrastive import ContrastiveLoss

        return ContrastiveLoss(model, parts=parts, **frame)

    def fit(self, context: Context) -> None:
        """Once in the life of a run, before training: leave files in ``context.folder``."""

    def make(self, context: Context) -> SentenceTransformer:
        """The model of a method that does not train; ``context.model``, which is scored as the base,
        stays as it is."""
        raise NotImplementedError
