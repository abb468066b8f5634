from __future__ import annotations

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from clusterns.vectors import index as index_module
from clusterns.vectors import mapped, ranking
from clusterns.vectors.encode import encode_corpus
from clusterns.vectors.index import Index
from clusterns.vectors.nearest import unit
from clusterns.vectors.settings import EncodeSettings, Partition

from .conftest import contents

NO_TEXT, SMALL_SHARDS = EncodeSettings(text=False), EncodeSettings(shard_size=40)


def built(folder, model, texts, names=None, **options):
    return Index.build(folder, model, texts, names, progress=False, **options)


def encoded_folder(corpus, model, output, settings=None, **options):
    return encode_corpus([str(corpus)], model, output, settings, progress=False, **options)


def names_of(texts):
    return [f"name {number}" for number in range(len(texts))]


@pytest.fixture(scope="module")
def index(model, texts, tmp_path_factory):
    """The texts without names, in a folder that no test changes."""
    return built(tmp_path_factory.mktemp("index"), model, texts)


@pytest.mark.parametrize(
    "options",
    [{}, {"normalize": True}, *({"precision": p} for p in ("int8", "uint8", "binary", "ubinary"))],
)
def test_what_encode_writes_is_searched(options, corpus, texts, model, tmp_path):
    settings = EncodeSettings(shard_size=40, **options)
    encoded_folder(corpus, model, tmp_path / "out", settings)
    index = Index.open(tmp_path / "out", model, progress=False)
    assert (len(index), index.texts.to_pylist(), index.names) == (110, texts, None)
    plain = model.encode(texts)
    one_bit = "binary" in settings.precision
    cosines = np.sum(index.vectors * unit(np.sign(plain) if one_bit else plain), axis=1)
    assert cosines.min() > (0.999 if "int" in settings.precision else 0.99999)
    first = index.search(model, texts[7], top=3)
    assert first[0].text == texts[7] or one_bit
    assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)


def test_built_from_texts_kept_and_reused(texts, model, tmp_path, monkeypatch):
    index = built(tmp_path / "i", model, texts, names_of(texts))
    before = contents(tmp_path / "i" / "search")
    hit = index.search(model, texts[20], top=1, by="vectors")[0]
    assert (hit.row, hit.text, hit.name) == (20, texts[20], "name 20")
    assert hit.score == pytest.approx(1, abs=1e-5)
    monkeypatch.setattr(index_module, "prepare", None)  # not made again
    opened = Index.open(tmp_path / "i", model)
    assert opened.search(model, texts[20], top=1, by="vectors") == [hit]
    assert contents(tmp_path / "i" / "search") == before


def slow_search(index: Index, model: SentenceTransformer, query: str, depth: int) -> list[str]:
    """The union of the first of each side, both scores scaled to 0-1 over it and averaged."""
    cosines = index.vectors @ unit(model.encode_query([query]))[0]
    words = index.words.scores(query)
    either = {int(row) for side in (cosines, words) for row in np.argsort(-side)[:depth]}
    either -= {row for row in either if not words[row] and row not in np.argsort(-cosines)[:depth]}
    rows = sorted(either)

    def scaled(side: np.ndarray) -> np.ndarray:
        chosen = side[rows]
        return (chosen - chosen.min()) / (chosen.max() - chosen.min())

    order = np.argsort(-(scaled(cosines) + scaled(words)), kind="stable")
    return [index.texts[rows[place]].as_py() for place in order]


@pytest.mark.parametrize("depth", [6, 20])
def test_both_joins_the_best_of_words_and_vectors(depth, texts, model, tmp_path, monkeypatch):
    monkeypatch.setattr(ranking, "DEPTH", depth)
    distinct = sorted({text for text in texts if text})
    index = built(tmp_path, model, distinct)
    for query in (distinct[3], " ".join(distinct[50].split()[:2])):
        hits = index.search(model, query, top=5)
        assert [hit.text for hit in hits] == slow_search(index, model, query, depth)[:5]
        for hit in hits:
            cosine = index.vectors[hit.row] @ unit(model.encode_query([query]))[0]
            assert hit.cosine == pytest.approx(float(cosine), abs=1e-5)
            assert set(hit.words) <= set(str(hit.text).lower().split())
    assert index.search_many(model, distinct[:2], 3) == [
        index.search(model, query, 3) for query in distinct[:2]
    ]


