"""General text, which an adapted model must embed as before.

If the user gives no file, it is random words of the tokenizer's vocabulary: they cover all of it in any language,
frequent words more often.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from unicodedata import category

import numpy as np
from scipy.stats import spearmanr
from transformers import PreTrainedTokenizerBase

from clusterns.errors import UserError
from clusterns.vectors.nearest import Vectors, nearest

# Lines to fit on (more do not help), and to measure on.
TRAINING_LINES, HELDOUT_LINES = 2000, 300
GROUP = 4
HELDOUT_SEED = 2**32  # outside the range of run seeds
# Lines as long as sentences.
MIN_WORDS, MAX_WORDS = 4, 24
# Markers of the start of a word in byte-pair and SentencePiece vocabularies.
WORD_STARTS = ("\u0120", "\u2581")
# Zipf's law with an offset: the k-th word is drawn in proportion to 1 / (OFFSET + k).
OFFSET = 10


@dataclass(frozen=True)
class GeneralText:
    """Lines whose embeddings a map is fitted to preserve, and held-out lines to measure that it does."""

    training: list[str]
    heldout: list[str]
    english: Mapping[str, list[str]]
    """Held-out English sentences of several genres, in groups of :data:`GROUP` about the same thing. Empty if the user
    gives general text."""

    @property
    def measured(self) -> list[str]:
        """All lines to measure on."""
        return [*self.heldout, *chain(*self.english.values())]

    def compare(self, vectors: Vectors, base: Vectors) -> tuple[float, float]:
        """Compare (n, d) unit embeddings of :attr:`measured` with the base's.

        Returns:
            The agreement (the minimum of both sources) and the drift (the maximum over all genres of
            English).
        """
        cut = len(self.heldout)
        kept = agreement(vectors[:cut], base[:cut])
        if not self.english or not reads_english(base[cut:]):
            return kept, 0.0
        now, then = within_groups(vectors[cut:]), within_groups(base[cut:])
        groups = np.cumsum([len(kind) // GROUP for kind in self.english.values()])
        shifts = [float(kind.mean()) for kind in np.split(now - then, groups[:-1])]
        drift = max(shifts) / float(then.std())
        return min(kept, agreement(vectors[cut:], base[cut:])), drift


def general_text(file: str, tokenizer: PreTrainedTokenizerBase, seed: int) -> GeneralText:
    """General text to fit on and to measure on; the latter is the same for every seed.

    Args:
        file: the user's general text; empty for random words and the package's English sentences.
        tokenizer: the tokenizer of the base.
        seed: random seed of the lines to fit on.
    """
    if not file:
        return GeneralText(
            random_lines(tokenizer, TRAINING_LINES, seed),
            random_lines(tokenizer, HELDOUT_LINES, HELDOUT_SEED),
            english_sentences(),
        )
    from clusterns.data.corpus import prepare_corpus

    texts = list(prepare_corpus([file], progress=False).dataset["text"][:])
    if len(texts) < 20:
        raise UserError(f"--general {file}: {len(texts)} lines are too few; give at least 20.")
    order = np.random.default_rng(0).permutation(len(texts))
    cut = min(HELDOUT_LINES, len(texts) // 2)
    training = [texts[row] for row in order[cut:]]
    chosen = np.random.default_rng(seed).permutation(len(training))[:TRAINING_LINES]
    return GeneralText([training[row] for row in chosen], [texts[row] for row in order[:cut]], {})


def english_sentences() -> dict[str, list[str]]:
    """General English of several genres: groups of a sentence, a paraphrase, a variation and something related."""
    kinds: dict[str, list[str]] = {}
    text = (files("clusterns.adaptation") / "general_english.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("# "):
            kinds[line[2:]] = sentences = []
        else:
            sentences += line.split(" | ")
    return kinds


def reads_english(sentences: Vectors) -> bool:
    """Whether most (n, d) embeddings of :func:`english_sentences` are nearest to one about the same thing."""
    rows = np.arange(len(sentences))
    near = nearest(sentences, sentences, 1, rows)[1][:, 0]
    return bool((near // GROUP == rows // GROUP).mean() > 0.5)


def within_groups(vectors: Vectors) -> Vectors:
    """(groups, pairs) similarities of all pairs about the same thing, of (n, d) unit vectors."""
    groups = vectors.reshape(-1, GROUP, vectors.shape[1])
    first, second = np.triu_indices(GROUP, 1)
    return (groups @ groups.transpose(0, 2, 1))[:, first, second]


def agreement(vectors: Vectors, base: Vectors) -> float:
    """Spearman correlation of the similarities of all pairs of (n, d) unit vectors with those of the base."""
    cells = np.triu_indices(len(vectors), 1)
    now, then = (vectors @ vectors.T)[cells], (base @ base.T)[cells]
    return 1.0 if np.array_equal(now, then) else float(spearmanr(now, then).statistic)


def random_lines(tokenizer: PreTrainedTokenizerBase, count: int, seed: int) -> list[str]:
    """Generate ``count`` lines of random words; the same seed gives the same lines."""
    words = vocabulary_words(tokenizer)
    if len(words) < MAX_WORDS:
        raise UserError(
            "the base's vocabulary has too few words to draw general text from: pass a file with --general."
        )
    weights = 1 / (OFFSET + np.arange(len(words)))
    random = np.random.default_rng(seed)
    lengths = random.integers(MIN_WORDS, MAX_WORDS + 1, count)
    drawn = random.choice(len(words), lengths.sum(), p=weights / weights.sum())
    lines = np.split(drawn, np.cumsum(lengths)[:-1])
    return [" ".join(words[number] for number in line) for line in lines] if count else []


def vocabulary_words(tokenizer: PreTrainedTokenizerBase) -> Sequence[str]:
    """The tokens that are whole words, in the order of the vocabulary, which roughly follows frequency."""
    special = set(tokenizer.all_special_tokens)
    known = sorted(tokenizer.get_vocab().items(), key=lambda each: each[1])
    tokens = [token for token, _ in known if token not in special and not token.startswith("##")]
    starts = [token for token in tokens if token.startswith(WORD_STARTS)]
    found = (tokenizer.convert_tokens_to_string([token]).strip() for token in starts or tokens)
    # Letters of any script and their marks.
    words = list(dict.fromkeys(w for w in found if w and all(category(c)[0] in "LM" for c in w)))
    longer = [word for word in words if len(word) > 1]
    # If most have one letter, as in a Chinese vocabulary, single letters are words too; in others, they are
    # the alphabet at its start.
    return words if len(words) > 2 * len(longer) else longer
