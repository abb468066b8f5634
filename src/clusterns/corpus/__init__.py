"""Text to rows: read, clean and deduplicate a corpus of any size."""

from clusterns.corpus.heldout import split_heldout
from clusterns.corpus.prepare import Corpus, CorpusReport, default_cache, prepare_corpus

__all__ = ["Corpus", "CorpusReport", "default_cache", "prepare_corpus", "split_heldout"]
