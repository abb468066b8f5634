from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

from clusterns import encode, search, similar, topics
from clusterns.encoder.load import load_model
from clusterns.errors import UserError
from tests.helpers.commands import Ran, run_cli

Run = Callable[..., Ran]
TEXTS = ["a river", "the [/old] town", "music and song", "a winter market"]


@pytest.fixture
def run(cache: Path) -> Run:
    return run_cli


@pytest.fixture
def finished(tiny_bert: Path, tmp_path: Path) -> Path:
    """A run folder, with the text that it was trained on."""
    folder = tmp_path / "run"
    load_model(str(tiny_bert), "mean", device="cpu").save(str(folder / "model"))
    corpus = tmp_path / "trained.txt"
    corpus.write_text("\n".join(TEXTS) + "\n")
    reading = {"sources": [str(corpus)]}
    (folder / "run.json").write_text(json.dumps({"corpus": {"reading": reading}}))
    (folder / "results.json").write_text("{}")
    return folder


def test_the_text_of_a_run_is_embedded_once_and_kept(run: Run, finished: Path) -> None:
    code, out, err = run("search", finished, "music and song", "--top", 2)
    assert code == 0, err
    assert "Embedding 4 sentences" in err
    first = [line for line in out.splitlines() if "1.000" in line]
    assert len(first) == 1
    assert "music and song" in first[0]
    assert (finished / "index" / "manifest.json").is_file()
    code, out, err = run("search", finished, "the [/old] town", "--top", 1)
    assert (code, err) == (0, "")
    assert "the [/old] town" in out


def test_json_for_programs(run: Run, finished: Path) -> None:
    code, out, _ = run("search", finished, "a river", "--top", 2, "--json", "--quiet")
    assert code == 0
    best, second = json.loads(out)
    place = {"source": str(finished.parent / "trained.txt"), "line": 1, "heading": None}
    assert best == {"score": 1, "row": 0, "text": "a river", "name": None, "also": [],
                    "cosine": pytest.approx(1, abs=1e-5), "words": ["river"], "columns": {},
                    "before": [], "after": [], **place}  # fmt: skip
    assert second["score"] <= best["score"]


