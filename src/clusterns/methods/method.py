"""A method: a record of the parts, views and defaults that a paper describes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterns.methods.recipe import Recipe
from clusterns.settings import Settings
from clusterns.views.settings import CROPPED, PAIRED
from clusterns.views.view import Crop, Repetition, View

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from sentence_transformers import SentenceTransformer
    from torch import Tensor


@dataclass(frozen=True)
class Context:
    """The inputs for fitting or making a part."""

    recipe: Recipe
    model: SentenceTransformer
    """The model that will be trained, with its train-only modules."""
    texts: Sequence[str]
    """The corpus."""
    embed: Callable[..., Tensor]
    """Training vectors of sentences, with truncation, template and head as in training, without dropout.
    ``progress`` shows a bar."""
    folder: Path | None = None
    """Folder for the files of the fit; None in a dry run."""
    documents: NDArray[np.int64] | None = None
    """The document of each text, if known; for :meth:`Method.make` only."""
    quiet: bool = False
    """Whether to hide progress bars."""


class Method:
    """One training method. The docstring of a subclass explains it to users; its first line is the summary.

    Most methods consist of ``name``, ``title``, ``paper``, ``parts`` and ``defaults``.
    """

    name: str
    title: str
    """Its name as printed in papers."""
    prompt_title: str = ""
    """Its title with a template. Empty: "prompt-based" and the title."""
    paper: str
    """Authors and year."""
    needs: str = ""
    """What the user needs, in a few words."""
    parts: tuple[str, ...] = ()
    """Parts of its loss, by name."""
    settings: type[Settings] = Settings
    """Settings of the method itself, in addition to those of its parts."""
    defaults: Mapping[str, Any] = {}
    """Defaults that differ from those of the settings."""
    revision: int = 1
    """Raised when the method's numbers change: trials of an earlier revision are not used as its results."""
    trains = True
    """False: :meth:`make` returns the model, and nothing is trained."""
    keeps_steps = False
    """:meth:`make` leaves the result of each step in ``context.folder``, and resumes from there."""

    def check(self, recipe: Recipe) -> None:
        """Refuse settings with a ValueError that states the reason."""

    def views(self, recipe: Recipe) -> tuple[View, ...]:
        """The views of a row without those of the parts: by default anchor and positive."""
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

    def views_are_the_same(self, recipe: Recipe, views: Sequence[View]) -> bool:
        """Whether anchor and positive differ by their dropout masks only."""
        return views[0] == views[1] and views[0].is_fixed and recipe.positives not in PAIRED

    def encoder(self, recipe: Recipe, base: str) -> SentenceTransformer:
        """The base as a model, before its training modules; random weights follow the run's seed."""
        from clusterns.encoder.load import load_base
        from clusterns.encoder.prompt import prompt_encoder

        if recipe.templates:
            return prompt_encoder(base, recipe.templates[0], seed=None)
        return load_base(base, recipe.pooling, seed=None)

    def make(self, context: Context) -> SentenceTransformer:
        """The model of a method that does not train; ``context.model`` is scored as the base and must not
        change."""
        raise NotImplementedError
