"""A good model and a pile of text in, a model for that text out: ``clusterns adapt``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clusterns.adaptation.settings import AnySettings, Purpose, load_settings, read_settings
from clusterns.api.plan import Trained, absolute_path
from clusterns.console import silenced
from clusterns.data.columns import Columns
from clusterns.data.sources import FileSource, check_sources, find_sources
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.errors import UserError
from clusterns.training.folder import RunFolder


@dataclass(frozen=True)
class AdaptationPlan:
    """A checked call: what is adapted to what, and where it goes."""

    settings: AnySettings
    reading: Mapping[str, Any]
    """How the corpus is read: the arguments of ``prepare_corpus``."""
    folder: RunFolder
    resume: bool

    def run(self, *, quiet: bool = False) -> Trained:
        """Adapt the base, or find the run finished."""
        from clusterns.adaptation.run import run

        with silenced(quiet):
            result = run(self.settings, self.reading, self.folder, resume=self.resume, quiet=quiet)
        return Trained(self.folder.path, self.folder.model, result)


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
) -> AdaptationPlan:
    """Check all that can be checked in no time; the arguments are those of :func:`adapt`."""
    folder = RunFolder(Path(output)) if output is not None else None
    if folder is None:
        raise UserError("name the run folder with --output.")
    folder.check(resume)
    begun = read_settings(folder.recipe_file) if resume else None
    if resume and begun is None:
        raise UserError(f"--resume: {output} was not begun by `clusterns adapt`.")
    if begun is not None and corpus is None:
        # What the caller does not say is as it was.
        reading, purpose = folder.record["corpus"]["reading"], begun.purpose
        base = base or begun.base
    else:
        names = [corpus] if isinstance(corpus, str | Path) else list(corpus or [])
        if purpose == "search" and document is None and names and _is_plain(names, column):
            document = "paragraph"
        reading = {
            "sources": [absolute_path(name) for name in names],
            "column": column,
            "split_sentences": split_sentences,
            **({} if document is None else {"document": document}),
        }
    if not reading["sources"]:
        raise UserError("name your text: clusterns adapt CORPUS --base MODEL --output DIR.")
    if base is None:
        raise UserError(
            "name the sentence encoder to adapt: --base sentence-transformers/all-MiniLM-L6-v2, or a folder."
        )
    if general is not None and not Path(general).expanduser().is_file():
        raise UserError(f"--general {general}: there is no such file.")
    given = {
        "base": absolute_path(base),
        "general": None if general is None else absolute_path(general),
        "min_agreement_general": keep,
        "seed": seed,
    }
    named = {key: value for key, value in given.items() if value is not None}
    # Settings that are not named again are those of the run.
    before = begun.model_dump() if begun is not None and begun.purpose == purpose else {}
    chosen = load_settings(purpose, {**before, **(settings or {}), **named})
    plan = AdaptationPlan(chosen, reading, folder, resume)
    if folder.is_finished:
        return plan  # what it was made of may be gone
    check_sources(reading["sources"], Columns(reading["column"], document=reading.get("document")))
    if not is_sentence_transformer(resolve_base(chosen.base)):
        raise UserError(
            f"--base {base} is a raw encoder, which has nothing to keep: train it with `clusterns train`, "
            "or name a SentenceTransformer."
        )
    return plan


def _is_plain(names: Sequence[str | Path], column: str | None) -> bool:
    found = find_sources([str(name) for name in names])
    return all(isinstance(each, FileSource) and each.is_plain(Columns(column)) for each in found)
