"""The settings of an adaptation, one class for each purpose, without heavy imports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import Field
from pydantic.fields import FieldInfo

from clusterns.settings import Settings, validated

Purpose = Literal["topics", "search"]


class AdaptSettings(Settings):
    """Settings of both purposes: the map, and how far the model may move."""

    base: str
    """Sentence encoder to adapt."""
    general: str = ""
    """File of general text whose embeddings should not change, one sentence per line. Empty: random words of the
    base's vocabulary."""
    seed: int = Field(42, ge=0, lt=2**32)
    """Random seed."""
    max_sentences: int | None = Field(20_000, ge=2)
    """Maximum number of sentences to learn from, a random sample. Empty: all."""
    heldout: int = Field(2000, ge=2)
    """Maximum number of held-out sentences, used to choose the interpolation weight and to measure the choice."""
    heldout_fraction: float = Field(0.2, gt=0, lt=1)
    """Maximum fraction of the text to hold out."""
    batch_size: int = Field(64, ge=1)
    """Batch size of the encoder."""
    landmarks: int = Field(2000, ge=1)
    """Landmarks of the map: randomly chosen sentences, each of which shifts nearby embeddings."""
    threshold: float = Field(0.2, ge=0, lt=1)
    """Cosine above which a landmark acts. Embeddings farther than that from every landmark do not move."""
    general_weight: float = Field(0.5, ge=0)
    """Weight of the general text in the fit, relative to your text."""
    ridge: float = Field(3e-5, gt=0)
    """Ridge penalty of the fit."""
    interpolation_weights: tuple[Annotated[float, Field(gt=0, le=1)], ...] = (
        0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0,
    )  # fmt: skip
    """Interpolation weights to try between the base and the adapted model."""
    min_agreement_general: float = Field(0.985, ge=0, le=1)
    """Minimum agreement with the base on general text (Spearman correlation of pairwise similarities)."""
    max_drift: float = Field(0.035, ge=0)
    """Maximum increase in the similarity of related sentences of general English, in standard deviations."""
    min_agreement_domain: float = Field(0.9, ge=0, le=1)
    """Minimum agreement with the base on held-out sentences of your text."""

    def to_yaml(self) -> str:
        """Every setting, for the run folder."""
        return yaml.safe_dump(self.model_dump(mode="json"), sort_keys=False, allow_unicode=True)


class TopicSettings(AdaptSettings):
    """Settings for topics: each sentence moves toward its nearest neighbors and its centroid."""

    purpose: Literal["topics"] = "topics"
    """What the model is for."""
    neighbors: int = Field(10, ge=0)
    """Nearest neighbors that a sentence moves toward; 0 turns this off."""
    similarity_power: float = Field(3.0, ge=0)
    """Exponent of the similarity in the weight of a neighbor."""
    clusters: int = Field(50, ge=2)
    """K-means centroids that sentences move toward."""
    centroid_weight: float = Field(0.5, ge=0)
    """Weight of the centroids; 0 turns them off."""
    centroid_temperature: float = Field(0.05, gt=0)
    """Temperature of the softmax over the centroids."""


class SearchSettings(AdaptSettings):
    """Settings for search: directions in which titles differ from their documents get less weight."""

    purpose: Literal["search"] = "search"
    """What the model is for."""
    ridge: float = Field(1e-3, gt=0)
    """Ridge penalty of the fit."""
    title: str | None = None
    """Column of the titles in tables. Empty: the first sentence of a document serves as its title."""
    shrinkage: float | None = Field(None, gt=0)
    """Shrinkage of the whitening toward the identity; 1 is the mean variance. Empty: 0.1 with titles, 0.3 without."""


AnySettings = TopicSettings | SearchSettings
KINDS: dict[Purpose, type[AnySettings]] = {"topics": TopicSettings, "search": SearchSettings}


def documented_fields() -> list[tuple[str, FieldInfo, str]]:
    """Every setting with its command; settings with the same default for both purposes are listed once."""
    rows = []
    for purpose, kind in KINDS.items():
        for key, field in kind.model_fields.items():
            both = all(
                key in each.model_fields and each.model_fields[key].default == field.default
                for each in KINDS.values()
            )
            if key != "purpose" and (not both or purpose == "topics"):
                rows.append((key, field, "adapt" if both else f"adapt --for {purpose}"))
    return sorted(rows, key=lambda row: row[0])


def load_settings(purpose: Purpose, changes: Mapping[str, Any]) -> AnySettings:
    """The default settings of a purpose with ``changes``, which include the base."""
    return validated(KINDS[purpose], changes, f"adapt --for {purpose}")


def read_settings(file: Path) -> AnySettings | None:
    """The settings in the recipe.yaml of a run folder; None if `clusterns adapt` did not write it."""
    try:
        values = yaml.safe_load(file.read_text("utf-8"))
        return KINDS[values["purpose"]].model_validate(values)
    except (OSError, ValueError, TypeError, KeyError, yaml.YAMLError):
        return None


def search_advice(model: str, by: str) -> str | None:
    """Advice for searching with an adapted model, given by its run folder or the model folder inside."""
    run, inside = Path(model), Path(model).parent
    settings = read_settings(run / "recipe.yaml") or read_settings(inside / "recipe.yaml")
    if settings is None:
        return None
    if settings.purpose == "topics":
        return (
            "This model was adapted for topics, which can make search worse. Search with its base: "
            f"{settings.base}."
        )
    if by == "both":
        return (
            "This model was adapted for search by embeddings alone. By words and embeddings together, its "
            f"base finds as much: {settings.base}."
        )
    return None
