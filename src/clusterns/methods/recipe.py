"""The settings of every run, and the base class of the settings of a part."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import yaml
from pydantic import BeforeValidator, Field, model_validator

from clusterns.data.settings import CorpusSettings
from clusterns.encoder.settings import EncoderSettings
from clusterns.settings import Settings
from clusterns.views.settings import PromptSettings, ViewSettings

if TYPE_CHECKING:
    from pathlib import Path

    from clusterns.losses.part import Part
    from clusterns.methods.method import Context
    from clusterns.views.view import View

# Earlier names, which older recipes and records, or a user's own commands, may still contain.
RENAMED_KEYS = {
    "initialisation": "initialization",
    "initialisation_sample": "initialization_sample",
    "judge": "guide",
    "judge_above": "guide_threshold",
    "judge_steps": "guide_steps",
    "noise_rate": "noise_step_size",
    "noise_times": "noise_ratio",
}
RENAMED_VALUES: dict[str, dict[str, str]] = {"parts": {"judge": "guide"}}

THIRD_VIEW = "prototype and soft_negative cannot be combined: each adds a third view."


def current_names(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Convert earlier names of settings to the current names."""
    found = {RENAMED_KEYS.get(key, key): value for key, value in settings.items()}
    return {key: renamed(value, RENAMED_VALUES.get(key, {})) for key, value in found.items()}


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """Rename a value, or each value of a list."""
    if isinstance(value, list | tuple):
        return [renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


Names = Annotated[
    tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)
]
"""A list of names; a single name needs no brackets."""


class TrainingSettings(Settings):
    """Length, speed and validation of a run."""

    batch_size: int = Field(64, ge=2)
    """Sentences per step over all devices (N); incomplete batches are dropped."""
    learning_rate: float = Field(5e-5, gt=0)
    """Peak learning rate of AdamW; it falls linearly to 0."""
    warmup_steps: int = Field(0, ge=0)
    """Steps over which the learning rate rises to its peak."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of AdamW."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Clip gradients to this norm; 0 turns clipping off."""
    epochs: float = Field(1.0, gt=0)
    """Passes over the corpus."""
    max_steps: int | None = Field(None, ge=1)
    """Number of steps, which overrides epochs. Empty: by epochs."""
    eval_steps: int = Field(125, ge=1)
    """Steps between validations; a checkpoint is written with each."""
    patience: int = Field(3, ge=0)
    """Stop after this many validations without improvement; 0, or keeping the last step, never stops early."""
    dev: str = "none"
    """Score that selects the step to keep: none (last step), label-free, stsb (STS-B dev), a file of scored pairs."""
    checkpoint: Literal["best", "last"] = "best"
    """Keep the best step by dev, or the last one; with dev=none always the last."""
    heldout: int = Field(1000, ge=2)
    """Sentences held out for the label-free score; at most a tenth of the corpus."""
    max_sentences: int | None = Field(None, ge=2)
    """Train on at most this many sentences of the corpus, sampled with the seed. Empty: all."""
    log_steps: int = Field(10, ge=1)
    """Steps between lines of loss and diagnostics in metrics.jsonl."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Precision of the encoder; bf16 and fp16 are faster on a GPU only."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Random seed."""
    check_memory: bool = True
    """On a CPU, refuse to run if a step would not fit into memory; if false, only warn."""
    workers: int = Field(0, ge=0)
    """Processes that tokenize in advance; 0 tokenizes in the training process."""
    report_to: Names = ()
    """Where to log metrics besides the run folder: tensorboard, wandb, ..."""

    @property
    def keeps_last_step(self) -> bool:
        """Whether the final model is that of the last step."""
        return self.checkpoint == "last" or self.dev == "none"


