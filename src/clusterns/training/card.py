"""The model card (purpose, scores, use) and the upload of a model."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from huggingface_hub import ModelCard, ModelCardData
from huggingface_hub.errors import HfHubHTTPError
from sentence_transformers import SentenceTransformer

from clusterns.encoder.locate import INCLUDED, MINIBERT, request_errors, split_revision
from clusterns.errors import UserError, one_line
from clusterns.losses.contrastive import ContrastiveLoss
from clusterns.methods.registry import get_method
from clusterns.training.folder import RunResult
from clusterns.training.recipe import Recipe

PURPOSE = "Comparing, searching and clustering short texts like those it was made from."
# Placeholder for the model in the card, until it has a name on the Hub.
PLACEHOLDER = "path/to/this/folder"


def write_run_card(
    folder: Path,
    model: SentenceTransformer,
    recipe: Recipe,
    result: RunResult,
    record: Mapping[str, Any],
    loss: ContrastiveLoss | None = None,
) -> None:
    """Write the card of a model that was made with ``recipe``."""
    method = get_method(recipe.method)
    how = f"with {method.title}"
    if method.trains:
        prompted = method.prompt_title or f"prompt-based {method.title}"
        how = f"trained with {prompted if recipe.templates else method.title}"
    # The trainer gives a model a name of its own.
    title = None if method.trains else model.model_card_data.model_name
    settings = recipe.model_dump(mode="json", exclude=recipe.unused_keys())
    write_card(
        folder, model, base=recipe.base, how=how, settings=settings, result=result, record=record,
        title=title, loss=loss,
    )  # fmt: skip


def write_card(
    folder: Path,
    model: SentenceTransformer,
    *,
    base: str | None,
    how: str,
    settings: Mapping[str, Any],
    result: RunResult,
    record: Mapping[str, Any],
    title: str | None = None,
    purpose: str = PURPOSE,
    loss: ContrastiveLoss | None = None,
) -> None:
    """Write README.md to the folder of a saved model, without paths of this machine.

    Args:
        folder: the folder of the model.
        model: the model.
        base: the base it was made from.
        how: how it was made: "trained with SimCSE".
        settings: every setting.
        result: its scores.
        record: the record of the run.
        title: the name of the model. None: made from its base and ``how``.
        purpose: intended use.
        loss: the training loss.
    """
    base = base or MINIBERT
    on_hub = base not in INCLUDED and not Path(base).exists()
    repo, revision = split_revision(base) if on_hub else (Path(base).name, None)
    shown = {
        key: Path(value).name if isinstance(value, str) and Path(value).is_absolute() else value
        for key, value in settings.items()
    }
    card = ModelCard.from_template(
        ModelCardData(
            base_model=repo if on_hub else None,
            library_name="sentence-transformers",
            pipeline_tag="sentence-similarity",
            tags=["sentence-transformers", "sentence-similarity", "feature-extraction", "clusterns"],
        ),
        template_str=(files("clusterns.training") / "card.md").read_text("utf-8"),
        base=f"[{repo}](https://huggingface.co/{repo})" if on_hub else f"`{repo}`",
        title=title or f"{repo} {how}", revision=revision, how=how,
        purpose=purpose, place=PLACEHOLDER, model=model, result=result, record=record, loss=loss,
        settings=yaml.safe_dump({**shown, "base": repo}, sort_keys=False, allow_unicode=True),
    )  # fmt: skip
    (folder / "README.md").write_text(str(card), "utf-8")


def push_to_hub(
    folder: Path,
    name: str,
    *,
    private: bool = False,
    overwrite: bool = False,
    branch: str | None = None,
) -> str:
    """Upload the folder of a saved model to the Hub as ``name``; returns the address of the commit."""
    try:
        # A model that cannot be loaded must not be published.
        model = SentenceTransformer(str(folder), local_files_only=True)
        with TemporaryDirectory() as temporary:
            copy = Path(temporary) / "model"
            shutil.copytree(folder, copy)
            card = copy / "README.md"
            if card.is_file():
                card.write_text(card.read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
            return model.push_to_hub(
                name,
                private=private or None,
                local_model_path=str(copy),
                exist_ok=overwrite,
                revision=branch,
                commit_message="Upload a model trained with clusterns",
            )
    except HfHubHTTPError as error:
        status = error.response.status_code
        if status == 409 and not overwrite:
            raise UserError(
                f"{name} already exists. Add --overwrite to replace its files."
            ) from error
        remedy = (
            " Log in with `hf auth login`, or check the name." if status in (401, 403, 404) else ""
        )
        raise UserError(f"the Hub refused {name}: {one_line(error)}{remedy}") from error
    except request_errors() as error:
        raise UserError(f"cannot upload {folder}: {one_line(error)}") from error
