"""``clusterns adapt``: a good model and text in, a model for that text out."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from clusterns.adaptation.settings import (
    AdaptSettings,
    AnySettings,
    Purpose,
    load_settings,
    read_settings,
)
from clusterns.commands.options import as_list
from clusterns.commands.plan import Trained, absolute_path, open_folder
from clusterns.commands.request import Cli, function, same_as
from clusterns.commands.train import RunCommand, RunRequest
from clusterns.console import duration, shows_status
from clusterns.data.columns import Columns
from clusterns.data.settings import CorpusSettings
from clusterns.data.sources import FileSource, check_sources, find_sources
from clusterns.encoder.locate import is_sentence_transformer, resolve_base
from clusterns.errors import UserError
from clusterns.training.folder import RunFolder

EXAMPLE = "sentence-transformers/all-MiniLM-L6-v2"
SAMPLE = 128  # sentences that a dry run encodes to measure the time


@dataclass(frozen=True)
class Adaptation:
    """The settings, text and run folder of an adaptation."""

    settings: AnySettings
    reading: dict[str, Any]
    """How the corpus is read: the arguments of ``prepare_corpus``."""
    folder: RunFolder | None


class AdaptRequest(RunRequest):
    """Adapt a good sentence encoder to your text, without labels, and keep what it knows.

    ```python
    from clusterns import adapt

    run = adapt("titles.txt", "runs/titles", base="sentence-transformers/all-MiniLM-L6-v2")
    print(run.result.facts["share"], run.model)
    ```
    """

    base: Annotated[str | Path | None, Cli(str)] = None
    """Sentence encoder to adapt: a folder or a Hub name, such as sentence-transformers/all-MiniLM-L6-v2."""
    purpose: Annotated[Purpose, Cli(names=("--for",))] = "topics"
    """topics: clusters, classes and near neighbors. search: titles or first sentences find their documents
    (--document; plain text: paragraphs), if you must search by embeddings alone."""
    general: Annotated[str | Path | None, Cli(str, metavar="FILE")] = same_as(
        AdaptSettings, "general"
    )
    min_agreement_general: float | None = same_as(AdaptSettings, "min_agreement_general")

    def plan(self) -> Adaptation:
        """Validate the request before heavy imports."""
        corpus, folder = as_list(self.corpus), open_folder(self.output, self.resume)
        reading = self.model_dump(include=set(CorpusSettings.model_fields), exclude_none=True)
        changes, purpose = self.changes(AdaptSettings), self.purpose
        if self.resume:
            existing = None if folder is None else read_settings(folder.recipe_file)
            if folder is None or existing is None:
                raise UserError(f"--resume: {self.output} was not started by `clusterns adapt`.")
            # Options that are not passed again keep their values.
            reading = {**folder.record["corpus"]["reading"], **reading}
            purpose, changes = existing.purpose, {**existing.model_dump(), **changes}
        if corpus:
            reading["sources"] = [absolute_path(name) for name in corpus]
        if not reading.get("sources"):
            raise UserError("pass the text: clusterns adapt CORPUS --base MODEL --output DIR.")
        if changes.get("base") is None:
            raise UserError(f"choose the sentence encoder to adapt: --base {EXAMPLE}, or a folder.")
        if self.general is not None and not Path(self.general).expanduser().is_file():
            raise UserError(f"--general {self.general}: this file does not exist.")
        for key in {"base", "general"} & changes.keys():
            changes[key] = changes[key] and absolute_path(changes[key])
        adaptation = Adaptation(load_settings(purpose, changes), reading, folder)
        if folder is None or not folder.is_finished:  # else the text may no longer exist
            _check(adaptation)
        return adaptation

    def run(self) -> Trained:
        adaptation = self.plan()
        folder = adaptation.folder
        if folder is None:
            raise UserError("specify the run folder with --output.")
        from clusterns.adaptation.run import run

        result = run(
            adaptation.settings, adaptation.reading, folder, resume=self.resume, quiet=not shows_status(),
        )  # fmt: skip
        return Trained(folder.path, folder.model, result)

    def estimate(self) -> str:
        adaptation = self.plan()
        from clusterns.adaptation.run import read_text
        from clusterns.encoder.load import load_base

        text = read_text(adaptation.settings, adaptation.reading)
        texts = [*text.sentences, *text.held_out.texts]
        model = load_base(adaptation.settings.base)
        sample = random.Random(0).sample(texts, min(SAMPLE, len(texts)))
        model.encode(sample[:8], show_progress_bar=False)  # warm up
        began = time.perf_counter()
        model.encode(sample, show_progress_bar=False)
        seconds = (time.perf_counter() - began) / len(sample) * len(texts)
        return f"Encoding {len(texts):,} sentences takes about {duration(seconds)}. Fitting the map takes seconds."


def _check(adaptation: Adaptation) -> None:
    reading, base = adaptation.reading, adaptation.settings.base
    column, document = reading.get("column"), reading.get("document")
    if adaptation.settings.purpose == "search" and document is None:
        found = find_sources(reading["sources"])
        if all(isinstance(each, FileSource) and each.is_plain(Columns(column)) for each in found):
            document = reading["document"] = "paragraph"
    check_sources(reading["sources"], Columns(column, document=document))
    if not is_sentence_transformer(resolve_base(base)):
        raise UserError(
            f"--base {base} is a plain encoder, not a sentence encoder. Train it with `clusterns train`, or choose "
            "a SentenceTransformer."
        )


class AdaptCommand(RunCommand, AdaptRequest):
    """Adapt a good sentence encoder to your text, without labels, and keep what it knows.

    Titles of a shop or a forum:  clusterns adapt titles.csv --column title --base MODEL --output runs/titles

    A manual to search in:  clusterns adapt manual.txt --split-sentences --base MODEL --output runs/manual --for search

    No weight of the encoder changes: a map after it is fitted, which acts only near your text. The result
    is the interpolation between the base and that map with the best label-free score among those that keep what the
    base knows; if no interpolation is better and harmless, it is the base. docs/adapt.md explains when to adapt, when
    to train, and when to leave a model alone.
    """

    def summary(self, run: Trained) -> str:
        from clusterns.adaptation.scores import summarize

        return summarize(run.result.facts)


adapt = function(AdaptRequest)