class ContrastiveSettings(Settings):
    """Settings of every contrastive method."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax (tau)."""
    masked_lm_weight: float = Field(0.0, ge=0)
    """Weight of the auxiliary masked-LM objective; 0 turns it off (SimCSE's setting is 0.1)."""
    masked_lm_probability: float = Field(0.15, gt=0, lt=1)
    """Share of tokens that the masked-LM objective masks."""
    mini_batch_size: int | None = Field(None, ge=1)
    """Rows that are encoded at once, sorted by length. Empty: 64 on a CPU, all on a GPU."""
    gradient_cache: bool = False
    """Keep the activations of one mini-batch only: large batches in little memory, but a second forward pass."""
    sif_whitening: bool = False
    """After training, fit token weights (SIF) and a partial whitening to the corpus, as method static does. For
    mean pooling."""


class Recipe(
    TrainingSettings,
    EncoderSettings,
    ViewSettings,
    PromptSettings,
    ContrastiveSettings,
    CorpusSettings,
):
    """All settings that every run has. The recipe of a method also has the fields of its parts and
    of the method itself (see :func:`clusterns.methods.registry.recipe_class`)."""

    description: str = ""
    """Purpose of the recipe, in a sentence."""
    method: str = "clusterns"
    """Training method; `clusterns methods` lists them."""
    parts: Names = ()
    """Parts to add to those of the method: clustering, queue, ..."""

    excludes: ClassVar[Mapping[str, str]] = {"template": "pooling"}
    """Keys that are removed from the recipe when a key is changed."""
    path_keys: ClassVar[tuple[str, ...]] = ("base", "dev")
    """Keys that may name a file or folder; a run stores its absolute path, to resume from anywhere."""

    @classmethod
    def all_path_keys(cls) -> list[str]:
        """The ``path_keys`` of this recipe and of its parts."""
        return sorted({key for kind in cls.__mro__ for key in vars(kind).get("path_keys", ())})

    @model_validator(mode="after")
    def _mask_is_the_vector(self) -> Recipe:
        if self.template and self.pooling != "auto":
            raise ValueError(
                f"pooling = {self.pooling} does not go with a template, whose mask is the vector."
            )
        if self.sif_whitening and (self.template or self.pooling == "cls"):
            raise ValueError("sif_whitening needs mean pooling: token weights change nothing else.")
        return self

    def unused_keys(self) -> set[str]:
        """Keys that have no effect, given the others; the resolved recipe omits them."""
        parts = set() if self.parts else {"parts"}
        prompts = set() if self.template else {"denoising", "positive_template"}
        return super().unused_keys() | parts | prompts

    def to_yaml(self) -> str:
        """The resolved recipe with every key that has an effect."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude=self.unused_keys())
        first = {key: values.pop(key) for key in ("description", "method", "base")}
        return yaml.safe_dump({**first, **values}, sort_keys=False, allow_unicode=True)


class PartSettings(Settings):
    """The settings of one part of a loss, and the hooks that connect the part with a run.

    The fields are added to those of the recipe, without nesting. The hooks are called on an object of the part's
    own fields; ``recipe`` gives them the settings of the run.
    """

    excludes: ClassVar[Mapping[str, str]] = {}
    path_keys: ClassVar[tuple[str, ...]] = ()
    revision: ClassVar[int] = 1
    """Raised when the part's numbers change: trials of an earlier revision are not used as its results."""

    @classmethod
    def revision_for(cls, settings: Mapping[str, Any]) -> int:
        """The revision for these settings, where only some of them changed its numbers."""
        return cls.revision

    @classmethod
    def of(cls, recipe: Recipe) -> Self:
        """The part's own share of a recipe."""
        values = {key: getattr(recipe, key) for key in cls.model_fields}
        return cls.model_construct(recipe.model_fields_set & values.keys(), **values)

    def check(self, recipe: Recipe) -> None:
        """Refuse settings of the run with a ValueError that states the reason."""

    def make_part(self, context: Context) -> Part:
        """Make the part of the loss."""
        raise NotImplementedError

    def more_views(
        self, recipe: Recipe, views: tuple[View, ...], folder: Path | None
    ) -> tuple[View, ...]:
        """The views of a row plus those that the part needs; ``folder`` contains the files of the fit."""
        return views

    def fit(self, context: Context) -> None:
        """Write files to ``context.folder``; called once per run, before training."""
