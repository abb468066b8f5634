import math
import os
import shutil
import signal
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from clusterns.errors import UserError
from clusterns.files import recover_folder
from clusterns.vectors import words
from clusterns.vectors.language import Language
from clusterns.vectors.words import WordIndex
from tests.helpers.killing import die_at

SHARDS = [
    ["The cat sat on the mats.", "Dogs and cats, dogs and more dogs", ""],
    ["a matter of record", "cats"],
    ["The dog's record: 404 errors"],
]


def column(shards):
    return pa.chunked_array([pa.array(texts, pa.string()) for texts in shards])


def build(folder, shards, language=None, digest=None):
    digest = digest or str(shards)
    return WordIndex.open(folder, column(shards), digest, language, progress=False)


def slow_bm25(texts, query, language):
    """Lucene's formula, one text and one word at a time."""
    spoken = Language(language)
    documents = [Counter(spoken.stems(words.words_of(text or ""))) for text in texts]
    stop = set(spoken.stems(list(spoken.stop_words)))
    lengths = [sum(n for stem, n in d.items() if stem not in stop) for d in documents]
    mean = sum(lengths) / len(lengths)
    scores = []
    for document, length in zip(documents, lengths, strict=True):
        score = 0.0
        for stem in spoken.stems(spoken.query_words(query)):
            having = sum(stem in each for each in documents)
            rarity = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
            times = document[stem]
            score += rarity * times / (times + 1.5 * (0.25 + 0.75 * length / mean))
        scores.append(score)
    return scores


@pytest.mark.parametrize("language", ["english", "none"])
@pytest.mark.parametrize("query", ["cats", "the dogs of record", "dog dog cat", "the", "bird", ""])
def test_scores_are_bm25(tmp_path, language, query):
    index = build(tmp_path, SHARDS, language)
    texts = [text for shard in SHARDS for text in shard]
    assert index.scores(query) == pytest.approx(slow_bm25(texts, query, language), abs=1e-6)


def test_scores_of_random_words_are_those_of_bm25s(tmp_path):
    import bm25s

    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{n}" for n in rng.zipf(1.3, rng.integers(1, 30))) for _ in range(300)]
    index = build(tmp_path, [texts[:100], texts[100:101], texts[101:]], "none")
    theirs = bm25s.BM25()
    theirs.index([text.split() for text in texts], show_progress=False)
    for query in ("w1", "w3 w7 w2", "w9 w9 w40"):
        assert index.scores(query) == pytest.approx(theirs.get_scores(query.split()), abs=1e-5)


@pytest.mark.parametrize(
    ("texts", "query", "row"),
    [
        (["我喜欢喝绿茶", "他在书店买书", "今天下雨"], "书店", 1),
        (["我喜欢喝绿茶", "他在书店买书", "今天下雨"], "茶", 0),
        (["東京の天気予報", "コーヒーを飲む"], "コーヒー", 1),
        (["ฉันชอบกินข้าว", "รถไฟไปเชียงใหม่"], "รถไฟ", 1),
        (["학교에서 공부한다", "집에 간다"], "학교", 0),
    ],
)
def test_scripts_without_spaces_are_found(tmp_path, texts, query, row):
    scores = build(tmp_path, [texts]).scores(query)
    assert scores.argmax() == row
    assert np.count_nonzero(scores) == 1


def test_matches_are_the_words_of_the_text(tmp_path):
    index = build(tmp_path, SHARDS, "english")
    assert index.matches("the dog and cat", SHARDS[0][1]) == ["dogs", "cats"]
    assert index.matches("bird", SHARDS[0][1]) == []


def test_texts_without_a_word(tmp_path):
    assert build(tmp_path / "a", [["", "..."]]).scores("cat").tolist() == [0, 0]
    assert build(tmp_path / "b", [[]]).scores("cat").tolist() == []


def test_texts_that_are_added_are_all_that_is_counted(tmp_path, monkeypatch):
    counted = []
    count = words.Counts.of
    monkeypatch.setattr(words.Counts, "of", lambda texts: counted.append(texts) or count(texts))
    build(tmp_path, SHARDS[:2], "german")
    index = build(tmp_path, SHARDS)
    assert counted == SHARDS
    assert index.language.name == "german"  # stays
    assert np.flatnonzero(index.scores("404")).tolist() == [5]
    assert build(tmp_path, SHARDS, "english").language.name == "english"
    build(tmp_path, SHARDS[1:])
    assert counted == SHARDS
    assert len(list((tmp_path / words.COUNTS).iterdir())) == 2  # those of no text are gone


def test_what_is_built_is_opened(tmp_path, monkeypatch):
    build(tmp_path, SHARDS)
    monkeypatch.setattr(words, "_build", None)
    assert build(tmp_path, SHARDS).texts == 6
    assert build(tmp_path, SHARDS, "english").texts == 6  # found by itself


def test_an_unknown_language_is_refused_before_anything_is_counted(tmp_path):
    with pytest.raises(UserError, match="klingon"):
        build(tmp_path, SHARDS, "klingon")
    assert list(tmp_path.iterdir()) == []


def test_counts_that_were_cut_short_are_made_again(tmp_path):
    build(tmp_path, SHARDS)
    for path in (tmp_path / words.COUNTS).iterdir():
        path.write_bytes(path.read_bytes()[:100])
    assert build(tmp_path, SHARDS, "none").scores("cats")[4] > 0


FILE_OPERATIONS = [
    *((Path, name) for name in "replace rename unlink mkdir open rmdir write_text".split()),
    *((np, name) for name in ("save", "savez")),
    (words, "open_memmap"),
]


def test_killed_at_any_step_the_index_is_as_before_or_as_after(tmp_path):
    """The n-th file operation of a build is its last, for every n."""
    before, after = SHARDS[:2], SHARDS
    expected = [
        build(tmp_path / str(n), shards, "english") for n, shards in enumerate((before, after))
    ]
    n_steps = 0
    while True:
        folder = tmp_path / f"killed-{n_steps}"
        shutil.copytree(tmp_path / "0", folder)
        child = os.fork()
        if child == 0:
            die_at(n_steps, *FILE_OPERATIONS)
            build(folder, after, "english")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        recover_folder(folder / words.INDEX)
        left = WordIndex(folder / words.INDEX)
        assert left.scores("dog").tolist() in [one.scores("dog").tolist() for one in expected]
        assert build(folder, after).scores("dog").tolist() == expected[1].scores("dog").tolist()
        if os.WIFEXITED(status):
            assert os.WEXITSTATUS(status) == 0
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
        n_steps += 1
    assert n_steps > 10
