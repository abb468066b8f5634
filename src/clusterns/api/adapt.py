"""A good model and a pile of text in, a model for that text out: ``clusterns adapt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

from clusterns.api.plan import Trained, TrainingPlan, plan_training
from clusterns.data.columns import Columns
from clusterns.data.sources import FileSource, find_sources
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.errors import UserError
from clusterns.methods.adapting import AdaptingSettings

Purpose = Literal["topics", "search"]
RECIPES: dict[Purpose, str] = {"topics": "adapt-topics", "search": "adapt-search"}


def adapt(
    corpus: str | Path | Sequence[str | Path] | None,
    output: str | Path,
    *,
    base: str | Path | None = None,
    purpose: Purpose = "topics",
    general: str | Path | None = None,
    keep: float | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    column: str | None = None,
    document: str | None = None,
    split_sentences: bool = False,
    resume: bool = False,
    quiet: bool = False,
) -> Trained:
    """Adapt a good sentence encoder to your text, as ``clusterns adapt`` does.

    ```python
    from clusterns import adapt

    run = adapt("titles.txt", "runs/titles", base="sentence-transformers/all-MiniLM-L6-v2")
    print(run.result.facts["share"], run.model)
    ```

    Args:
        corpus: files, folders or Hub datasets; None where a run is resumed.
        output: the run folder.
        base: the sentence encoder to adapt: a folder or a Hub name.
        purpose: ``"topics"`` (clusters, classes, near neighbours) or ``"search"``, which needs documents.
        general: a file of text that is to stay as it is. None: random words of the model's vocabulary.
        keep: least agreement with the start on general text. None: the recipe's.
        seed: of all that is random.
        settings: what differs from the recipe.
        column: the column of the text in tables and JSON lines.
        document: which sentences belong together: a column, or for plain text ``"paragraph"``,
            ``"line"`` or ``"file"``. None, for search in plain text: paragraphs.
        split_sentences: split paragraphs into sentences.
        resume: the run in ``output`` again, with its settings; one that has ended gives its result.
        quiet: no status lines and no bars.

    Raises:
        UserError: something that the caller can mend, in one sentence.
    """
    return plan_adaptation(
        corpus, output, base=base, purpose=purpose, general=general, keep=keep, seed=seed,
        settings=settings, column=column, document=document, split_sentences=split_sentences,
        resume=resume,
    ).run(quiet=quiet)  # fmt: skip


def plan_adaptation(
    corpus: str | Path | Sequence[str | Path] | None,
    output: str | Path | None,
    *,
    base: str | Path | None = None,
    purpose: Purpose = "topics",
    general: str | Path | None = None,
    keep: float | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    column: str | None = None,
    document: str | None = None,
    split_sentences: bool = False,
    resume: bool = False,
) -> TrainingPlan:
    """Check all that can be checked in no time; the arguments are those of :func:`adapt`."""
    named = {"general": None if general is None else str(general), "keep": keep}
    changes = {**(settings or {}), **{k: v for k, v in named.items() if v is not None}}
    if purpose not in RECIPES:
        raise UserError(f"purpose {purpose!r}: choose one of {', '.join(RECIPES)}.")
    names = [corpus] if isinstance(corpus, str | Path) else list(corpus or [])
    if purpose == "search" and document is None and names and _is_plain(names, column):
        document = "paragraph"
    plan = partial(
        plan_training, names, output, base=base, seed=seed, settings=changes, column=column,
        document=document, split_sentences=split_sentences,
    )  # fmt: skip
    if resume:
        resumed = plan(resume=True)
        if not isinstance(resumed.recipe, AdaptingSettings):
            raise UserError(f"--resume: {output} was not begun by `clusterns adapt`.")
        return resumed
    if not names:
        raise UserError("name your text: clusterns adapt CORPUS --base MODEL --output DIR.")
    if base is None:
        raise UserError(
            "name the sentence encoder to adapt: --base sentence-transformers/all-MiniLM-L6-v2, or a folder."
        )
    if general is not None and not Path(general).expanduser().is_file():
        raise UserError(f"--general {general}: there is no such file.")
    if not is_sentence_transformer(resolve_base(str(base))):
        raise UserError(
            f"--base {base} is a raw encoder, which has nothing to keep: train it with `clusterns train`, "
            "or name a SentenceTransformer."
        )
    return plan(recipe=RECIPES[purpose])


def _is_plain(names: Sequence[str | Path], column: str | None) -> bool:
    found = find_sources([str(name) for name in names])
    return all(isinstance(each, FileSource) and each.is_plain(Columns(column)) for each in found)
