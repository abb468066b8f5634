"""Averaged word vectors: a file in GloVe's text format as a SentenceTransformer of built-in modules."""

from __future__ import annotations

import io
from contextlib import nullcontext, redirect_stderr
from pathlib import Path

from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, WordEmbeddings
from sentence_transformers.sentence_transformer.modules.tokenizer import (
    ENGLISH_STOP_WORDS,
    WhitespaceTokenizer,
)

from clusterns.errors import UserError


def load_word_vectors(
    path: Path, *, stop_words: bool = False, quiet: bool = True
) -> SentenceTransformer:
    """Load word vectors; the embedding of a sentence is the mean over its known words.

    A sentence without a known word gets the zero vector. Words that contain a space are
    skipped, since sentences are split at spaces.

    Args:
        path: a file with one word and its numbers per line, gzipped or not, with or without word2vec's header.
        stop_words: drop English stop words, as the tokenizer of the published results does.
        quiet: hide the progress bar.
    """
    tokenizer = WhitespaceTokenizer(stop_words=ENGLISH_STOP_WORDS if stop_words else ())
    try:
        with redirect_stderr(io.StringIO()) if quiet else nullcontext():
            words = WordEmbeddings.from_text_file(str(path), tokenizer=tokenizer)
        if not words.get_embedding_dimension():
            raise ValueError("its words have no numbers")
    except (ValueError, OSError, EOFError) as error:
        raise UserError(
            f"cannot read {path} as word vectors: {error}. Each line must be a word and its numbers, "
            "separated by spaces, as in GloVe's text files."
        ) from error
    return SentenceTransformer(modules=[words, Pooling(words.get_embedding_dimension(), "mean")])
