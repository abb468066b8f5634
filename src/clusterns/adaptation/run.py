"""``clusterns adapt`` as one straight line: embed each text once, fit a map, choose how far to go, save."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from clusterns.adaptation.general_text import general_text
from clusterns.adaptation.local_map import append_map, fit_map
from clusterns.adaptation.scores import METRICS, PURPOSE, Scorer, choose, refusal, table
from clusterns.adaptation.settings import AnySettings, TopicSettings, read_settings
from clusterns.adaptation.targets import smooth, within_document_whitening
from clusterns.console import log
from clusterns.data.corpus import prepare_corpus
from clusterns.data.documents import documents_of
from clusterns.data.split import split_rows, subsample
from clusterns.encoder.load import load_base, tokenizer_of
from clusterns.errors import UserError
from clusterns.files import atomic_folder, flush, read_json, write_json
from clusterns.locks import locked
from clusterns.record import make_record
from clusterns.training.card import write_card
from clusterns.training.folder import RunFolder, RunResult
from clusterns.vectors.embed import Embedder
from clusterns.vectors.nearest import Vectors, unit

PURPOSES = {
    "topics": "Grouping texts like those it was adapted to by their topic.",
    "search": (
        "Searching texts like those it was adapted to, if only embeddings can be used. Where you can, search by "
        "words and embeddings together."
    ),
}
MIN_SENTENCES = 50
# Documents of several sentences: a tenth of them is held out.
MIN_DOCUMENTS = 200
NO_DOCUMENTS = (
    "Adapting for search learns from sentences of the same document, and nothing else is known to help search "
    "without harm. Name what belongs together with --document, keep the model as it is, or adapt it for topics."
)


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
        settings: what :func:`clusterns.adaptation.settings.load_settings` gives.
        reading: how the text is read, the arguments of ``prepare_corpus``.
        folder: the run folder.
        resume: the folder holds a run that was stopped: do it again, if everything is the same.
        quiet: no progress bars.
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
    rows, heldout, about = read_text(settings, reading)
    if resume:
        check_same(settings, folder, about["fingerprint"])

    model = load_base(settings.base)
    train, general = (
        list(rows["text"]),
        general_text(settings.general, tokenizer_of(model), settings.seed),
    )
    documents = documents_of(heldout) if settings.purpose == "search" else None
    scorer = Scorer(list(heldout["text"]), general[1], documents)
    learned = general[0] if settings.general_weight else []
    # A model that truncates its embeddings is mapped whole: each number has its own column.
    with model.truncate_embeddings(None):
        embed = Embedder(model, settings.batch_size, progress=not quiet)
        vectors = unit(embed([*train, *learned, *scorer.texts]))
    x, g, v = np.split(vectors, np.cumsum([len(train), len(learned)]))

    landmarks = np.random.default_rng(settings.seed).permutation(len(x))[: settings.landmarks]
    local = fit_map(
        x,
        targets(settings, x, documents_of(rows), quiet),
        g,
        x[landmarks],
        threshold=settings.threshold,
        general_weight=settings.general_weight,
        ridge=settings.ridge,
    )
    change, cut = local(v) - v, slice(model.truncate_dim)
    measured = {
        weight: scorer.score((v + weight * change)[:, cut], v[:, cut])
        for weight in (0.0, *sorted(set(settings.interpolation_weights)))
    }
    refused = {
        weight: why for weight, found in measured.items() if (why := refusal(settings, found))
    }
    chosen = choose(measured, refused)
    log(table(settings.purpose, measured, refused, chosen))

    result = RunResult(
        metric=METRICS[settings.purpose],
        base_score=measured[0.0][PURPOSE],
        best_score=measured[chosen][PURPOSE],
        best_step=0,
        steps=0,
        facts={
            "purpose": settings.purpose,
            "share": chosen,
            "measured": {str(weight): found for weight, found in measured.items()},
            "refused": {str(weight): why for weight, why in refused.items()},
        },
    )
    adapted = append_map(model, local.interpolate(chosen)) if chosen else model
    # Only now: whatever is refused above leaves nothing behind.
    if not resume:
        folder.create(settings, about)
    folder.note(date=record["date"], metric=result.metric, base_score=result.base_score)
    with atomic_folder(folder.model) as temporary:
        adapted.save_pretrained(str(temporary), create_model_card=False)
        write_card(
            temporary,
            adapted,
            base=settings.base,
            how=f"adapted for {settings.purpose}",
            settings=settings.model_dump(mode="json"),
            result=result,
            record=folder.record,
            purpose=PURPOSES[settings.purpose],
        )
    for file in (folder.recipe_file, folder.run_file):
        flush(file)
    write_json(folder.results_file, asdict(result), durable=True)
    return result


def read_text(
    settings: AnySettings, reading: Mapping[str, Any]
) -> tuple[Dataset, Dataset, dict[str, Any]]:
    """The sentences to learn from, those held out, and facts for the record."""
    corpus = prepare_corpus(**reading)
    log(corpus.report.summary())
    check_text(settings, corpus.dataset)
    rows, heldout = split_rows(corpus.dataset, settings.heldout, settings.seed)
    available = len(rows)
    rows = subsample(rows, settings.max_sentences, settings.seed)
    log(f"Learning from {len(rows):,} of {available:,} sentences; {len(heldout):,} are held out.")
    return rows, heldout, {
        "reading": dict(reading),
        "fingerprint": corpus.fingerprint + _fingerprint(settings.general),
        "counts": corpus.report.as_dict(),
        "training": len(rows),
        "heldout": len(heldout),
    }  # fmt: skip


def targets(
    settings: AnySettings, vectors: Vectors, documents: NDArray[np.int64] | None, quiet: bool
) -> Vectors:
    """Where the (n, d) unit vectors of the text should go."""
    if isinstance(settings, TopicSettings):
        return smooth(
            vectors,
            neighbors=settings.neighbors,
            similarity_power=settings.similarity_power,
            clusters=settings.clusters,
            centroid_weight=settings.centroid_weight,
            centroid_temperature=settings.centroid_temperature,
            seed=settings.seed,
            progress=not quiet,
        )
    assert documents is not None
    return within_document_whitening(vectors, documents, shrinkage=settings.shrinkage)


def check_text(settings: AnySettings, dataset: Dataset) -> None:
    """Refuse a text that has too little to learn from."""
    if settings.purpose == "topics":
        if len(dataset) < MIN_SENTENCES:
            raise UserError(
                f"{len(dataset)} sentences are too few to learn topics from: add text (at least "
                f"{MIN_SENTENCES} sentences), or keep the model as it is."
            )
        return
    documents = documents_of(dataset)
    if documents is None:
        raise UserError(NO_DOCUMENTS)
    several = int((np.unique(documents, return_counts=True)[1] > 1).sum())
    if several < MIN_DOCUMENTS:
        raise UserError(
            f"the text has {several} documents of several sentences, fewer than {MIN_DOCUMENTS}. {NO_DOCUMENTS}"
        )


def check_same(settings: AnySettings, folder: RunFolder, fingerprint: str) -> None:
    """A resumed run has the settings, the text and the base that it began with."""
    begun = read_settings(folder.recipe_file)
    if begun != settings:
        raise UserError(
            f"--resume: the settings differ from those of the run in {folder.path}. Resume with the same "
            "settings, or name another folder."
        )
    folder.check_source(fingerprint, settings.base)


def _fingerprint(general: str) -> str:
    """Identifies the user's general text."""
    return f" {prepare_corpus([general], progress=False).fingerprint}" if general else ""
