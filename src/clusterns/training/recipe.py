"""A recipe: every setting of a run, flat, checked, from a YAML file or a published one's name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import Field, field_validator, model_validator

from clusterns.encoder.settings import EncoderSettings
from clusterns.errors import UserError
from clusterns.methods.settings import ClusteringSettings, ClusterNSSettings
from clusterns.settings import Settings, validated
from clusterns.views.settings import PromptSettings, ViewSettings

DEFAULT_RECIPE = "default"


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
    """Validations without gain after which the run stops; 0 never stops early."""
    dev: str = "none"
    """What decides which model is best: a file of scored pairs, stsb (STS-B dev), or none (the label-free score)."""
    heldout: int = Field(1000, ge=2)
    """Sentences kept out of training for the label-free score; at most a tenth of the corpus."""
    log_steps: int = Field(10, ge=1)
    """Steps between two lines of loss and diagnostics in metrics.jsonl."""
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    """Arithmetic of the encoder; bf16 and fp16 pay on a GPU only."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Of all that is random in the run."""
    workers: int = Field(0, ge=0)
    """Processes that tokenise ahead; 0 tokenises in the training process."""
    report_to: tuple[str, ...] = ()
    """Where the metrics go besides the run folder: tensorboard, wandb, ..."""


class Recipe(TrainingSettings, EncoderSettings, ViewSettings, PromptSettings, ClusterNSSettings):
    """All settings of a run."""

    description: str = ""
    """What the recipe is for, in a sentence."""
    method: Literal["simcse", "clusterns"] = "clusterns"
    """The training method: clusterns, or simcse (the same frame without clusters)."""

    @field_validator("report_to", mode="before")
    @classmethod
    def _one_is_enough(cls, value: object) -> object:
        return (value,) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _settings_fit_together(self) -> Recipe:
        foreign = self.model_fields_set & set(ClusteringSettings.model_fields)
        if self.method == "simcse" and foreign:
            raise ValueError(
                f"{min(foreign)} belongs to method clusterns, and the method is simcse."
            )
        if self.method == "clusterns" and self.clusters > self.batch_size:
            raise ValueError(
                f"clusters = {self.clusters} is more than batch_size = {self.batch_size}: the first "
                "centroids are rows of a batch. Lower clusters or raise batch_size."
            )
        if self.template and self.pooling != "auto":
            raise ValueError(
                f"pooling = {self.pooling} does not go with a template, whose mask is the vector."
            )
        if self.positives == "dropout" and self.dropout == 0 and not self.templates:
            raise ValueError("positives = dropout with dropout = 0: both views would be the same.")
        if self.initialisation == "corpus" and self.initialisation_sample < self.clusters:
            raise ValueError(
                f"initialisation_sample = {self.initialisation_sample} is less than "
                f"clusters = {self.clusters}."
            )
        if self.start_step is not None and "sigma" in self.model_fields_set:
            raise ValueError(
                "sigma and start_step both say when clustering starts: set one of them."
            )
        return self

    def to_yaml(self) -> str:
        """The resolved recipe, every key that this method reads."""
        unread = set(ClusteringSettings.model_fields) if self.method == "simcse" else set()
        if self.method == "clusterns":
            unread = {"sigma"} if self.start_step is not None else {"start_step"}
        values = self.model_dump(mode="json", exclude=unread)
        first = {key: values.pop(key) for key in ("description", "method", "base")}
        return yaml.safe_dump({**first, **values}, sort_keys=False, allow_unicode=True)


def recipe_names() -> list[str]:
    """Names of the recipes inside this package."""
    folder = files("clusterns.training") / "recipes"
    names = sorted(item.name.removesuffix(".yaml") for item in folder.iterdir())
    return [DEFAULT_RECIPE, *(name for name in names if name != DEFAULT_RECIPE)]


def load_recipe(
    name_or_file: str = DEFAULT_RECIPE, changes: Mapping[str, Any] | None = None
) -> Recipe:
    """A published recipe by name, or the user's own YAML file, with ``changes`` on top.

    Choosing start_step in the changes replaces the recipe's sigma, and the other way round; a
    template replaces its pooling.
    """
    values = {**_read(name_or_file)}
    changes = dict(changes or {})
    for key, other in (("start_step", "sigma"), ("sigma", "start_step")):
        if changes.get(key) is not None and other not in changes:
            values.pop(other, None)
    if changes.get("template") and "pooling" not in changes:
        values.pop("pooling", None)
    if changes.get("method") == "simcse":
        for key in ClusteringSettings.model_fields:
            values.pop(key, None)
    return validated(Recipe, {**values, **changes}, f"recipe {name_or_file}")


def parse_changes(pairs: Sequence[str]) -> dict[str, Any]:
    """``key=value`` texts of the command line; values are read as YAML."""
    changes: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise UserError(f"--set takes key=value, got {pair!r}.")
        try:
            changes[key.strip()] = _scalar(value)
        except yaml.YAMLError:
            raise UserError(f"--set {key.strip()}: cannot read the value {value!r}.") from None
    return changes


def _scalar(text: str) -> Any:
    return _number(yaml.safe_load(text))


def _number(value: Any) -> Any:
    """YAML 1.1 reads 1e-3 as text; people mean the number."""
    try:
        return float(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _read(name_or_file: str) -> dict[str, Any]:
    if name_or_file in recipe_names():
        text = (files("clusterns.training") / "recipes" / f"{name_or_file}.yaml").read_text("utf-8")
    else:
        path = Path(name_or_file).expanduser()
        if path.suffix not in {".yaml", ".yml"} and os.sep not in name_or_file:
            raise UserError(
                f"there is no recipe {name_or_file!r}: choose one of {', '.join(recipe_names())}, "
                "or name a .yaml file."
            )
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"cannot read the recipe {path}: {error}.") from None
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UserError(
            f"recipe {name_or_file} is not YAML: {' '.join(str(error).split())}."
        ) from None
    if not isinstance(values, dict):
        raise UserError(f"recipe {name_or_file} must be keys and values.")
    return {key: _number(value) for key, value in values.items()}
