"""``clusterns adapt``: embed each text once, fit a map, choose the interpolation weight, and save the model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from clusterns.adaptation.documents import MIN_DOCUMENTS, NO_DOCUMENTS, Documents, gather
from clusterns.adaptation.general_text import general_text
from clusterns.adaptation.local_map import append_map, fit_map
from clusterns.adaptation.scores import (
    METRICS,
    HeldOut,
    choose,
    gain_interval,
    halves,
    refusal,
    summarize,
    table,
)
from clusterns.adaptation.settings import AnySettings, Purpose, TopicSettings, read_settings
from clusterns.adaptation.targets import smooth, within_document_whitening
from clusterns.console import log
from clusterns.data.corpus import prepare_corpus
from clusterns.data.split import split_rows, subsample
from clusterns.encoder.load import load_base, tokenizer_of
from clusterns.errors import UserError
from clusterns.files import atomic_folder, flush, read_json, write_json
from clusterns.locks import locked
from clusterns.record import make_record
from clusterns.training.card import write_card
from clusterns.training.folder import RunFolder, RunResult
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import unit

PURPOSES: dict[Purpose, str] = {
    "topics": "Grouping texts like those it was adapted to by their topic. For search, keep the base.",
    "search": (
        "Searching texts like those it was adapted to, if only embeddings can be used. Where you can, search by "
        "words and embeddings together: that gains more, and adapting adds nothing to it."
    ),
}


def run(
    settings: AnySettings,
    reading: Mapping[str, Any],
    folder: RunFolder,
    *,
    resume: bool = False,
    quiet: bool = False,
) -> RunResult:
    """Adapt a base to a text and fill the run folder.

    Args:
        settings: the settings, from :func:`clusterns.adaptation.settings.load_settings`.
        reading: how to read the text; arguments of ``prepare_corpus``.
        folder: the run folder.
        resume: whether to repeat an interrupted run in the folder, if its settings and text are the same.
        quiet: whether to hide progress bars.
    """
    if folder.is_finished:
        log(f"The run in {folder.path} is finished: its model is {folder.model}.")
        return RunResult(**read_json(folder.results_file))
    with locked(folder.path):
        return _run(settings, reading, folder, resume, quiet)


def _run(
    settings: AnySettings, reading: Mapping[str, Any], folder: RunFolder, resume: bool, quiet: bool
) -> RunResult:
    folder.check(resume)
    record = make_record()
    text = read_text(settings, reading)
    if resume:
        if read_settings(folder.recipe_file) != settings:
            raise UserError(
                f"--resume: the settings differ from those of the run in {folder.path}. Resume with the same "
                "settings, or choose another folder."
            )
        folder.check_source(text.about["fingerprint"], settings.base)

    model = load_base(settings.base)
    general = general_text(settings.general, tokenizer_of(model), settings.seed)
    parts = [
        text.sentences,
        text.documents.complete,
        text.documents.titles,
        general.training if settings.general_weight else [],
        [*text.held_out.everything, *general.measured],
    ]
    # Map the full embeddings of a model that truncates them.
    with model.truncate_embeddings(None):
        embed = Embedder(model, settings.batch_size, progress=not quiet)
        vectors = unit(embed(list(chain(*parts))))
    ends = np.cumsum([len(part) for part in parts[:-1]])
    sentences, documents, titles, g, v = np.split(vectors, ends)

    x = np.concatenate([sentences, documents])
    if isinstance(settings, TopicSettings):
        t = smooth(x, settings, progress=not quiet)
    else:
        bodies = documents
        if settings.title is None:
            bodies = unit(np.stack([sentences[rows].mean(0) for rows in text.documents.members]))
        shrinkage = settings.shrinkage or (0.3 if settings.title is None else 0.1)
        t = within_document_whitening(x, titles, bodies, shrinkage=shrinkage)
    landmarks = np.random.default_rng(settings.seed).permutation(len(x))[: settings.landmarks]
    local = fit_map(x, t, g, x[landmarks], settings)

    change, cut = local(v) - v, slice(model.truncate_dim)
    scores = {
        weight: text.held_out.score((v + weight * change)[:, cut], v[:, cut], general)
        for weight in (0.0, *sorted(set(settings.interpolation_weights)))
    }
    measured = {weight: score.measured for weight, score in scores.items()}
    reasons = {weight: refusal(settings, found) for weight, found in measured.items()}
    refused = {weight: why for weight, why in reasons.items() if why}
    chosen = choose({weight: score.choosing for weight, score in scores.items()}, refused)
    log(table(settings.purpose, measured, refused, chosen))

    before, after = scores[0.0].measuring, scores[chosen].measuring
    result = RunResult(
        metric=METRICS[settings.purpose],
        base_score=float(before.mean()),
        best_score=float(after.mean()),
        best_step=0,
        steps=0,
        facts={
            "purpose": settings.purpose,
            "share": chosen,
            "measured": {str(weight): found for weight, found in measured.items()},
            "refused": {str(weight): why for weight, why in refused.items()},
            "before": float(before.mean()),
            "after": float(after.mean()),
            "interval": list(gain_interval(after, before)),
        },
    )
    # Only now, so that an error above leaves no files.
    if not resume:
        folder.create(settings, text.about)
    folder.note(date=record["date"], metric=result.metric, base_score=result.base_score)
    with atomic_folder(folder.model) as temporary:
        adapted = append_map(model, local.interpolate(chosen)) if chosen else model
        adapted.save_pretrained(str(temporary), create_model_card=False)
        write_card(
            temporary,
            adapted,
            base=settings.base,
            how=f"adapted for {settings.purpose}",
            settings=settings.model_dump(mode="json"),
            result=result,
            record=folder.record,
            purpose=f"{PURPOSES[settings.purpose]} {summarize(result.facts)}",
        )
    for file in (folder.recipe_file, folder.run_file):
        flush(file)
    write_json(folder.results_file, asdict(result), durable=True)
    return result


@dataclass(frozen=True)
class Text:
    """The user's text."""

    sentences: list[str]
    """Sentences to learn from."""
    documents: Documents
    """Documents that the sentences are from; none for topics."""
    held_out: HeldOut
    about: dict[str, Any]
    """Facts for the record."""


