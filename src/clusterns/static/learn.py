"""Learn a static model from text. Each step saves a file, so an interrupted run resumes after the last one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from scipy.sparse import csr_array
from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Normalize
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from tokenizers import Tokenizer

from clusterns.console import log
from clusterns.data.split import evenly_spaced, select_texts
from clusterns.errors import UserError
from clusterns.files import atomic_file
from clusterns.static.contrast import contrast
from clusterns.static.cooccurrence import Counts, count
from clusterns.static.pairs import Rows, choose_pairs, pair_dataset
from clusterns.static.settings import StaticSettings
from clusterns.static.vectors import Table, first_vectors, sif_weights, whiten
from clusterns.static.vocabulary import (
    special_tokens,
    tokenize,
    tokenize_blocks,
    train_tokenizer,
)

# With fewer lines, shared words explain most of the score: docs/static.md.
MIN_LINES = 10_000
WHITENING_LINES = 10_000
WHITENING_LENGTHS = (6, 80)
# Training longer memorizes the pairs.
MAX_EPOCHS = 4
CONTRASTS = {
    "next": "contrasting each line with the next one",
    "halves": "contrasting the two halves of each line",
    "none": "no contrast",
}


def learn(
    texts: Sequence[str],
    settings: StaticSettings,
    *,
    documents: Rows | None = None,
    seed: int = 0,
    folder: Path,
    tokenizer: Tokenizer | None = None,
    quiet: bool = False,
) -> SentenceTransformer:
    """Learn a static model from lines of text, in their order.

    Args:
        texts: the lines, without duplicates.
        settings: see :class:`~clusterns.static.settings.StaticSettings`.
        documents: (n,) the document of each line. None: the text is one document.
        seed: random seed.
        folder: stores the result of each step; a step whose file exists is not repeated.
        tokenizer: the tokenizer. None: learn word pieces from the text.
        quiet: whether to hide progress bars.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if len(texts) < MIN_LINES:
        log(
            f"Warning: {len(texts):,} lines are too little text for method static; see docs/static.md."
        )
    tokenizer = _tokenizer(texts, settings, folder, tokenizer)
    counts = _counts(texts, tokenizer, settings, folder, quiet)
    sample = tokenize(tokenizer, select_texts(texts, _sample(counts.lengths)))
    first = _saved(
        folder / "vectors.safetensors",
        lambda: Table(
            first_vectors(counts, settings.dimensions, settings.context_smoothing, seed),
            sif_weights(counts.pieces, settings.sif_weight, special_tokens(tokenizer)),
        ),
    )
    table = whiten(first, sample, settings.whitening_exponent)

    def embed(rows: Rows) -> NDArray[np.float32]:
        return table.embed(tokenize(tokenizer, select_texts(texts, rows)))

    kind, *pairs = choose_pairs(settings.contrast, counts.lengths, documents, embed, seed)
    batch_size = max(min(settings.contrast_batch_size, len(pairs[0]) // 8), 1)
    steps = min(settings.contrast_steps, MAX_EPOCHS * len(pairs[0]) // batch_size)
    log(
        f"{int(counts.pieces.sum()):,} word pieces, {tokenizer.get_vocab_size():,} distinct; "
        + CONTRASTS[kind]
        + (f", {steps} steps of {batch_size} pairs." if steps else ".")
    )
    if steps:
        chosen = np.random.default_rng(seed).permutation(len(pairs[0]))[: steps * batch_size]
        rows = pair_dataset(texts, *(side[np.sort(chosen)] for side in pairs))
        trained = _saved(
            folder / "contrast.safetensors",
            lambda: contrast(
                tokenizer, table, rows, settings,
                steps=steps, batch_size=batch_size, seed=seed, quiet=quiet,
            ),
        )  # fmt: skip
        table = whiten(trained, sample, settings.final_whitening_exponent)
    return static_model(tokenizer, table)


def static_model(tokenizer: Tokenizer, table: Table) -> SentenceTransformer:
    """Build a model of built-in modules, with the token weights folded into the vectors."""
    return SentenceTransformer(
        modules=[StaticEmbedding(tokenizer, table.folded()), Normalize()], device="cpu"
    )


def _tokenizer(
    texts: Sequence[str],
    settings: StaticSettings,
    folder: Path,
    tokenizer: Tokenizer | None,
) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.exists():
        if tokenizer is None:
            log("Learning word pieces.")
            tokenizer = train_tokenizer(texts, settings.vocabulary_size)
        with atomic_file(path) as temporary:
            tokenizer.save(str(temporary))
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _counts(
    texts: Sequence[str], tokenizer: Tokenizer, settings: StaticSettings, folder: Path, quiet: bool
) -> Counts:
    path = folder / "counts.safetensors"
    size = tokenizer.get_vocab_size()
    if path.exists():
        saved = load_file(path)
        pairs = (saved["data"], saved["indices"], saved["indptr"])
        return Counts(csr_array(pairs, shape=(size, size)), saved["pieces"], saved["lengths"])
    blocks = tokenize_blocks(tokenizer, texts, "Counting", quiet)
    counts = count(blocks, size, settings.window)
    if not counts.pairs.nnz:
        raise UserError("method static found no two words in a line: give it sentences.")
    pairs = counts.pairs
    arrays = {"data": pairs.data, "indices": pairs.indices, "indptr": pairs.indptr}
    with atomic_file(path) as temporary:
        save_file({**arrays, "pieces": counts.pieces, "lengths": counts.lengths}, temporary)
    return counts


def _sample(lengths: NDArray[np.int32]) -> NDArray[np.int64]:
    """Rows to fit the whitening on: evenly spaced over the lines of typical length."""
    min_length, max_length = WHITENING_LENGTHS
    rows = np.flatnonzero((lengths >= min_length) & (lengths <= max_length))
    if len(rows) < 2:
        rows = np.arange(len(lengths))
    return rows[evenly_spaced(len(rows), WHITENING_LINES)]


def _saved(path: Path, make: Callable[[], Table]) -> Table:
    """Read the table in ``path``; create it with ``make`` if the file is missing."""
    if path.exists():
        saved = load_file(path)
        return Table(saved["vectors"], saved["weights"])
    table = make()
    with atomic_file(path) as temporary:
        save_file({"vectors": table.vectors, "weights": table.weights}, temporary)
    return table
