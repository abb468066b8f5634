"""Every distinct sentence is encoded once, longest first.

``encode`` sorts by characters, which leaves 44 % of padding in batches of 128 real STS sentences;
sorted by tokens it is 2 %. So sentences go to it sorted by tokens, a few batches a call.
"""

from __future__ import annotations

import hashlib
import logging
import math
import uuid
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from transformers import PreTrainedTokenizerBase

from clusterns.console import bar
from clusterns.errors import UserError
from clusterns.files import atomic_file
from clusterns.vectors.fingerprint import fingerprint as fingerprint

Vectors = NDArray[np.float32]
Task = Literal["query", "document"]
BATCHES_A_CALL = 8  # more bring the padding back, fewer leave little to share over devices
TEXTS_A_COUNT = 1024  # the tokenizer's answer for a million long texts would fill the memory


class Encoder(Protocol):
    """Anything with Sentence Transformers' ``encode``."""

    def encode(self, inputs: list[str], *, batch_size: int, show_progress_bar: bool) -> Any:
        """Return one vector a sentence."""


class Embedder:
    """Turns sentences to vectors, remembers them, and refuses vectors that cannot be right.

    Args:
        model: what encodes; never called twice for the same sentence and task.
        batch_size: sentences a forward pass.
        progress: whether to show a progress bar while encoding.
        cache: a folder that keeps vectors between calls, or None. It holds one folder for each
            model fingerprint, and in it files that are only ever added.
    """

    def __init__(
        self,
        model: Encoder,
        batch_size: int = 32,
        progress: bool = False,
        cache: Path | None = None,
    ) -> None:
        self.model = model
        self.batch_size = batch_size
        self.progress = progress
        self.encoded = 0
        self._rows: dict[tuple[Task | None, str], int] = {}
        self._blocks: list[Vectors] = []
        self._tokens: dict[str, int] = {}
        self._cache = cache / fingerprint(model) if cache else None
        self._kept = _read_cache(self._cache) if self._cache else {}

    @property
    def dimension(self) -> int | None:
        """The length of a vector; None before the first one."""
        return self._blocks[0].shape[1] if self._blocks else None

    def __call__(self, sentences: Sequence[str], task: Task | None = None) -> Vectors:
        """Embed sentences: (n, d) in their order."""
        self._encode_new(list(dict.fromkeys(sentences)), task)
        rows = [self._rows[task, sentence] for sentence in sentences]
        if len(self._blocks) > 1:
            self._blocks = [np.concatenate(self._blocks)]
        return self._blocks[0][rows]

    def _encode_new(self, distinct: list[str], task: Task | None) -> None:
        new = [sentence for sentence in distinct if (task, sentence) not in self._rows]
        keys = {sentence: _key(sentence, task) for sentence in new} if self._cache else {}
        kept = [sentence for sentence in new if keys.get(sentence) in self._kept]
        if kept:
            self._add(kept, task, np.stack([self._kept.pop(keys[s]) for s in kept]))
        rest = [sentence for sentence in new if (task, sentence) not in self._rows]
        if rest:
            vectors = self._encode(rest, task)
            self._add(rest, task, vectors)
            if self._cache:
                _write_cache(self._cache, [keys[sentence] for sentence in rest], vectors)

    def _encode(self, sentences: list[str], task: Task | None) -> Vectors:
        # Queries and documents may have prompts of their own.
        encode = getattr(self.model, f"encode_{task}", None) if task else None
        encode = partial(
            encode or self.model.encode, batch_size=self.batch_size, show_progress_bar=False
        )
        slab = self.batch_size * BATCHES_A_CALL
        with bar(total=len(sentences), desc="Encode", shown=self.progress) as shown:
            vectors = encode_longest_first(
                encode, sentences, self._count(sentences), slab, shown.update
            )
        self.encoded += len(sentences)
        return vectors

    def _add(self, sentences: list[str], task: Task | None, vectors: Vectors) -> None:
        _same_dimension(self.dimension, vectors.shape[1])
        start = len(self._rows)
        self._blocks.append(vectors)
        self._rows.update({(task, s): start + row for row, s in enumerate(sentences)})

    def _count(self, sentences: list[str]) -> list[int]:
        """The tokens of each sentence, counted once."""
        new = [sentence for sentence in sentences if sentence not in self._tokens]
        self._tokens.update(zip(new, token_counts(self.model, new), strict=True))
        return [self._tokens[sentence] for sentence in sentences]

    def truncation_rate(self, sentences: Sequence[str]) -> float:
        """The share of the distinct sentences that the model reads only the beginning of."""
        limit = getattr(self.model, "max_seq_length", None) or math.inf
        counts = self._count(list(dict.fromkeys(sentences)))
        return sum(count > limit for count in counts) / max(1, len(counts))


def encode_longest_first(
    encode: Callable[[list[str]], Any],
    sentences: Sequence[str],
    counts: Sequence[int],
    slab: int,
    advance: Callable[[int], object],
) -> Vectors:
    """Encode sentences sorted by their token ``counts``, ``slab`` a call: (n, d) in their order.

    ``advance`` is told how many more are done. Vectors that cannot be right are refused.
    """
    order = np.argsort([-count for count in counts], kind="stable")
    vectors: Vectors | None = None
    for rows in np.split(order, range(slab, len(order), slab)):
        chunk = [sentences[row] for row in rows]
        part = np.asarray(encode(chunk), dtype=np.float32)
        if part.ndim != 2 or len(part) != len(chunk):
            raise UserError(
                f"the model gave an answer of shape {part.shape} for {len(chunk)} sentences: "
                "it is not a sentence encoder, or its vectors differ in length."
            )
        if vectors is None:
            vectors = np.empty((len(sentences), part.shape[1]), dtype=np.float32)
        _same_dimension(vectors.shape[1], part.shape[1])
        vectors[rows] = part
        advance(len(chunk))
    assert vectors is not None, "no sentence to encode"
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise UserError(
            f"the model gave NaN or infinity for {len(broken)} of {len(sentences)} sentences, "
            f"the first is {sentences[broken[0]][:80]!r}."
        )
    return vectors


def token_counts(model: Encoder, sentences: list[str]) -> list[int]:
    """How many tokens sentences have; words, where the model has no tokenizer of Transformers."""
    tokenizer = getattr(model, "tokenizer", None)
    if not sentences or not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [len(sentence.split()) for sentence in sentences]
    counts: list[int] = []
    for start in range(0, len(sentences), TEXTS_A_COUNT):
        few = sentences[start : start + TEXTS_A_COUNT]
        ids = tokenizer(few, truncation=False, padding=False, verbose=False)["input_ids"]
        counts += [len(one) for one in ids]
    return counts


def _same_dimension(before: int | None, now: int) -> None:
    if before not in (None, now):
        raise UserError(f"the model's vectors changed from {before} to {now} numbers.")


def _key(sentence: str, task: Task | None) -> bytes:
    return hashlib.blake2b(f"{task or ''}\n{sentence}".encode(), digest_size=16).digest()


def _read_cache(folder: Path) -> dict[bytes, Vectors]:
    kept: dict[bytes, Vectors] = {}
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as stored:
                keys, vectors = stored["keys"], stored["vectors"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            logging.getLogger(__name__).warning("left out the unreadable cache file %s", path)
            continue
        kept.update({key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)})
    return kept


def _write_cache(folder: Path, keys: list[bytes], vectors: Vectors) -> None:
    table = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
    path = folder / f"{uuid.uuid4().hex}.npz"
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, keys=table, vectors=vectors)