def read_text(settings: AnySettings, reading: Mapping[str, Any]) -> Text:
    """Read the text and hold some of it out."""
    corpora = [prepare_corpus(**reading)]
    log(corpora[0].report.summary())
    rows, heldout = split_rows(
        corpora[0].dataset, settings.heldout, settings.seed, settings.heldout_fraction
    )
    available = len(rows)
    rows = subsample(rows, settings.max_sentences, settings.seed)
    log(f"Learning from {len(rows):,} of {available:,} sentences; {len(heldout):,} are held out.")
    documents = Documents([], [], [])
    if isinstance(settings, TopicSettings):
        held_out = halves(heldout["text"][:])
    else:
        titles = None
        if settings.title is not None:
            own = {"column": settings.title, "split_sentences": False, "min_words": 1}
            titles = prepare_corpus(**{**reading, **own})
            corpora.append(titles)
        documents, others = (gather(part, titles) for part in (rows, heldout))
        count = len(documents.titles) + len(others.titles)
        if count < MIN_DOCUMENTS:
            raise UserError(
                f"the text has {count} documents with a title or several sentences, fewer than {MIN_DOCUMENTS}. "
                f"{NO_DOCUMENTS}"
            )
        held_out = HeldOut(others.bodies, others.titles)
    if settings.general:
        corpora.append(prepare_corpus([settings.general], progress=False))
    about = {
        "reading": dict(reading),
        "fingerprint": " ".join(corpus.fingerprint for corpus in corpora),
        "counts": asdict(corpora[0].report),
        "training": len(rows),
        "heldout": len(heldout),
    }
    return Text(rows["text"][:], documents, held_out, about)
