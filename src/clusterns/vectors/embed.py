"""Encode texts as vectors: each distinct text once, longest first, on one device or several.

``encode`` sorts by characters, which leaves 44 % of padding in batches of 128 real STS sentences;
sorted by tokens, 2 %. So this module sorts texts by tokens and passes a few batches per call.
"""

from __future__ import annotations

import hashlib
import logging
import math
import uuid
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from transformers import PreTrainedTokenizerBase

from clusterns.console import bar
from clusterns.errors import UserError, is_out_of_memory
from clusterns.files import atomic_file
from clusterns.vectors.fingerprint import fingerprint

Vectors = NDArray[np.float32]
Task = Literal["query", "document"]
BATCHES_PER_CALL = 8  # more bring the padding back, fewer leave little to distribute over devices
BATCHES_PER_DEVICE = 32  # per call to several devices, which wait for each other at its end
TEXTS_PER_COUNT = 1024  # the tokens of a million long texts would fill the memory


class Encoder(Protocol):
    """Anything with Sentence Transformers' ``encode``."""

    def encode(self, inputs: list[str], *, batch_size: int, show_progress_bar: bool) -> Any:
        """Return one vector per text."""


class Embedder:
    """Embeds texts, caches their vectors, and rejects invalid vectors.

    Args:
        model: the encoder; never called twice for the same text and task.
        batch_size: batch size.
        progress: whether to show a progress bar.
        cache: folder that keeps vectors between runs, or None. It holds one append-only folder
            per model fingerprint.
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
        self.dimension: int | None = None
        self._tokens: dict[str, int] = {}
        self._cache = cache / fingerprint(model) if cache else None
        self._vectors = _read_cache(self._cache) if self._cache else {}

    def __call__(self, sentences: Sequence[str], task: Task | None = None) -> Vectors:
        """Embed texts: (n, d), in input order."""
        if not sentences:
            return np.empty((0, 0), dtype=np.float32)
        keys = [_key(sentence, task) for sentence in sentences]
        pairs = zip(keys, sentences, strict=True)
        new = {key: sentence for key, sentence in pairs if key not in self._vectors}
        if new:
            vectors = self._encode([*new.values()], task)
            _check_dimension(self.dimension, vectors.shape[1])
            self._vectors.update(zip(new, vectors, strict=True))
            if self._cache:
                _write_cache(self._cache, [*new], vectors)
        found = np.stack([self._vectors[key] for key in keys])
        self.dimension = found.shape[1]
        return found

    def _encode(self, sentences: list[str], task: Task | None) -> Vectors:
        # Queries and documents may have prompts of their own.
        own = getattr(self.model, f"encode_{task}", None) if task else None
        encode = partial(
            own or self.model.encode, batch_size=self.batch_size, show_progress_bar=False
        )
        size = self.batch_size * BATCHES_PER_CALL
        with bar(total=len(sentences), desc="Encode", shown=self.progress) as shown:
            vectors = encode_longest_first(
                encode, sentences, self._count(sentences), size, shown.update
            )
        self.encoded += len(sentences)
        return vectors

    def _count(self, sentences: Sequence[str]) -> list[int]:
        """The number of tokens of each text, counted once."""
        new = [sentence for sentence in sentences if sentence not in self._tokens]
        self._tokens.update(zip(new, token_counts(self.model, new), strict=True))
        return [self._tokens[sentence] for sentence in sentences]

    def truncation_rate(self, sentences: Sequence[str]) -> float:
        """The share of distinct texts that the model truncates."""
        limit = getattr(self.model, "max_seq_length", None) or math.inf
        counts = self._count([*dict.fromkeys(sentences)])
        return sum(count > limit for count in counts) / max(1, len(counts))


class DocumentEncoder:
    """Encodes the documents of a corpus in batches that depend only on the texts.

    A batch is one call of ``encode`` on one device, and one task of a pool process on several devices,
    so the batches do not depend on the number of devices.

    Args:
        model: the encoder; its document prompt, if any, is prepended to each text.
        batch_size: batch size.
        normalize: whether to scale vectors to length 1.
        pool: Sentence Transformers' pool of processes, or None for this process alone.
    """

    def __init__(
        self,
        model: SentenceTransformer,
        batch_size: int,
        normalize: bool,
        pool: dict[Any, Any] | None = None,
    ) -> None:
        self.model = model
        self.truncated = 0
        self._batch_size = batch_size
        self._size = batch_size * (BATCHES_PER_DEVICE * len(pool["processes"]) if pool else 1)
        self._encode = partial(
            model.encode_document, batch_size=batch_size, chunk_size=batch_size, pool=pool,
            normalize_embeddings=normalize, show_progress_bar=False,
        )  # fmt: skip

    def __call__(self, texts: Sequence[str], advance: Callable[[int], object]) -> Vectors:
        """Encode texts, identical ones once: (n, d), in input order."""
        index: dict[str, int] = {}
        rows = [index.setdefault(text, len(index)) for text in texts]
        counts = token_counts(self.model, [*index], "document")
        limit = self.model.max_seq_length or math.inf
        self.truncated += sum(counts[row] > limit for row in rows)
        try:
            vectors = encode_longest_first(self._encode, [*index], counts, self._size, advance)
        except RuntimeError as error:
            # The system kills a pool process that uses too much memory.
            if is_out_of_memory(error) or "died unexpectedly" in str(error):
                raise UserError(
                    f"a batch of {self._batch_size} texts does not fit into the device's memory. "
                    "Continue with a smaller --batch-size."
                ) from error
            raise
        advance(len(rows) - len(index))
        return vectors[rows]


@contextmanager
def document_encoder(
    model: SentenceTransformer, devices: Sequence[str], batch_size: int, normalize: bool
) -> Iterator[DocumentEncoder]:
    """Open an encoder on ``devices``, with one process each if there are several."""
    pool = model.start_multi_process_pool([*devices]) if len(devices) > 1 else None
    try:
        yield DocumentEncoder(model, batch_size, normalize, pool)
    finally:
        if pool:
            model.stop_multi_process_pool(pool)


def all_devices() -> list[str]:
    """Every accelerator of this machine, or the CPU if it has none."""
    accelerator = (
        torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    )
    if accelerator is None:
        return ["cpu"]
    return [f"{accelerator.type}:{number}" for number in range(torch.accelerator.device_count())]


def encode_longest_first(
    encode: Callable[[list[str]], Any],
    sentences: Sequence[str],
    counts: Sequence[int],
    size: int,
    advance: Callable[[int], object],
) -> Vectors:
    """Encode texts sorted by their token ``counts``, ``size`` per call: (n, d), in input order.

    Calls ``advance`` with the number of texts of each call. Rejects invalid vectors.
    """
    order = np.argsort([-count for count in counts], kind="stable")
    parts: list[Vectors] = []
    for rows in np.split(order, range(size, len(order), size)):
        part = np.asarray(encode([sentences[row] for row in rows]), dtype=np.float32)
        if part.ndim != 2 or len(part) != len(rows):
            raise UserError(
                f"the model returned an array of shape {part.shape} for {len(rows)} texts: it is "
                "not a sentence encoder, or its vectors differ in length."
            )
        _check_dimension(parts[0].shape[1] if parts else None, part.shape[1])
        parts.append(part)
        advance(len(rows))
    vectors = np.concatenate(parts)[np.argsort(order)]
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise UserError(
            f"the model returned NaN or infinity for {len(broken)} of {len(sentences)} texts, "
            f"the first is {sentences[broken[0]][:80]!r}."
        )
    return vectors


def token_counts(model: Encoder, sentences: list[str], task: Task | None = None) -> list[int]:
    """The number of tokens of each text with its prompt; the number of words if the model has no
    Transformers tokenizer."""
    tokenizer = getattr(model, "tokenizer", None)
    if not sentences or not isinstance(tokenizer, PreTrainedTokenizerBase):
        return [len(sentence.split()) for sentence in sentences]
    prompt, counts = _prompt(model, task), []
    for start in range(0, len(sentences), TEXTS_PER_COUNT):
        few = [prompt + sentence for sentence in sentences[start : start + TEXTS_PER_COUNT]]
        ids = tokenizer(few, truncation=False, padding=False, verbose=False)["input_ids"]
        counts += [len(one) for one in ids]
    return counts


def _prompt(model: Any, task: Task | None) -> str:
    """The prompt that the library prepends to a text for this task."""
    names = {"query": ("query",), "document": ("document", "passage", "corpus")}
    known = [name for name in names.get(task or "", ()) if name in model.prompts]
    return model.prompts.get(known[0] if known else model.default_prompt_name) or ""


def _check_dimension(before: int | None, now: int) -> None:
    if before not in (None, now):
        raise UserError(f"the model's vectors changed from {before} to {now} dimensions.")


def _key(sentence: str, task: Task | None) -> bytes:
    content = f"{task or ''}\n{sentence}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()


def _read_cache(folder: Path) -> dict[bytes, Vectors]:
    cached: dict[bytes, Vectors] = {}
    for path in sorted(folder.glob("*.npz")):
        try:
            with np.load(path, allow_pickle=False) as stored:
                keys, vectors = stored["keys"], stored["vectors"]
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            logging.getLogger(__name__).warning("ignored the unreadable cache file %s", path)
            continue
        cached.update({key.tobytes(): vector for key, vector in zip(keys, vectors, strict=True)})
    return cached


def _write_cache(folder: Path, keys: list[bytes], vectors: Vectors) -> None:
    table = np.frombuffer(b"".join(keys), dtype=np.uint8).reshape(len(keys), -1)
    path = folder / f"{uuid.uuid4().hex}.npz"
    with atomic_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, keys=table, vectors=vectors)