def test_words_alone_find_only_texts_with_a_word(model, tmp_path):
    index = built(tmp_path, model, ["the red houses", "a river", "one house", "many ships"])
    index.language = "english"
    hits = index.search(model, "house", by="words")
    assert {hit.text: (hit.cosine, hit.words) for hit in hits} == {
        "one house": (None, ("house",)),
        "the red houses": (None, ("houses",)),
    }
    assert index.search(model, "nothing", by="words") == []
    assert len(index.search(model, "nothing")) == 4


@pytest.mark.parametrize("by", ["both", "vectors", "words"])
def test_only_rows_that_may_be_found_are(by, index, texts, model):
    where = np.arange(len(texts)) % 3 == 0
    hits = index.search(model, texts[7], top=50, by=by, where=where)
    assert hits
    assert all(hit.row % 3 == 0 for hit in hits)
    assert by == "words" or len(hits) == len({texts[row] for row in np.flatnonzero(where)})


def test_another_model_is_refused(texts, model, tiny_bert, tmp_path):
    index = built(tmp_path / "i", model, texts, model_name="runs/a")
    other = load_model(str(tiny_bert), "cls", device="cpu")
    with pytest.raises(UserError, match=r"are of another model \(runs/a, fingerprint .* than b"):
        Index.open(tmp_path / "i", other, model_name="b")
    with pytest.raises(UserError, match="of another model"):
        index.add(other, ["one more"])
    with pytest.raises(UserError, match="another corpus"):
        built(tmp_path / "i", model, texts[1:])


@pytest.fixture
def encoded(model, monkeypatch):
    """Every text that the model encodes from now on."""
    seen, plain = [], model.encode_document
    monkeypatch.setattr(
        model, "encode_document", lambda some, **more: seen.extend(some) or plain(some, **more)
    )
    return seen


def test_texts_are_added_and_removed_without_encoding_the_others(texts, model, tmp_path, encoded):
    index = built(tmp_path / "i", model, texts, names_of(texts))
    index.search(model, texts[3], by="words")
    encoded.clear()
    with pytest.raises(UserError, match="names"):
        index.add(model, ["one more"])
    for _ in range(2):
        index = index.add(model, ["a winter market", "king"], ["x", "y"])
        assert (len(index), index.ids[110].as_py(), index.ids[111].as_py()) == (112, "x", "y")
    assert sorted(encoded) == ["a winter market", "king"]
    assert index.search(model, "king", top=1)[0].row == 111
    index = index.remove(model, ["name 0", "x"])
    assert (len(index), len(encoded)) == (110, 2)
    assert index.names.to_pylist()[:2] == ["name 1", "name 2"]
    expected = unit(model.encode(index.texts.to_pylist()))
    np.testing.assert_allclose(index.vectors, expected, atol=1e-5)
    names = {hit.name for hit in index.search(model, "king winter market", 99, by="words")}
    assert "y" in names
    assert not names & {"x", "name 0"}
    again = built(tmp_path / "j", model, [*texts, "new"], reuse=[tmp_path / "i"])
    assert encoded[2:] == ["new"]
    assert len(again) == 111
    few = built(tmp_path / "k", model, ["king", "law"])
    few = few.add(model, ["song", "law"])  # by their text, where there are no names
    assert (few.ids.to_pylist(), few.texts.to_pylist()) == ([0, 1, 2], ["king", "law", "song"])
    assert few.remove(model, ["law"]).texts.to_pylist() == ["king", "song"]


