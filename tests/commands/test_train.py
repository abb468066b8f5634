from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sentence_transformers import SentenceTransformer

import clusterns
from clusterns.commands.plan import Plan, _describe_truncation, scored_pairs, suggest_documents
from clusterns.commands.train import TrainRequest, train
from clusterns.data.settings import CorpusSettings
from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.training.build import training_rows
from clusterns.training.recipe import load_recipe, recipe_names

SMALL = {"batch_size": 16, "clusters": 4, "max_steps": 2, "eval_steps": 2}


def plan(corpus: Any, output: Path | None = None, **options: Any) -> Plan:
    return TrainRequest(corpus=corpus, output=output, **options).plan()


@pytest.fixture(autouse=True)
def _empty_cache(cache: Path) -> None:
    """No test finds what another one has read."""


def test_a_call_trains_as_the_command_does(
    corpus: Path, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert clusterns.train is train
    run = train(
        corpus, tmp_path / "run", base=tiny_bert, method="simcse", seed=3,
        settings={k: v for k, v in SMALL.items() if k != "clusters"}, quiet=True,
    )  # fmt: skip
    said = capsys.readouterr().err  # the libraries' own words are left to the caller
    assert not any(words in said for words in ("lines read", "step 0", "step 2"))
    assert (run.path, run.model) == (tmp_path / "run", tmp_path / "run" / "model")
    assert run.result.metric == "heldout_halves_mrr"
    assert SentenceTransformer(str(run.model)).encode("a river").shape == (32,)
    corpus.rename(tmp_path / "elsewhere.txt")
    assert train(None, tmp_path / "run", resume=True) == run
    assert "is finished" in capsys.readouterr().err
    with pytest.raises(UserError, match="--resume"):
        train(tmp_path / "elsewhere.txt", tmp_path / "run")


def test_whole_documents_are_held_out_and_a_resumed_run_reads_its_text_as_it_began(
    tmp_path: Path, tiny_bert: Path
) -> None:
    table, output = tmp_path / "a.csv", tmp_path / "run"
    rows = [f"{n // 4},word {n} in document {n // 4},other {n}" for n in range(200)]
    table.write_text("page,body,other\n" + "\n".join(rows))
    options = {"column": "body", "document": "page", "min_words": 1}
    begun = plan(table, output, base=tiny_bert, settings=SMALL, **options)
    training, heldout, facts = begun.text()
    assert training_rows(load_recipe("default"), training).column_names == ["text"]
    pages = [{text.split()[-1] for text in texts["text"]} for texts in (training, heldout)]
    assert not pages[0] & pages[1]
    assert (len(training), len(heldout), len(pages[1])) == (180, 20, 5)

    assert begun.folder is not None
    begun.folder.create(begun.recipe, facts)
    recipe = begun.folder.recipe_file
    written = yaml.safe_load(recipe.read_text())
    older = {key: value for key, value in written.items() if key not in CorpusSettings.model_fields}
    reading = {"sources": [str(table)], **CorpusSettings().model_dump(), **options}
    for values in (written, older):
        recipe.write_text(yaml.safe_dump(values))
        resumed = plan((), output, resume=True)
        assert resumed.reading == facts["reading"] == reading
        begun.folder.check_same(resumed.recipe, facts["fingerprint"])
        other = plan((), output, resume=True, column="other")
        with pytest.raises(UserError, match="column = 'other' differs"):
            begun.folder.check_same(other.recipe, facts["fingerprint"])


def test_the_example_in_the_documentation_runs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", train.__doc__ or "", re.DOTALL)
    assert "200" in example
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example.replace("200", "1"), names)
    assert names["run"].result.steps == 1
    assert names["model"].encode("a river").ndim == 1


def test_the_defaults_need_neither_the_hub_nor_a_folder_of_their_name(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connected(*arguments: Any, **options: Any) -> None:
        raise AssertionError("the Hub was asked")

    for name in ("file_exists", "hf_hub_download", "HfApi"):
        monkeypatch.setattr(f"huggingface_hub.{name}", connected)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "minibert").mkdir()
    (tmp_path / "stsb").write_text("x")
    for dev, chosen in ((None, "none"), ("stsb", "stsb")):
        recipe = plan(corpus, tmp_path / "run", dev=dev).recipe
        assert (recipe.base, recipe.dev) == ("minibert", chosen)
    assert scored_pairs("none") is None


