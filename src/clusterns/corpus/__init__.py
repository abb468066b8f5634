"""Text to rows: read, clean and deduplicate a corpus of any size."""

from clusterns.corpus.cleaning import MAX_CHARS, MIN_WORDS
from clusterns.corpus.docstrings import DocstringCorpus, DocstringReport, docstring_corpus
from clusterns.corpus.heldout import split_heldout
from clusterns.corpus.prepare import Corpus, CorpusReport, default_cache, prepare_corpus

__all__ = [
    "MAX_CHARS",
    "MIN_WORDS",
    "Corpus",
    "CorpusReport",
    "DocstringCorpus",
    "DocstringReport",
    "default_cache",
    "docstring_corpus",
    "prepare_corpus",
    "split_heldout",
]