def test_a_folder_is_updated_when_its_files_change(corpus, texts, model, tmp_path, encoded):
    output = tmp_path / "out"
    encoded_folder(corpus, model, output, SMALL_SHARDS)
    encoded.clear()
    corpus.write_text("\n".join([*texts[:60], "a new line", *texts[60:]]) + "\n")
    with pytest.raises(UserError, match="another corpus"):
        encoded_folder(corpus, model, output, SMALL_SHARDS)
    with pytest.raises(UserError, match="was begun with"):
        encoded_folder(corpus, model, output, update=True)
    report = encoded_folder(corpus, model, output, SMALL_SHARDS, update=True)
    assert (report.encoded, report.texts, encoded) == (1, 111, ["a new line"])
    index = Index.open(output, model)
    assert index.texts[60].as_py() == "a new line"
    expected = unit(model.encode(index.texts.to_pylist()))
    np.testing.assert_allclose(index.vectors, expected, atol=1e-5)
    with pytest.raises(UserError, match="holds text from files"):
        index.add(model, ["one more"])


def test_identical_texts_are_merged(model, tmp_path):
    texts = ["king"] * 30 + ["law", "song", "law"]
    index = built(tmp_path / "named", model, texts, names_of(texts))
    hits = index.search(model, "king", top=3)
    assert hits[0].text == "king"
    assert sorted(str(hit.text) for hit in hits) == ["king", "law", "song"]
    assert (hits[0].name, len(hits[0].also)) == ("name 0", 29)
    (law,) = [hit for hit in hits if hit.text == "law"]
    assert (law.name, law.also) == ("name 30", ("name 32",))
    assert len(index.search(model, "king", top=9)) == 3
    plain = built(tmp_path / "plain", model, texts)
    assert [hit.also for hit in plain.search(model, "law", top=2)] == [(), ()]


def test_without_text_there_are_ids(corpus, model, tmp_path):
    encoded_folder(corpus, model, tmp_path / "out", NO_TEXT)
    index = Index.open(tmp_path / "out")
    hit = index.search(model, "king", top=1)[0]
    assert (hit.text, hit.name, hit.words) == (None, None, ())
    with pytest.raises(UserError, match="cannot be searched by words"):
        index.search(model, "king", by="words")


def test_above_a_size_search_is_approximate_and_measured(
    texts, model, tmp_path, monkeypatch, capsys
):
    index = built(tmp_path, model, texts)
    exact = index.neighbors(3, progress=False)
    assert index.lists is None
    monkeypatch.setattr(mapped, "EXACT_UP_TO", 100)
    monkeypatch.setattr(index_module, "EXACT_NEIGHBORS_UP_TO", 100)
    index = Index.open(tmp_path, progress=False)
    said = capsys.readouterr().err
    assert "search is approximate" in said
    assert "of the 10 nearest (measured on this index)" in said
    assert index.lists is not None
    assert index.facts["lists"]["recall"] >= 0.99
    assert index.facts["lists"]["queries"] == 110
    assert index.search(model, texts[7], top=1)[0].text == texts[7]
    np.testing.assert_allclose(index.neighbors(3, progress=False)[0], exact[0], atol=1e-5)
    assert "Neighbors by approximate search" in capsys.readouterr().err
    for module in (index_module, mapped):
        monkeypatch.setattr(module, "is_installed", lambda: False)
    index = Index.open(tmp_path)
    assert index.lists is None
    assert index.search(model, texts[7], top=1)[0].text == texts[7]


def test_what_is_damaged_not_whole_or_no_index(corpus, model, tmp_path):
    output = tmp_path / "out"
    for place in (tmp_path, output):
        with pytest.raises(UserError, match="is not a folder that `clusterns encode` wrote"):
            Index.open(place)
    encoded_folder(corpus, model, output, SMALL_SHARDS, partition=Partition(0, 2))
    with pytest.raises(UserError, match="is not complete. Run"):
        Index.open(output)
    encoded_folder(corpus, model, output, SMALL_SHARDS)
    for name in ("index.json", "vectors.npy", "rows.arrow"):
        assert len(Index.open(output)) == 110
        for content in (b"x", b"{}"):
            (output / "search" / name).write_bytes(content)
            if name == "index.json":
                assert len(Index.open(output)) == 110
            else:
                with pytest.raises(UserError, match="search: .*. Delete it to rebuild it"):
                    Index.open(output)
        (output / "search" / "index.json").unlink()  # made again
    (output / "shard-00000.parquet").unlink()
    with pytest.raises(UserError, match="is missing, damaged or of another model"):
        Index.open(output)
