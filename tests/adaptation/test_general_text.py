from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer

from clusterns.adaptation.general_text import general_text, random_lines, vocabulary_words
from clusterns.encoder.locate import minibert_folder
from clusterns.errors import UserError


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


def test_other_kinds_of_vocabularies(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    plain = Tokenizer(models.BPE({"Ġhouse": 0, "Ġtree": 1, "ing": 2, "Ġ.": 3}, []))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel()
    plain.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=plain)
    assert vocabulary_words(tokenizer) == ["house", "tree"]
    with pytest.raises(UserError, match="--general"):
        random_lines(tokenizer, 3, seed=0)


def test_scripts_with_marks_and_signs() -> None:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    def words(*vocabulary: str) -> list[str]:
        plain = Tokenizer(models.WordPiece({word: row for row, word in enumerate(vocabulary)}))
        return list(vocabulary_words(PreTrainedTokenizerFast(tokenizer_object=plain)))

    assert words("山", "a", "हिन्दी", "don't", "дом", "42", "##ing") == ["हिन्दी", "дом"]
    assert words("山", "水", "火", "house") == ["山", "水", "火", "house"]


def test_lines_of_a_file_are_learned_from_or_measured_on_never_both(tmp_path: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(minibert_folder())
    file = tmp_path / "general.txt"
    file.write_text("".join(f"general sentence {row}\n" for row in range(60)))
    learned, measured = general_text(str(file), tokenizer, seed=1)
    assert len(learned) == len(measured) == 30
    assert set(learned).isdisjoint(measured)
    assert general_text(str(file), tokenizer, seed=2)[1] == measured
    assert general_text(str(file), tokenizer, seed=2)[0] != learned
    file.write_text("only one line\n")
    with pytest.raises(UserError, match="at least 20"):
        general_text(str(file), tokenizer, seed=1)
