"""From run folders to a report: models and sentences that are at hand are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from clusterns.console import say
from clusterns.corpus.heldout import heldout_sentences
from clusterns.corpus.prepare import prepare_corpus
from clusterns.errors import UserError
from clusterns.evaluation.data.find import EvaluationData
from clusterns.evaluation.data.own import read_scored_pairs
from clusterns.evaluation.data.sets import ScoredPairs
from clusterns.explore.corpus import INDEX, base_of
from clusterns.report.comparison import MOST, Examination, examine
from clusterns.report.page import Chapter, chapter, write_report
from clusterns.report.summary import Story, read_stories
from clusterns.training.folder import RunFolder
from clusterns.training.recipe import load_recipe
from clusterns.vectors.index import Index
from clusterns.vectors.manifest import COMPLETE

FEWEST = 12  # sentences with which anything can be seen


def make_report(
    runs: Sequence[Path],
    output: Path | None = None,
    *,
    sentences: Sequence[str] | None = None,
    examined: bool = True,
) -> Path:
    """Write the report of one run into its folder, or of several into ``output``.

    Args:
        runs: folders of finished runs.
        output: the html file; without it, ``report.html`` in the folder of the first run.
        sentences: that training kept out, to look at the models with; without them, they are found.
        examined: whether to load models at all.
    """
    stories = read_stories(list(runs))
    path = output or RunFolder(runs[0]).report_file
    chapters: list[Chapter] = []
    for number, story in enumerate(stories):
        seen, why_not = None, None
        if examined:
            try:
                seen = examine_run(story, sentences)
            except UserError as error:  # a text that was moved must not cost the report
                why_not = str(error)
        chapters.append(chapter(number, story, seen, why_not))
    write_report(chapters, path)
    return path


def report_after(runs: Sequence[Path], sentences: Sequence[str] | None = None) -> Path | None:
    """Write the report at the end of training, into the folder of the first run.

    Nothing that goes wrong here costs a run that came to its end; None where something did. A
    report that is newer than its run stays.
    """
    folder = RunFolder(runs[0])
    try:
        if folder.report_file.is_file() and is_newer(folder.report_file, folder.results_file):
            return folder.report_file
        say("Writing the report.")
        return make_report(runs, sentences=sentences)
    except Exception as error:
        say(f"The report could not be written ({error}): clusterns report {runs[0]}")
        return None


def is_newer(path: Path, other: Path) -> bool:
    """Whether a file was written after another."""
    return path.stat().st_mtime >= other.stat().st_mtime


def examine_run(story: Story, sentences: Sequence[str] | None = None) -> Examination:
    """Look at the model of a run beside its base."""
    folder = RunFolder(story.path)
    if not folder.model.is_dir():
        raise UserError(f"there is no model in {story.path}.")
    texts = list(sentences) if sentences is not None else sentences_of(story)
    if len(set(texts)) < FEWEST:
        raise UserError(f"fewer than {FEWEST} sentences were kept out of training.")
    base, _ = base_of(story.path)
    seen = examine(texts, base, SentenceTransformer(str(folder.model)), pairs_of(story))
    return replace(seen, kept_out=sentences is not None or "reading" in story.record["corpus"])


def sentences_of(story: Story) -> list[str]:
    """Sentences that training kept out; of a quickstart, some that can be searched."""
    reading = story.record["corpus"].get("reading")
    if reading is not None:
        recipe = load_recipe(str(RunFolder(story.path).recipe_file))
        dataset = prepare_corpus(**reading, progress=False).dataset
        return heldout_sentences(dataset, recipe.heldout, recipe.seed)
    if (story.path / INDEX / COMPLETE).is_file():
        texts = Index.open(story.path / INDEX, progress=False).texts
        rows = np.sort(np.random.default_rng(0).permutation(len(texts))[:MOST])
        return [text for text in texts.take(rows).to_pylist() if text]
    raise UserError("its text is not at hand.")


def pairs_of(story: Story) -> ScoredPairs | None:
    """The scored pairs that chose the best step, where they can be found again."""
    dev = story.settings.get("dev")
    if dev is None or not str(story.results["metric"]).endswith("_spearman"):
        return None
    try:
        if Path(dev).is_file():
            return read_scored_pairs(Path(dev))
        return EvaluationData().pairs("STS-B dev")
    except UserError:
        return None
