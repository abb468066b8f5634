"""Evaluation sets on the Hugging Face Hub, or left in its local cache, without long waits.

Each is read at one fixed revision: a set that someone changes tomorrow has other scores.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np

from clusterns.evaluation.datasets import LabelledTexts, ScoredPairs, TransferTask

PATIENCE = 5.0  # seconds for the one question whether the Hub can be reached


class NotAtHandError(Exception):
    """The set is neither in the local cache nor can the Hub be reached."""


@dataclass(frozen=True)
class HubSet:
    """A data set on the Hub: its name, the splits that make up each part, its columns."""

    repo: str
    revision: str
    splits: tuple[str, ...]
    columns: tuple[str, ...]
    config: str | None = None

    def pairs(self, name: str) -> ScoredPairs:
        """Read scored pairs: columns for both sentences and the score."""
        first, second, scores = self._columns(self.splits[0])
        return ScoredPairs(
            _clean(first), _clean(second), np.array(scores, dtype=np.float64), name, self.where
        )

    def texts(self, name: str) -> LabelledTexts:
        """Read labelled texts of one part."""
        return self._part(self.splits[0], name)

    def task(self, name: str) -> TransferTask:
        """Read a transfer task: train, and a test where there is a second part."""
        parts = [self._part(split, name) for split in self.splits]
        return TransferTask(name, *parts)

    @property
    def where(self) -> str:
        """How the set is called in messages and records."""
        return f"Hub: {self.repo}@{self.revision[:8]}"

    def _part(self, split: str, name: str) -> LabelledTexts:
        *texts, labels = self._columns(split)
        partners = _clean(texts[1]) if len(texts) == 2 else None
        numbers = np.array(labels, dtype=np.int64)
        return LabelledTexts(_clean(texts[0]), numbers, partners, name, self.where)

    def _columns(self, split: str) -> list[list[Any]]:
        folder = _folder(self.repo, self.revision, self.config)

        from datasets import disable_progress_bars, load_dataset

        disable_progress_bars()  # of reading what is there by now
        try:
            rows = load_dataset(folder, self.config, split=split)
            return [list(rows[column]) for column in self.columns]
        except Exception as error:  # half a copy in the cache, or a set that was changed
            raise NotAtHandError(f"{self.repo} is unreadable: {type(error).__name__}") from error


@cache
def reachable() -> bool:
    """Ask the Hub once, with little patience: its own downloads retry for half a minute."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info("mteb/stsbenchmark-sts", timeout=PATIENCE)
    except Exception:  # offline mode, no name service, a proxy, a server error: all mean no
        return False
    return True


def _folder(repo: str, revision: str, config: str | None) -> str:
    """The local copy of a set, downloaded where there is none yet."""
    from huggingface_hub import snapshot_download

    fetch = partial(
        snapshot_download,
        repo,
        repo_type="dataset",
        revision=revision,
        allow_patterns=["README.md", f"{config}/*"] if config else None,
    )
    with contextlib.suppress(Exception):
        return fetch(local_files_only=True)
    if not reachable():
        raise NotAtHandError("not in the local cache, and the Hub cannot be reached")
    try:
        return fetch()
    except Exception as error:
        raise NotAtHandError(f"the Hub refused: {type(error).__name__}") from error


def _clean(texts: Iterable[str]) -> list[str]:
    return [" ".join(text.split()) or "." for text in texts]