def test_where_no_base_is_named_a_larger_one_is_and_its_cost(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for base, said in ((None, True), ("minibert", False)):
        plan(corpus, base=base, settings={**SMALL, "batch_size": 4}).estimate()
        err = capsys.readouterr().err
        assert ("--base google-bert/bert-base-uncased, a download of 440 MB" in err) is said


def test_published_recipes_are_validated_on_stsb_and_say_so_where_it_is_missing(
    corpus: Path, tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = [
        name for name in recipe_names() if name not in ("default", "minibert", "cpu-small")
    ]
    assert len(published) > 10
    for name in published:
        assert plan(corpus, recipe=name, base="minibert").recipe.dev == "stsb", name
    found = scored_pairs("stsb")
    assert found is not None
    assert len(found.scores) == 1500
    monkeypatch.delenv("CLUSTERNS_DATA")
    with pytest.raises(UserError, match="STS-B dev.*CLUSTERNS_DATA.*--dev label-free"):
        train(corpus, tmp_path / "run", recipe="simcse-bert-base", base="minibert", quiet=True)
    assert not (tmp_path / "run").exists()


def test_what_a_bare_call_takes(corpus: Path) -> None:
    def taken(**settings: Any) -> tuple[str, float]:
        recipe = plan(corpus, settings=settings, document="paragraph").recipe
        return recipe.positives, recipe.learning_rate

    ours, papers = (load_recipe(name).learning_rate for name in ("minibert", "default"))
    assert papers < ours
    assert taken() == ("dropout", ours)
    assert taken(positives="document") == ("document", ours)
    for named in ({"method": "simcse"}, {"base": "minibert"}, {"template": "bert"}):
        assert taken(**named) == ("dropout", papers)


# Two topics; the first and the second sentence of a document have no word in common.
TOPICS = [("river town", "music cell"), ("planet engine", "king harbour")]


def test_neighbors_in_a_document_become_similar(tmp_path: Path, tiny_bert: Path) -> None:
    generator = random.Random(0)

    def sentence(words: str) -> str:
        return " ".join(generator.choices(words.split(), k=8))

    pages = [(sentence(one), sentence(other)) for one, other in TOPICS * 200]
    text = tmp_path / "pages.txt"
    text.write_text("\n\n".join("\n".join(page) for page in pages))
    settings = {
        "method": "simcse", "positives": "document", "dropout": 0, "pooling": "mean", "batch_size": 8,
        "learning_rate": 3e-3, "max_steps": 60, "eval_steps": 60, "crop_min": 0.8, "temperature": 0.2,
    }  # fmt: skip
    run = train(
        text, tmp_path / "run", base=tiny_bert, settings=settings, document="paragraph", quiet=True
    )

    def nearer(model: SentenceTransformer) -> float:
        """How much nearer the first sentences are to the second ones of their topic than to others."""
        ones, others = (
            model.encode(
                [sentence(topic[place]) for topic in TOPICS * 20], normalize_embeddings=True
            )
            for place in (0, 1)
        )
        similar = ones @ others.T
        same = np.equal.outer(np.arange(40) % 2, np.arange(40) % 2)
        return float(similar[same].mean() - similar[~same].mean())

    last = sorted((run.path / "checkpoints").iterdir())[-1]
    trained = SentenceTransformer(str(last))
    assert nearer(trained) > nearer(load_base(str(tiny_bert), "mean")) + 0.2


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (None, "positives = document pairs .* set positives=crop"),
        ("line", "positives = document pairs .* Set positives=crop"),
        ("paragraph", "13 pairs for training, fewer than batch_size = 16"),
    ],
)
def test_positives_of_documents_need_documents_and_fill_a_batch(
    document: str | None, message: str, tmp_path: Path, tiny_bert: Path
) -> None:
    text = tmp_path / "pages.txt"
    pages = [
        f"river town king song law {i}\nmusic cell planet engine winter {i}" for i in range(14)
    ]
    text.write_text("\n\n".join(pages))
    settings = {**SMALL, "positives": "document"}
    with pytest.raises(UserError, match=message):
        train(text, tmp_path / "run", base=tiny_bert, settings=settings, document=document)
    assert not (tmp_path / "run").exists()


def test_pairs_with_columns_are_found_again_from_anywhere(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pairs.tsv").write_text("4\tA cat.\tA dog.\n1\tA cat.\tA law.\n")
    monkeypatch.chdir(tmp_path)
    dev = plan(corpus, dev="pairs.tsv:2,3,1").recipe.dev
    assert dev == f"{tmp_path.resolve() / 'pairs.tsv'}:2,3,1"
    pairs = scored_pairs(dev)
    assert pairs is not None
    assert pairs.scores.tolist() == [4, 1]
    with pytest.raises(UserError, match="no column 7"):
        plan(corpus, dev="pairs.tsv:2,3,7")


def test_a_judge_and_word_vectors_are_found_again_from_anywhere(
    tmp_path: Path, tiny_bert: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own").mkdir()
    found = plan(corpus, base=tiny_bert, method="dclr", settings={"judge": "own"})
    assert found.recipe.guide == str(tmp_path / "own")  # type: ignore[attr-defined]
    found = plan(corpus, base=tiny_bert, method="dclr")
    assert found.recipe.guide == ""  # type: ignore[attr-defined]
    (tmp_path / "vectors.txt").write_text("a 1 2")
    named = {"word_vectors": "vectors.txt"}
    found = plan(corpus, base=tiny_bert, method="glove", settings=named)
    assert found.recipe.word_vectors == str(tmp_path / "vectors.txt")  # type: ignore[attr-defined]


def test_without_a_folder_a_plan_cannot_run(corpus: Path) -> None:
    with pytest.raises(UserError, match="--output"):
        plan(corpus).run()


@pytest.mark.parametrize(
    ("settings", "suggested"),
    [
        ({"method": "simcse"}, True),
        ({"method": "clusterns"}, True),
        ({"method": "simcse", "positives": "document"}, False),  # it does already
        ({"method": "dclr"}, False),  # these refuse it
        ({"method": "sncse"}, False),
        ({"method": "whitening"}, False),
    ],
)
def test_pairs_of_neighbors_are_suggested_to_methods_that_take_them(
    settings: dict[str, str], suggested: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    suggest_documents(load_recipe("default", settings))
    assert ("positives=document" in capsys.readouterr().err) is suggested


def test_the_tokens_of_a_prompt_count_as_truncated(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = load_base(str(tiny_bert), "mean")
    base.save_pretrained(str(tmp_path / "plain"))
    base.prompts, base.default_prompt_name = {"general": "a b c d "}, "general"
    base.save_pretrained(str(tmp_path / "prompted"))
    for name, said in (("plain", "0.0%"), ("prompted", "50.0%")):
        recipe = load_recipe("default", {"base": str(tmp_path / name), "max_length": 8})
        _describe_truncation(recipe, ["a town", "a town by the river"])
        assert f"{said} of the sentences are longer than" in capsys.readouterr().err
