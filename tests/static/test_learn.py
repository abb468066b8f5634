from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from clusterns import encode, evaluate, search
from clusterns.static import learn as room
from clusterns.static import pairs as pairs_room
from clusterns.static.learn import learn
from clusterns.static.pairs import ReadPairs, halves, is_ordered, next_lines
from clusterns.static.settings import StaticSettings
from clusterns.static.vocabulary import tokenize, train_tokenizer
from tests.helpers.models import open_plain
from tests.helpers.texts import SUBJECTS

SETTINGS = StaticSettings(vocabulary_size=200, dimensions=16, contrast_steps=10)


def ordered_texts(documents: int = 150, lines: int = 4) -> tuple[list[str], np.ndarray]:
    """Documents about one subject each, every line different."""
    generator = random.Random(0)
    words = list(SUBJECTS.values())
    texts = [
        " ".join(generator.choices(words[document % 3], k=12))
        for document in range(documents)
        for _ in range(lines)
    ]
    return texts, np.repeat(np.arange(documents), lines)


TEXTS, DOCUMENTS = ordered_texts()
SHUFFLED = random.Random(1).sample(TEXTS, len(TEXTS))


@pytest.fixture(scope="module", autouse=True)
def few_pairs_are_enough() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs_room, "MIN_PAIRS", 100)
        yield


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that was learned without a break."""
    folder = tmp_path_factory.mktemp("static")
    model = learn(TEXTS, SETTINGS, documents=DOCUMENTS, folder=folder / "steps", quiet=True)
    model.save_pretrained(str(folder / "model"))
    return folder / "model"


def test_the_model_tells_subjects_apart_and_opens_anywhere(learned: Path) -> None:
    plain = open_plain(learned)
    texts = [" ".join(words) for words in SUBJECTS.values()]
    parts = [" ".join(words[:4]) for words in SUBJECTS.values()]
    similarities = plain.similarity(plain.encode(texts), plain.encode(parts)).numpy()
    assert (similarities.argmax(axis=1) == [0, 1, 2]).all()
    np.testing.assert_allclose(np.linalg.norm(plain.encode(texts), axis=1), 1, rtol=1e-5)
    short = SentenceTransformer(str(learned), truncate_dim=4)
    np.testing.assert_array_equal(short.encode(texts), plain.encode(texts)[:, :4])


@pytest.mark.parametrize("step", ["tokenizer.json", "counts.safetensors", "vectors.safetensors"])
def test_a_killed_run_resumes_after_its_last_step(
    learned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    def again() -> SentenceTransformer:
        return learn(TEXTS, SETTINGS, documents=DOCUMENTS, folder=tmp_path, quiet=True)

    real = room.atomic_file

    def killed(path: Path, **options):
        if (path.parent / step).exists():
            raise KeyboardInterrupt
        return real(path, **options)

    with monkeypatch.context() as patch:
        patch.setattr(room, "atomic_file", killed)
        with pytest.raises(KeyboardInterrupt):
            again()
    before = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert tmp_path / step in before
    resumed = again()
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())
    np.testing.assert_array_equal(resumed.encode(TEXTS[:5]), open_plain(learned).encode(TEXTS[:5]))


def test_neighbors_of_the_same_document_only() -> None:
    lengths = np.array([10, 12, 80, 9, 11, 13, 81, 20])
    assert [rows.tolist() for rows in next_lines(lengths, None)] == [[0, 1, 4], [1, 2, 5]]
    documents = np.array([3, 3, 1, 1, 1, 3, 1, 3])
    first, second = next_lines(lengths, documents)
    # Document 1 has rows 2, 3, 4, 6, document 3 has rows 0, 1, 5, 7.
    assert sorted(zip(first.tolist(), second.tolist(), strict=True)) == [(0, 1), (1, 5), (5, 7)]


def test_order_is_recognized() -> None:
    tokenizer = train_tokenizer(TEXTS, 200)

    def embed(texts: list[str]):
        def bag(rows: np.ndarray) -> np.ndarray:
            pieces = [tokenize(tokenizer, [texts[row]]).ids for row in rows]
            return np.array([np.bincount(one, minlength=200) for one in pieces], np.float32)

        return bag

    lengths = np.full(len(TEXTS), 12)
    assert is_ordered(next_lines(lengths, None), embed(TEXTS), seed=0)
    assert not is_ordered(next_lines(lengths, None), embed(SHUFFLED), seed=0)


def test_halves_of_lines_stand_in_where_text_has_no_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert halves("one two three four five") == ("one two", "three four five")
    assert halves("漢字仮名交じり文") == ("漢字仮名", "交じり文")
    read = ReadPairs(["a b", "c d"])
    assert read({"anchor": [1], "positive": [1]}) == {"anchor": ["c"], "positive": ["d"]}
    assert read({"anchor": [0], "positive": [1]}) == {"anchor": ["a b"], "positive": ["c d"]}
    learn(SHUFFLED, SETTINGS, folder=tmp_path, quiet=True)
    said = capsys.readouterr().err
    assert "600 lines are too little text" in said
    assert "contrasting the two halves of each line, 10 steps" in said


def test_a_small_corpus_is_not_contrasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pairs_room, "MIN_PAIRS", 2_000)
    learn(TEXTS, SETTINGS, folder=tmp_path, quiet=True)
    assert "no contrast" in capsys.readouterr().err
    assert not (tmp_path / "contrast.safetensors").exists()


def test_text_without_blanks_has_pieces() -> None:
    generator = random.Random(0)
    syllables = "ภา ษา ไทย ไม่ มี ช่อง ว่าง ระ หว่าง คำ".split()
    thai = ["".join(generator.choices(syllables, k=100)) for _ in range(50)]
    tokenizer = train_tokenizer(thai[:49], 100)
    ids = tokenize(tokenizer, thai[49:]).ids
    assert len(ids) > 20
    assert tokenizer.token_to_id("[UNK]") not in ids


def test_the_vocabulary_is_the_same_in_every_run() -> None:
    program = (
        "from tests.helpers.texts import sentences; from clusterns.static.vocabulary import *; "
        "print(train_tokenizer(sentences(300), 120).to_str())"
    )
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True) for _ in range(2)]
    assert runs[0].stdout == runs[1].stdout
    assert b"harbour" in runs[0].stdout


def test_a_model_without_a_length_limit_encodes_and_is_evaluated(
    learned: Path, tmp_path: Path
) -> None:
    (tmp_path / "corpus.txt").write_text("\n".join(TEXTS[:50]))
    (tmp_path / "pairs.csv").write_text(
        "sentence1,sentence2,score\nship wave,sailor tide,4\nship,verdict,0\n"
    )
    encode(learned, tmp_path / "corpus.txt", tmp_path / "vectors")
    assert len(search(learned, TEXTS[0], tmp_path / "vectors", top=2)) == 2
    results = evaluate(learned, pairs=[tmp_path / "pairs.csv"])
    assert results.model["max_length"] is None
