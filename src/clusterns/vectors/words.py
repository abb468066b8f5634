"""Search by words: BM25 over stems, built from word counts that are kept per shard.

As in bm25s, the score of each word in each text that contains it is computed once and then memory-mapped.
Scores are computed from counts, shard by shard: neither texts nor scores have to fit into memory, and
adding texts counts only the new ones.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import is_zipfile

import numpy as np
import pyarrow as pa
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_matrix

from clusterns.console import bar
from clusterns.files import atomic_file, atomic_folder, read_json, recover_folder, write_json
from clusterns.locks import locked
from clusterns.vectors.language import Language, detect_language, words_of

K1, B = 1.5, 0.75  # how repeated words saturate and how much length counts, as in bm25s
VERSION = 2  # of how texts are split into words
COUNTS, INDEX, FACTS = "counts", "index", "facts.json"
ARRAYS = WORDS, STARTS, ROWS, WEIGHTS = "words.npy", "starts.npy", "rows.npy", "weights.npy"

Scores = NDArray[np.float32]


class Counts(NamedTuple):
    """How often words occur in the texts of a shard."""

    words: list[str]
    times: csr_matrix
    """(texts, words)"""

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> Counts:
        """Count the words of texts."""
        known: dict[str, int] = {}
        starts, codes, times = [0], array("i"), array("i")
        for text in texts:
            found = Counter(words_of(text or ""))
            codes.extend([known.setdefault(word, len(known)) for word in found])
            times.extend(found.values())
            starts.append(len(codes))
        arrays = np.array(times, np.int32), np.array(codes, np.int32), starts
        return cls([*known], csr_matrix(arrays, (len(texts), len(known))))

    @classmethod
    def read(cls, path: Path) -> Counts:
        """Read a file written by :meth:`write`."""
        with np.load(path, allow_pickle=False) as stored:
            words = stored["words"].tobytes().decode().split("\n")[:-1]
            arrays = stored["data"], stored["indices"], stored["indptr"]
        return cls(words, csr_matrix(arrays, (len(arrays[2]) - 1, len(words))))

    def write(self, path: Path) -> None:
        """Write a file atomically."""
        words = np.frombuffer("".join(f"{word}\n" for word in self.words).encode(), np.uint8)
        arrays = {name: getattr(self.times, name) for name in ("data", "indices", "indptr")}
        with atomic_file(path) as temporary, temporary.open("wb") as file:
            np.savez(file, words=words, **arrays)


class WordIndex:
    """The BM25 score of every word in every text that contains it, memory-mapped.

    Args:
        folder: a folder that :meth:`open` has built.
    """

    def __init__(self, folder: Path) -> None:
        facts = read_json(folder / FACTS)
        self.texts: int = facts["texts"]
        self.language = Language(facts["language"])
        # Sorted; the texts that contain words[i] are rows[starts[i] : starts[i + 1]].
        self.words, self.starts, self.rows, self.weights = (
            np.load(folder / name, mmap_mode="r", allow_pickle=False) for name in ARRAYS
        )

    @classmethod
    def open(
        cls,
        folder: Path,
        texts: pa.ChunkedArray,
        digest: str,
        language: str | None = None,
        progress: bool = True,
    ) -> WordIndex:
        """Open the index in a folder; build it first if it does not hold these texts.

        Args:
            folder: holds the index and the counts that it is built from.
            texts: each chunk is a shard, whose words are counted once.
            digest: identifies the texts.
            language: language of the stems and stop words. None: that of the index in the folder,
                or else the main language of the text.
            progress: whether to show a progress bar.
        """
        if language is not None:
            Language(language)  # refuse an unknown language before counting
        recover_folder(folder / INDEX)
        if not _is_built(folder, digest, language):
            with locked(folder):
                if not _is_built(folder, digest, language):
                    language = language or _facts(folder).get("language")
                    shards = _count_shards(folder / COUNTS, texts, progress)
                    _build(shards, folder / INDEX, digest, language)
        return cls(folder / INDEX)

    def scores(self, query: str) -> Scores:
        """(n,) the BM25 score of every text; 0 if it contains none of the words."""
        scores = np.zeros(self.texts, dtype=np.float32)
        stems = self._stems(query)
        positions = np.searchsorted(self.words, np.array(stems, dtype=self.words.dtype))
        for stem, at in zip(stems, positions.tolist(), strict=True):
            if at < len(self.words) and self.words[at] == stem:
                part = slice(self.starts[at], self.starts[at + 1])
                scores[self.rows[part]] += self.weights[part]
        return scores

    def matches(self, query: str, text: str) -> list[str]:
        """The words of a text that match a query, in text order."""
        query_stems = set(self._stems(query))
        words = list(dict.fromkeys(words_of(text)))
        stems = self.language.stems(words)
        return [
            word for word, stem in zip(words, stems, strict=True) if stem.encode() in query_stems
        ]

    def _stems(self, query: str) -> list[bytes]:
        stems = self.language.stems(self.language.query_words(query))
        return [stem.encode() for stem in stems]


def _facts(folder: Path) -> dict[str, Any]:
    try:
        facts = read_json(folder / INDEX / FACTS)
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _is_built(folder: Path, digest: str, language: str | None) -> bool:
    facts = _facts(folder)
    same = facts.get("digest") == digest and facts.get("version") == VERSION
    return same and language in (None, facts.get("language"))


def _count_shards(folder: Path, texts: pa.ChunkedArray, progress: bool) -> list[Path]:
    """Count the words of each shard and return the files; files of texts that are gone are removed."""
    paths = []
    with bar(total=len(texts), desc="Words", unit=" texts", shown=progress) as shown:
        for chunk in texts.chunks:
            content = pa.record_batch([chunk], ["text"]).serialize()
            path = folder / f"{VERSION}-{sha256(content).hexdigest()[:32]}.npz"
            if not is_zipfile(path):  # also False for a file truncated by a crash
                Counts.of(chunk.to_pylist()).write(path)
            paths.append(path)
            shown.update(len(chunk))
    for path in set(folder.iterdir()) - set(paths):
        path.unlink(missing_ok=True)
    return paths


def _build(shards: Sequence[Path], folder: Path, digest: str, language: str | None) -> None:
    """Compute the scores from the counts, sorted by word; only one shard is in memory at a time."""
    totals: Counter[str] = Counter()
    for path in shards:
        words, times = Counts.read(path)
        sums = np.asarray(times.sum(axis=0)).ravel().tolist()
        totals.update(dict(zip(words, sums, strict=True)))
    detected = Language(language or detect_language(totals))
    stems = [stem.encode() for stem in detected.stems([*totals])]
    known, stem_of = np.unique(np.array(stems, dtype=bytes), return_inverse=True)
    code_of = dict(zip(totals, stem_of.tolist(), strict=True))
    # Stop words can be searched for, but do not count toward the length of a text.
    stop = {stem.encode() for stem in detected.stems(sorted(detected.stop_words))}
    counts_as_length = np.array([stem not in stop for stem in known.tolist()], dtype=np.float32)

    def read(path: Path) -> csc_matrix:
        words, times = Counts.read(path)
        codes = np.array([code_of[word] for word in words], dtype=np.int32)[times.indices]
        counts = csr_matrix((times.data, codes, times.indptr), (times.shape[0], len(known)))
        counts.sum_duplicates()  # merge words with the same stem
        return counts.tocsc()

    having = np.zeros(len(known), dtype=np.int64)
    sizes: list[NDArray[np.float32]] = []
    for path in shards:
        counts = read(path)
        having += np.diff(counts.indptr)
        sizes.append(counts @ counts_as_length)
    length = np.concatenate(sizes) if sizes else np.zeros(0, dtype=np.float32)
    relative = 1 - B + B * length / max(1.0, length.mean() if len(length) else 0.0)
    rarity = np.log1p((len(length) - having + 0.5) / (having + 0.5)).astype(np.float32)
    starts = np.concatenate([[0], np.cumsum(having)])

    with atomic_folder(folder) as temporary:
        np.save(temporary / WORDS, known)
        np.save(temporary / STARTS, starts)
        shape = (int(starts[-1]),)
        rows = open_memmap(temporary / ROWS, "w+", np.int32, shape)
        weights = open_memmap(temporary / WEIGHTS, "w+", np.float32, shape)
        free, first = starts[:-1].copy(), 0
        for path in shards:
            counts = read(path)
            each = np.diff(counts.indptr)
            at = np.repeat(free - counts.indptr[:-1], each) + np.arange(counts.nnz)
            rows[at] = first + counts.indices
            times = counts.data.astype(np.float32)
            weights[at] = np.repeat(rarity, each) * times / (times + K1 * relative[rows[at]])
            free += each
            first += counts.shape[0]
        rows.flush()
        weights.flush()
        facts = {"digest": digest, "version": VERSION, "language": detected.name, "texts": first}
        write_json(temporary / FACTS, facts)
