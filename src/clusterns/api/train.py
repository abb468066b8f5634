"""Text in, a better SentenceTransformer out: the body of ``clusterns train``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clusterns.api.plan import Trained, plan_training


def train(
    corpus: str | Path | Sequence[str | Path] | None,
    output: str | Path,
    *,
    base: str | Path | None = None,
    recipe: str | Path | None = None,
    method: str | None = None,
    seed: int | None = None,
    settings: Mapping[str, Any] | None = None,
    dev: str | Path | None = None,
    column: str | None = None,
    document: str | None = None,
    split_sentences: bool = False,
    min_words: int | None = None,
    resume: bool = False,
    quiet: bool = False,
) -> Trained:
    """Train sentence embeddings from plain text, as ``clusterns train`` does.

    ```python
    from sentence_transformers import SentenceTransformer

    from clusterns import train

    run = train("corpus.txt", "runs/mine", settings={"max_steps": 200})
    print(run.result.base_score, run.result.best_score)
    model = SentenceTransformer(str(run.model))
    ```

    Args:
        corpus: files, folders or Hub datasets (``owner/name[:config[:split]]``), one or several;
            None where a run is resumed, which knows its text.
        output: the run folder.
        base: the encoder to start from: a folder, a Hub name, or ``minibert`` (inside this package).
            None: the recipe's, else minibert.
        recipe: a published recipe's name or a YAML file. None: ``minibert`` where no base,
            method or template is named, else ``default``.
        method: short for ``settings={"method": ...}``.
        seed: short for ``settings={"seed": ...}``.
        settings: what differs from the recipe.
        dev: what chooses the step to keep: ``"none"`` (the last step), ``"label-free"`` (a score on
            held-out sentences), ``"stsb"`` (STS-B dev) or a file of scored pairs. None: the recipe's.
        column: the column of the text in tables and JSON lines: its name, or its number from 1 where
            a table has no header.
        document: which sentences belong together, so that whole documents are kept out of training:
            a column, or for plain text ``"paragraph"``, ``"line"`` or ``"file"``.
        split_sentences: split paragraphs into sentences.
        min_words: drop lines of fewer words. None: 2.
        resume: go on with the run in ``output``, as if it had never stopped.
        quiet: no status lines and no bars; what other libraries log is left alone.

    Raises:
        UserError: something that the caller can mend, in one sentence.
        Interrupted: Ctrl-C or SIGTERM; the run is saved and can be resumed.
    """
    return plan_training(
        corpus, output, base=base, recipe=recipe, method=method, seed=seed, settings=settings,
        dev=dev, column=column, document=document, split_sentences=split_sentences, min_words=min_words, resume=resume,
    ).run(quiet=quiet)  # fmt: skip