def test_of_an_edited_text_only_what_is_new_is_encoded(
    tiny_bert: Path, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    plain = SentenceTransformer.encode_document

    def encode(self: Any, inputs: list[str], **options: Any) -> Any:
        seen.extend(inputs)
        return plain(self, inputs, **options)

    monkeypatch.setattr(SentenceTransformer, "encode_document", encode)
    for texts in (TEXTS, [*TEXTS[1:], "a new line"]):
        (tmp_path / "a.txt").write_text("\n".join(texts))
        hits = search(tiny_bert, "a new line", tmp_path / "a.txt", pooling="mean", quiet=True)
        assert len(hits) == 4
    assert sorted(seen) == sorted([*TEXTS, "a new line"])


def test_by_words_and_by_vectors(run: Run, finished: Path) -> None:
    code, out, err = run("search", finished, "songs", "--by", "words", "--language", "english")
    assert code == 0, err
    assert "music and song" in out
    assert "river" not in out
    code, out, err = run("search", finished, "songs", "--by", "vectors", "--json")
    assert len(json.loads(out)) == 4
    code, _, err = run("search", finished, "songs", "--language", "klingon")
    assert code == 2
    assert "--language klingon: unknown language" in err


def test_a_folder_of_vectors_opens_the_model_as_it_was(
    run: Run, tiny_bert: Path, tmp_path: Path
) -> None:
    rows = "".join(f"{json.dumps({'key': f'k{i}', 'text': t})}\n" for i, t in enumerate(TEXTS))
    (tmp_path / "a.jsonl").write_text(rows)
    vectors = tmp_path / "vectors"
    code, _, err = run("encode", tiny_bert, tmp_path / "a.jsonl", "--pooling", "cls", "--id-column",
                       "key", "--output", vectors, "--precision", "int8", "--truncate-dim", 16)  # fmt: skip
    assert code == 0, err
    code, out, err = run("search", tiny_bert, "a river", vectors, "--json")
    assert code == 0, err
    assert {hit["name"] for hit in json.loads(out)} == {"k0", "k1", "k2", "k3"}
    code, _, err = run("search", tiny_bert, "a river", vectors, "--pooling", "mean")
    assert code == 2
    assert "are of another model" in err


def test_a_file_of_text_is_kept_in_the_cache(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    arguments = ["search", tiny_bert, "a river", tmp_path / "a.txt", "--pooling", "mean", "--json"]
    code, out, err = run(*arguments)
    assert code == 0, err
    assert json.loads(out)[0]["text"] == "a river"
    assert "Embedding 4 sentences with" in err
    code, again, err = run(*arguments)
    assert (code, again) == (0, out)
    assert "Embedding" not in err
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["vectors"]


def test_all_commands_share_the_embeddings_of_a_text(
    run: Run, tiny_bert: Path, tmp_path: Path, cache: Path
) -> None:
    rows = [{"x": text, "y": f"id {n}"} for n, text in enumerate([*TEXTS, TEXTS[0]])]
    (tmp_path / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    (tmp_path / "b.txt").write_text("\n".join(TEXTS))
    options: dict[str, Any] = {"pooling": "mean", "quiet": True}
    hit, *_ = search(
        tiny_bert, "a river", tmp_path / "a.jsonl", column="x", id_column="y", **options
    )
    assert (hit.name, hit.also) == ("id 0", ("id 4",))
    # These two once fell into one folder, which refused the second.
    hit, *_ = search(tiny_bert, "id 1", tmp_path / "a.jsonl", column="y", **options)
    assert (hit.text, hit.name) == ("id 1", None)
    hit, *_ = search(tiny_bert, "id 1", tmp_path / "a.jsonl", column="y", id_column="y", **options)
    assert (hit.text, hit.name) == ("id 1", "id 1")
    similar(tiny_bert, tmp_path / "a.jsonl", column="x", **options)
    topics(tiny_bert, tmp_path / "b.txt", k=2, **options)
    assert len([*(cache / "vectors").glob("[!.]*")]) == 2  # of the texts and of their ids


def test_paragraphs_are_split_into_sentences(tiny_bert: Path, tmp_path: Path, cache: Path) -> None:
    (tmp_path / "a.txt").write_text("A river. The town sleeps! Music and song.\n\nA last one.\n")
    hits = search(
        tiny_bert, "The town sleeps!", tmp_path / "a.txt", pooling="mean", unit="sentence"
    )
    assert (hits[0].text, hits[0].row) == ("The town sleeps!", 0)
    assert len(hits) == 4


def test_results_say_where_they_are_from(
    run: Run, tiny_bert: Path, tmp_path: Path, cache: Path
) -> None:
    rows = [
        f"{text},{year},note {year}"
        for text, year in zip(TEXTS, (1999, 2001, 1999, 2003), strict=True)
    ]
    (tmp_path / "a.csv").write_text("text,year,note\n" + "\n".join(rows) + "\n")
    options: dict[str, Any] = {"pooling": "mean", "quiet": True, "keep": ["note"]}
    hit, *_ = search(tiny_bert, "song", tmp_path / "a.csv", context=1, **options)
    assert (hit.text, hit.source, hit.line) == (TEXTS[2], str(tmp_path / "a.csv"), 3)
    assert (hit.columns, hit.before, hit.after) == (
        {"note": "note 1999"}, (TEXTS[1],), (TEXTS[3],),
    )  # fmt: skip
    hits = search(tiny_bert, "town", tmp_path / "a.csv", where={"year": "1999"}, **options)
    assert {hit.text for hit in hits} == {TEXTS[0], TEXTS[2]}
    arguments = ["search", tiny_bert, "a town", tmp_path / "a.csv", "--pooling", "mean"]
    for condition in ("year=1999", "year=2003", f"source={tmp_path / 'a.csv'}"):
        arguments += ["--where", condition]
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "a.csv row 3" in out
    assert "year: 2003" in out
    assert TEXTS[1] not in out


def test_kept_columns_of_encoded_text(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("text,year\na river,1999\na town,2001\na river,2001\n")
    encode(
        tiny_bert, tmp_path / "a.csv", tmp_path / "v", pooling="mean", keep=("year",), quiet=True
    )
    hits = search(tiny_bert, "river", tmp_path / "v", where={"year": "2001"}, quiet=True)
    assert [(hit.text, hit.line, hit.columns) for hit in hits] == [
        ("a river", 3, {"year": "2001"}), ("a town", 2, {"year": "2001"}),
    ]  # fmt: skip
    with pytest.raises(
        UserError, match="--where month: no such column. The columns are year, source"
    ):
        search(tiny_bert, "river", tmp_path / "v", where={"month": "5"}, quiet=True)


def test_many_queries_are_answered_as_json_lines(run: Run, tiny_bert: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    (tmp_path / "q.txt").write_text("river\n\nxyz\n")
    code, out, err = run("search", tiny_bert, tmp_path / "a.txt", "--queries", tmp_path / "q.txt",
                         "--pooling", "mean", "--by", "words")  # fmt: skip
    assert code == 0, err
    first, second = map(json.loads, out.splitlines())
    assert (first["query"], [hit["text"] for hit in first["hits"]]) == ("river", ["a river"])
    assert second == {"query": "xyz", "hits": []}


def test_passages_of_wrapped_text_with_their_headings(
    run: Run, tiny_bert: Path, tmp_path: Path
) -> None:
    line = "The river runs through the old town, where many people work and live all year.\n"
    (tmp_path / "a.md").write_text(f"# Rivers\n\n{line * 3}\n## Songs\n\n{line.upper()}")
    code, out, err = run("search", tiny_bert, "songs", tmp_path / "a.md", "--pooling", "mean")
    assert code == 0, err
    assert "a.md:7" in out
    assert "# Songs" in out


@pytest.mark.parametrize("function", [similar, topics])
def test_the_corpus_of_a_run_needs_no_name(function: Any, finished: Path, cache: Path) -> None:
    assert function(finished, quiet=True).rows.distinct == TEXTS


def test_the_query_gets_its_own_prompt(tiny_bert: Path, tmp_path: Path, cache: Path) -> None:
    model = load_model(str(tiny_bert), "mean", device="cpu")
    model.prompts = {"query": "the planet is a cell ", "document": ""}
    model.save(str(tmp_path / "asymmetric"))
    (tmp_path / "a.txt").write_text("\n".join(TEXTS))
    hit, *_ = search(tmp_path / "asymmetric", "a", tmp_path / "a.txt", top=4, quiet=True)
    vector, text = model.encode(
        ["the planet is a cell a", str(hit.text)], normalize_embeddings=True
    )
    assert hit.cosine == pytest.approx(float(vector @ text), abs=1e-5)


def test_text_that_is_assigned_gets_the_prompt_of_the_corpus(
    tiny_bert: Path, tmp_path: Path, cache: Path
) -> None:
    model = load_model(str(tiny_bert), "mean", device="cpu")
    model.prompts = {"query": "", "document": "the planet is a cell "}
    model.save(str(tmp_path / "asymmetric"))
    corpus, new = tmp_path / "a.csv", tmp_path / "b.txt"
    corpus.write_text("\n".join(["number,body", *(f"1,{text}" for text in TEXTS)]))
    new.write_text("\n".join(TEXTS))  # which has no column
    options: dict[str, Any] = {"column": "body", "k": 2, "quiet": True}
    found = topics(tmp_path / "asymmetric", corpus, **options)
    again = topics(tmp_path / "asymmetric", corpus, assign=new, **options)
    assert again.cosines.tolist() == pytest.approx(found.cosines.tolist(), abs=1e-5)
