"""Evaluation sets on the Hugging Face Hub or in its local cache, without long waits.

Each set is read at a fixed revision, since changes would affect its scores. Offline, ``load_dataset`` would
use any cached revision, so the files of the revision are located first.
"""

from __future__ import annotations

import contextlib
from functools import cache, partial
from typing import Any

import numpy as np

from clusterns.evaluation.datasets import LabeledTexts, ScoredPairs, TransferTask
from clusterns.settings import Settings

TIMEOUT = 5.0  # timeout in seconds of the one check whether the Hub can be reached


class UnavailableError(Exception):
    """The set is not in the local cache, and the Hub cannot be reached."""


class HubSet(Settings):
    """A dataset on the Hub."""

    repo: str
    revision: str
    splits: tuple[str, ...] = ("test",)
    """The split of each part; several are joined with a plus."""
    columns: tuple[str, ...]
    """Pairs: both sentences, score. Texts: text (and its partner), label."""
    config: str | None = None

    def pairs(self, name: str) -> ScoredPairs:
        """Read scored pairs."""
        first, second, scores = self._columns(self.splits[0])
        return ScoredPairs(_clean(first), _clean(second), np.array(scores, float), name, self.where)

    def task(self, name: str) -> TransferTask:
        """Read a transfer task: train, and test if there is a second split."""
        train, *test = (self.texts(name, split) for split in self.splits)
        return TransferTask(name, train, test[0] if test else None)

    def texts(self, name: str, split: str = "") -> LabeledTexts:
        """Read labeled texts of one part."""
        *texts, labels = self._columns(split or self.splits[0])
        partners = _clean(texts[1]) if len(texts) == 2 else None
        numbers = np.array(labels, dtype=np.int64)
        return LabeledTexts(_clean(texts[0]), numbers, partners, name, self.where)

    @property
    def where(self) -> str:
        """The name of the set in messages and records."""
        return f"Hub: {self.repo}@{self.revision[:8]}"

    def _columns(self, split: str) -> list[list[Any]]:
        folder = _folder(self)

        from datasets import disable_progress_bars, load_dataset

        disable_progress_bars()  # the download has its own progress bar
        try:
            rows = load_dataset(folder, self.config, split=split)
            return [list(rows[column]) for column in self.columns]
        except Exception as error:  # an incomplete copy in the cache, or a changed set
            raise UnavailableError(f"{self.repo} is unreadable: {type(error).__name__}") from error


@cache
def reachable() -> bool:
    """Whether the Hub can be reached: one request with a short timeout, since downloads retry for half a minute."""
    from huggingface_hub import HfApi

    try:
        HfApi().dataset_info("mteb/stsbenchmark-sts", timeout=TIMEOUT)
    except Exception:  # offline mode, no name service, a proxy, a server error
        return False
    return True


def _folder(data: HubSet) -> str:
    """The local copy of the revision, downloaded if there is none yet."""
    from huggingface_hub import snapshot_download

    patterns = ["README.md", f"{data.config}/*"] if data.config else None
    fetch = partial(
        snapshot_download, data.repo, repo_type="dataset", revision=data.revision,
        allow_patterns=patterns,
    )  # fmt: skip
    with contextlib.suppress(Exception):
        return fetch(local_files_only=True)
    if not reachable():
        raise UnavailableError("not in the local cache, and the Hub cannot be reached")
    try:
        return fetch()
    except Exception as error:
        raise UnavailableError(f"the Hub refused: {type(error).__name__}") from error


def _clean(texts: list[str]) -> list[str]:
    return [" ".join(text.split()) or "." for text in texts]
