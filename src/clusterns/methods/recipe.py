"""The settings that every run has; parts and methods add theirs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from clusterns.data.settings import CorpusSettings
from clusterns.encoder.settings import EncoderSettings
from clusterns.settings import Settings
from clusterns.views.settings import PromptSettings, ViewSettings

if TYPE_CHECKING:
    from pathlib import Path

    from clusterns.losses.part import Part
    from clusterns.methods.method import Context
    from clusterns.views.view import View


class TrainingSettings(Settings):
    """How long, how fast, how often validated."""

    batch_size: int = Field(64, ge=2)
    """Sentences of a step over all devices (N); incomplete batches are dropped."""
    learning_rate: float = Field(5e-5, gt=0)
    """Peak learning rate of AdamW; it falls linearly to 0."""
    warmup_steps: int = Field(0, ge=0)
    """Steps over which the learning rate rises to its peak."""
    weight_decay: float = Field(0.0, ge=0)
    """Weight decay of AdamW."""
    max_grad_norm: float = Field(1.0, ge=0)
    """Gradients are clipped to this norm; 0 leaves them as they are."""
    epochs: float = Field(1.0, gt=0)
    """Passes over the corpus."""
    max_steps: int | None = Field(None, ge=1)
    """Steps of the run, whatever the epochs say. Empty: by epochs."""
    eval_steps: int = Field(125, ge=1)
    """Steps between two validations; a checkpoint is written with each."""
    patience: int = Field(3, ge=0)
    """Stop after this many validations without gain; 0, or keeping the last step, never stops early."""
    dev: str = "none"
    """What chooses the step to keep: none (the last step), label-free, stsb (STS-B dev) or a file of scored pairs."""
    checkpoint: Literal["best", "last"] = "best"
    """Keep the best step by dev, or the last one whatever dev says; with dev=none always the last."""
    heldout: int = Field(1000, ge=2)
    """Sentences held out for the label-free score; at most a tenth of the corpus."""
    max_sentences: int | None = Field(None, ge=2)
    """At most so many sentences of the corpus are learned from, drawn by the seed. Empty: all."""
    log_steps: int = Field(10, ge=1)
    """Steps between two lines of loss and diagnostics in metrics.jsonl."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Arithmetic of the encoder; bf16 and fp16 pay on a GPU only."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Random seed."""
    check_memory: bool = True
    """On a CPU, refuse a step that would not fit into memory; off, it is only said."""
    workers: int = Field(0, ge=0)
    """Processes that tokenise ahead; 0 tokenises in the training process."""
    report_to: tuple[str, ...] = ()
    """Where the metrics go besides the run folder: tensorboard, wandb, ..."""

    @property
    def keeps_last_step(self) -> bool:
        """Whether the final model is that of the last step."""
        return self.checkpoint == "last" or self.dev == "none"

    @field_validator("report_to", mode="before")
    @classmethod
    def _one_is_enough(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value


class ContrastiveSettings(Settings):
    """What every contrastive method has."""

    temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax (tau)."""
    masked_lm_weight: float = Field(0.0, ge=0)
    """Weight of the auxiliary masked-LM objective; 0 leaves it out (SimCSE's setting is 0.1)."""
    masked_lm_probability: float = Field(0.15, gt=0, lt=1)
    """Share of the tokens that the masked-LM objective masks."""
    mini_batch_size: int | None = Field(None, ge=1)
    """Rows that go through the encoder at once, sorted by length. Empty: 64 on a CPU, all on a GPU."""
    gradient_cache: bool = False
    """Keep the activations of one mini-batch only: large batches in little memory, a second forward pass."""


class Recipe(
    TrainingSettings,
    EncoderSettings,
    ViewSettings,
    PromptSettings,
    ContrastiveSettings,
    CorpusSettings,
):
    """All settings that every run has. A part's settings are a subclass, and so is the recipe of a
    method: the join of all of its parts' (see :func:`clusterns.methods.registry.recipe_class`)."""

    description: str = ""
    """What the recipe is for, in a sentence."""
    method: str = "clusterns"
    """The training method; `clusterns methods` lists them."""
    parts: tuple[str, ...] = ()
    """Parts that join those of the method: clustering, queue, ..."""

    replaces: ClassVar[dict[str, str]] = {"template": "pooling"}
    """A key that is changed takes out another one of the recipe."""
    places: ClassVar[tuple[str, ...]] = ("base", "dev")
    """Keys that may name a file or folder: a run keeps the whole path, to go on from anywhere."""
    revision: ClassVar[int] = 1
    """Of a part: raised when its numbers change, as that of a method."""

    @classmethod
    def revision_for(cls, settings: Mapping[str, Any]) -> int:
        """The revision of a part with these settings, where only some of them changed its numbers."""
        return cls.revision

    @classmethod
    def keys_of_places(cls) -> list[str]:
        """``places`` of all parts of this recipe."""
        return sorted({key for kind in cls.__mro__ for key in vars(kind).get("places", ())})

    @field_validator("parts", mode="before")
    @classmethod
    def _one_part_is_enough(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _mask_is_the_vector(self) -> Recipe:
        if self.template and self.pooling != "auto":
            raise ValueError(
                f"pooling = {self.pooling} does not go with a template, whose mask is the vector."
            )
        return self

    # What a part's settings say besides their keys; called on a recipe that holds them.

    def make_part(self, context: Context) -> Part:
        """The part of the loss."""
        raise NotImplementedError

    def more_views(self, views: tuple[View, ...], folder: Path | None) -> tuple[View, ...]:
        """The views of a row with those that the part needs; ``folder`` has the files of the fit."""
        return views

    def fit(self, context: Context) -> None:
        """Once in the life of a run, before training: leave files in ``context.folder``."""

    def unread(self) -> set[str]:
        """Keys that do not matter as the others are, and stay out of the resolved recipe."""
        return (set() if self.parts else {"parts"}) | (
            set() if self.template else {"denoising", "positive_template"}
        )

    def to_yaml(self) -> str:
        """The resolved recipe, every key that this method reads."""
        values: dict[str, Any] = self.model_dump(mode="json", exclude=self.unread())
        first = {key: values.pop(key) for key in ("description", "method", "base")}
        return yaml.safe_dump({**first, **values}, sort_keys=False, allow_unicode=True)
