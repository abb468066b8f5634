from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE, Model, WordPiece
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from clusterns.adaptation.general_text import (
    GeneralText,
    english_sentences,
    general_text,
    random_lines,
    vocabulary_words,
)
from clusterns.encoder.locate import minibert_folder
from clusterns.errors import UserError
from clusterns.vectors.nearest import unit


def test_lines_are_words_of_the_vocabulary_the_frequent_ones_more_often() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    words = vocabulary_words(tokenizer)
    assert {"the", "and", "city"} <= set(words)
    assert not any(word.startswith(("#", "[")) for word in words)
    lines = random_lines(tokenizer, 400, seed=1)
    drawn = [word for line in lines for word in line.split()]
    assert set(drawn) <= set(words)
    assert {len(line.split()) for line in lines} == set(range(4, 25))
    first = sum(word in words[:1000] for word in drawn) / len(drawn)
    assert first > 0.5
    assert lines == random_lines(tokenizer, 400, seed=1) != random_lines(tokenizer, 400, seed=2)
    assert random_lines(tokenizer, 0, seed=1) == []


def test_words_of_other_kinds_of_vocabularies() -> None:
    def words(model: Model) -> list[str]:
        plain = Tokenizer(model)
        plain.decoder = decoders.ByteLevel() if isinstance(model, BPE) else None
        return list(vocabulary_words(PreTrainedTokenizerFast(tokenizer_object=plain)))

    def pieces(*vocabulary: str) -> WordPiece:
        return WordPiece({word: row for row, word in enumerate(vocabulary)})

    assert words(BPE({"Ġhouse": 0, "Ġtree": 1, "ing": 2, "Ġ.": 3}, [])) == ["house", "tree"]
    assert words(pieces("山", "a", "हिन्दी", "don't", "дом", "42", "##ing")) == ["हिन्दी", "дом"]
    assert words(pieces("山", "水", "火", "house")) == ["山", "水", "火", "house"]
    few = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(pieces("house", "tree")))
    with pytest.raises(UserError, match="--general"):
        random_lines(few, 3, seed=0)


def test_lines_of_a_file_are_learned_from_or_measured_on_never_both(tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    file = tmp_path / "general.txt"
    file.write_text("".join(f"general sentence {row}\n" for row in range(60)))
    found = general_text(str(file), tokenizer, seed=1)
    assert len(found.training) == len(found.measured) == 30
    assert set(found.training).isdisjoint(found.measured)
    other = general_text(str(file), tokenizer, seed=2)
    assert other.measured == found.measured
    assert other.training != found.training
    file.write_text("only one line\n")
    with pytest.raises(UserError, match="at least 20"):
        general_text(str(file), tokenizer, seed=1)


def test_without_a_file_words_are_learned_and_sentences_measured() -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    found = general_text("", tokenizer, seed=1)
    assert set(found.training).isdisjoint(found.measured)
    assert found.english == english_sentences()
    sentences = [each for kind in found.english.values() for each in kind]
    assert found.measured == [*found.heldout, *sentences]
    assert len(set(sentences)) == len(sentences) > 450
    assert all(len(kind) % 4 == 0 for kind in found.english.values())


ENGLISH = GeneralText([], list("abcdefgh"), {"one": list("defg") * 2, "two": list("hijk") * 2})


def english_base() -> np.ndarray:
    """Sentences about the same thing are alike."""
    base = np.random.default_rng(0).standard_normal((24, 6)).astype(np.float32)
    base[8:] += 4 * np.repeat(np.eye(6, dtype=np.float32)[:4], 4, axis=0)
    return unit(base)


def test_agreement_is_the_lower_one_of_lines_and_of_english() -> None:
    base = english_base()
    noise = np.random.default_rng(1).standard_normal(base.shape).astype(np.float32)
    assert ENGLISH.compare(base, base) == (1, 0)
    for moved in (slice(0, 8), slice(8, 24)):
        after = base.copy()
        after[moved] = unit(after[moved] + noise[moved])
        pairs = list(combinations(range(moved.start, moved.stop), 2))
        expected = spearmanr(
            *([vectors[i] @ vectors[j] for i, j in pairs] for vectors in (base, after))
        ).statistic
        assert expected < 0.99
        assert ENGLISH.compare(after, base)[0] == pytest.approx(expected, abs=1e-6)


def test_drift_is_how_much_closer_related_sentences_come_in_the_worst_kind() -> None:
    base = english_base()
    after = base.copy()
    after[16:] = unit(after[16:] + 0.5 * np.repeat(np.eye(6, dtype=np.float32)[2:4], 4, axis=0))
    starts = range(8, 24, 4)
    pairs = [(start + i, start + j) for start in starts for i, j in combinations(range(4), 2)]
    now, then = (np.array([each[i] @ each[j] for i, j in pairs]) for each in (after, base))
    expected = (now - then)[12:].mean() / then.std()  # the first kind stays where it is
    assert expected > 0.1
    assert ENGLISH.compare(after, base)[1] == pytest.approx(expected, abs=1e-5)


def test_english_does_not_count_for_a_model_that_does_not_read_it() -> None:
    random = np.random.default_rng(1)
    base = unit(random.standard_normal((24, 6)))
    after = base.copy()
    after[8:] = unit(random.standard_normal((16, 6)))
    assert ENGLISH.compare(after, base) == (1, 0)
