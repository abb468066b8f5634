from __future__ import annotations

import sys
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from clusterns import encode
from clusterns.encoder.load import load_model
from tests.helpers.commands import run_cli

TEXTS = [
    "the red houses",
    "a river in the town",
    "我在书店买书",
    "music and song",
    "one of the ships",
]


@pytest.fixture
def vectors(tiny_bert: Path, tmp_path: Path) -> Path:
    rows = "".join(f"{text}\t{number}\n" for number, text in enumerate(TEXTS))
    (tmp_path / "a.tsv").write_text(f"text\tyear\n{rows}")
    encode(
        tiny_bert, tmp_path / "a.tsv", tmp_path / "v", pooling="mean", keep=("year",), quiet=True
    )
    return tmp_path / "v"


def test_the_table_is_searched_by_words_vectors_and_both(
    vectors: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    lancedb = pytest.importorskip("lancedb", reason="needs LanceDB: pip install 'clusterns[lance]'")
    code, out, err = run_cli("lance", vectors, tmp_path / "db")
    assert code == 0, err
    assert "Wrote 5 rows to the table texts" in err
    table = lancedb.connect(str(tmp_path / "db")).open_table("texts")
    model: SentenceTransformer = load_model(str(tiny_bert), "mean", device="cpu")

    def by_words(query: str) -> list[str]:
        return [hit["text"] for hit in table.search(query, query_type="fts").to_list()]

    assert by_words("house") == ["the red houses"]  # by its stem
    assert by_words("书店") == [TEXTS[2]]
    hits = table.search(model.encode_query(TEXTS[3])).metric("cosine").where("year = '3'").to_list()
    assert [(hit["text"], hit["year"], hit["line"]) for hit in hits] == [(TEXTS[3], "3", 4)]
    assert hits[0]["_distance"] == pytest.approx(0, abs=1e-5)
    names = {"model": model, "query": TEXTS[1]}
    exec(out, names)
    assert names["hits"][0]["text"] == TEXTS[1]  # type: ignore[index]

    code, _, err = run_cli("lance", vectors, tmp_path / "db")
    assert (code, "has this table already. Use --overwrite" in err) == (2, True)
    assert run_cli("lance", vectors, tmp_path / "db", "--overwrite", "--language", "none")[0] == 0
    table = lancedb.connect(str(tmp_path / "db")).open_table("texts")
    assert by_words("house") == []


def test_what_is_refused(vectors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = run_cli("lance", tmp_path, tmp_path / "db")
    assert (code, "is not a folder that `clusterns encode` wrote" in err) == (2, True)
    monkeypatch.setitem(sys.modules, "lancedb", None)
    monkeypatch.setattr("clusterns.commands.lance.find_spec", lambda _: None)
    code, _, err = run_cli("lance", vectors, tmp_path / "db")
    assert (code, "pip install 'clusterns[lance]'" in err) == (2, True)
