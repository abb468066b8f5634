"""The sentences that a command is about, and their index with a model, built once and kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sentence_transformers import SentenceTransformer

from clusterns.console import say
from clusterns.corpus.columns import Columns
from clusterns.corpus.prepare import prepare_corpus
from clusterns.corpus.sources import find_sources, told_columns
from clusterns.encoder.base import load_base, resolve_base, without_training_parts
from clusterns.errors import UserError
from clusterns.explore.lens import Lens
from clusterns.files import cache_folder
from clusterns.training.build import build_model
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.vectors.embed import fingerprint
from clusterns.vectors.given import GivenTexts
from clusterns.vectors.index import Index
from clusterns.vectors.manifest import COMPLETE, MANIFEST
from clusterns.vectors.models import load_model
from clusterns.vectors.settings import Loading

BASE = "base"
INDEX = "index"  # in a run folder
EMBEDDED_AT_A_TIME = 64


@dataclass(frozen=True)
class Sentences:
    """Distinct texts, and the lines that hold them.

    Attributes:
        texts: in the order of their first lines.
        lines: numbers of the lines (or rows) with text, from 1.
        rows: for each of these lines, the row of its text.
    """

    texts: list[str]
    lines: list[int]
    rows: list[int]


def read_sentences(corpus: Sequence[str], column: str | None, most: int | None = None) -> Sentences:
    """Read files, folders or Hub datasets as they are, but for lines without text.

    Args:
        corpus: what to read.
        column: of the text in tables.
        most: read at most so many lines with text.
    """
    known: dict[str, int] = {}
    lines: list[int] = []
    rows: list[int] = []
    for line, text in enumerate(_lines(corpus, column), start=1):
        if text and text.strip():
            if most is not None and len(lines) == most:
                say(f"Only the first {most:,} sentences are read (--most).")
                break
            lines.append(line)
            rows.append(known.setdefault(text, len(known)))
    if not lines:
        raise UserError(f"there is no text in {', '.join(corpus)}.")
    return Sentences(list(known), lines, rows)


def _lines(corpus: Sequence[str], column: str | None) -> Iterator[str | None]:
    sources, columns = find_sources(corpus), Columns(column)
    for told in told_columns(sources, columns):
        say(told)
    for source in sources:
        for batch in source.rows(columns, lambda _: None):
            yield from batch["text"].to_pylist()


def index_of(
    model: SentenceTransformer, name: str, texts: Sequence[str], names: Sequence[str] | None = None
) -> Index:
    """The index of texts with a model, in the cache."""
    given = GivenTexts.of(texts, names)
    folder = cache_folder("vectors") / f"{fingerprint(model)[:16]}-{given.identity()[:16]}"
    if not (folder / COMPLETE).is_file():
        say(f"Embedding {len(texts):,} sentences with {name}, once.")
    return Index.build(folder, model, texts, names, model_name=name, batch_size=EMBEDDED_AT_A_TIME)


def index_of_run(run: Path, model: SentenceTransformer, loading: Loading | None = None) -> Index:
    """The index over the corpus of a run, in the run folder; ``loading`` is how it was opened."""
    folder = RunFolder(run)
    place = run / INDEX
    if (place / COMPLETE).is_file():
        return Index.open(place, model, model_name=str(run))
    reading = folder.record["corpus"].get("reading")
    if reading is None:
        raise UserError(f"{run} was stopped before its index: `clusterns quickstart --again`.")
    texts = prepare_corpus(**reading).dataset["text"]
    say(f"Embedding {len(texts):,} sentences with {run}, once.")
    return Index.build(
        place, model, texts, model_name=str(run), loading=loading, batch_size=EMBEDDED_AT_A_TIME
    )


def lens_over(name: str, sentences: Sentences, **options: Any) -> Lens:
    """A model, loaded with ``options`` of ``load_model``, over given sentences."""
    model = load_model(name, **options)
    return Lens(short(name), model, index_of(model, short(name), sentences.texts))


def open_lens(
    name: str,
    corpus: Sequence[str],
    *,
    column: str | None = None,
    most: int | None = None,
    **options: Any,
) -> Lens:
    """A model over the sentences of ``corpus``; without one, over the text of the run.

    ``corpus`` may also be one folder that `clusterns encode` wrote; ``options`` are those of
    ``load_model``.
    """
    if not corpus:
        model = load_model(name, **options)
        return Lens(short(name), model, index_of_run(Path(name), model))
    if len(corpus) > 1 or not (Path(corpus[0]) / MANIFEST).is_file():
        return lens_over(name, read_sentences(corpus, column, most), **options)
    model = load_model(name, **options)
    index = Index.open(Path(corpus[0]), model, model_name=name)
    if index.texts.null_count:
        raise UserError(f"{corpus[0]} keeps no text: encode it again, or name the text itself.")
    return Lens(short(name), model, index)


def open_other(name: str, first: Lens, run: Path, **options: Any) -> Lens:
    """Another model over the same sentences; "base" is the one that the run began with."""
    texts = first.index.texts.to_pylist()
    names = None if first.index.names is None else first.index.names.to_pylist()
    if name == BASE:
        model, shown = base_of(run)
    else:
        model, shown = load_model(name, **options), short(name)
    if shown == first.name:
        shown = f"{shown} (other)"
    return Lens(shown, model, index_of(model, shown, texts, names))


def base_of(run: Path) -> tuple[SentenceTransformer, str]:
    """The model that a run began with, and its name."""
    folder = RunFolder(run)
    if not folder.is_run:
        raise UserError(f"--against base: {run} is no run folder; name the model to compare with.")
    recipe = load_recipe(str(folder.recipe_file))
    if recipe.templates:
        model = without_training_parts(build_model(recipe))
    else:
        model = load_base(resolve_base(recipe.base), recipe.pooling)
    return model.eval(), f"{short(recipe.base or 'base')} (base)"


def short(name: str) -> str:
    """What to call a model or a file on a page: the end of its path."""
    path = Path(name)
    return path.parent.name if path.name == "model" and path.parent.name else path.name or name
