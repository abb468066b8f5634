"""Where MODEL lies, and whether it can be opened so; nothing heavy is imported to say no."""

from __future__ import annotations

from pathlib import Path

from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.encoder.settings import AVERAGES
from clusterns.errors import UserError
from clusterns.files import recover_folder


def model_place(name: str) -> str:
    """The folder or Hub name that holds a model; a run folder has its final one in ``model``."""
    run, final = Path(name), Path(name) / "model"
    recover_folder(run)
    recover_folder(final)
    if final.is_dir():
        return str(final)
    try:
        return resolve_base(name)
    except UserError as error:
        raise UserError(
            f"MODEL {name!r} is no run folder, no folder of a model and no file of word vectors, "
            "and it is neither in the local Hub cache nor to be had from the Hub."
        ) from error


def check_model(name: str, pooling: str | None) -> None:
    """Refuse a model that is not there, or that a pooling does not go with."""
    if Path(name).is_file():
        _refuse(pooling, name, "word vectors are averaged")
        return
    place = model_place(name)
    if is_sentence_transformer(place):
        _refuse(pooling, place, "it is a SentenceTransformer with a pooling of its own")
    elif pooling not in AVERAGES:
        raise UserError(
            f"{place} is a plain encoder: say how its token vectors become one with --pooling "
            f"({', '.join(AVERAGES)})."
        )


def is_plain_encoder(name: str) -> bool:
    """Tell whether a model has no pooling of its own; one that does not exist is refused."""
    return not Path(name).is_file() and not is_sentence_transformer(model_place(name))


def _refuse(pooling: str | None, name: str, reason: str) -> None:
    if pooling is not None:
        raise UserError(f"--pooling {pooling} does not go with {name}: {reason}.")
