"""``train`` and ``adapt``, as functions and on the command line: what a plan checks, says and writes."""

from __future__ import annotations

import json
import random
import re
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from sentence_transformers import SentenceTransformer

import clusterns
from clusterns.adaptation.scores import summarize
from clusterns.commands.plan import Plan, _describe_base, scored_pairs, suggest_documents
from clusterns.commands.train import TrainRequest, train
from clusterns.data.settings import CorpusSettings
from clusterns.encoder.load import load_base
from clusterns.errors import UserError
from clusterns.training.build import build, training_rows
from clusterns.training.recipe import load_recipe, recipe_names
from tests.helpers.commands import run_cli
from tests.helpers.texts import sentences

SMALL = {"batch_size": 16, "clusters": 4, "max_steps": 2, "eval_steps": 2}
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def corpus(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    lines = sentences(200)
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join([*lines, "", "x", lines[0], "12 34 56"]))
    return path


def plan(corpus: Any, output: Path | None = None, **options: Any) -> Plan:
    return TrainRequest(corpus=corpus, output=output, **options).plan()


def small(base: Path, **changes: Any) -> list[str]:
    values = {**SMALL, "start_step": 2, "max_steps": 4, **changes}
    pairs = [part for key, value in values.items() for part in ("--set", f"{key}={value}")]
    return ["--base", str(base), *pairs]


def test_text_in_a_model_out(
    corpus: Path, tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / ("a_folder_with_a_very_long_name_" * 4)
    monkeypatch.setattr("clusterns.console.stdout.width", 40)  # a narrow terminal
    code, out, err = run_cli("train", corpus, "--output", run, *small(tiny_bert))
    assert code == 0, err
    for said in (
        "204 lines read: 200 kept", "1 exact duplicates", "Learning from 180 of 180 sentences; 20 are held out",
        "longer than max_length = 32", "step 0: heldout_halves_mrr", "step 2: clustering starts, 4 centroids",
        "step 4: heldout_halves_mrr",
    ):  # fmt: skip
        assert said in err
    assert "before" in out
    assert f'  SentenceTransformer("{run / "model"}")' in out.splitlines()
    assert "\r" not in err  # no bar where there is no terminal
    assert "%|" not in err
    assert SentenceTransformer(str(run / "model")).encode("a river").shape == (32,)
    record = json.loads((run / "run.json").read_text())
    assert record["corpus"]["counts"]["kept"] == 200
    assert record["corpus"]["heldout"] == 20

    corpus.rename(tmp_path / "elsewhere.txt")
    finished = train(None, run, resume=True)
    assert (finished.path, finished.model) == (run, run / "model")
    assert finished.result.metric == "heldout_halves_mrr"
    with pytest.raises(UserError, match="--resume"):
        train(tmp_path / "elsewhere.txt", run)
    monkeypatch.chdir(run)
    code, out, err = run_cli("train", "--output", ".", "--resume", "--quiet", "--no-report")
    assert (code, err) == (0, "")
    assert "The model is in model:" in out.splitlines()


def test_a_dry_run_estimates_and_writes_nothing(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    encoder = tmp_path / "encoder"
    load_base(str(tiny_bert)).save_pretrained(str(encoder))
    for base, warned in ((encoder, True), (tiny_bert, False)):
        code, out, err = run_cli("train", corpus, "--dry-run", *small(base))
        assert code == 0, err
        assert "4 steps at" in out
        assert "GiB of memory" in out
        assert ("is known to make a good one worse" in err) is warned
        assert ("clusterns adapt" in err) is warned
    arguments = ["adapt", corpus, "--dry-run", "--base", encoder, "--set", "max_sentences=60"]
    code, out, err = run_cli(*arguments)
    assert code == 0, err
    assert "Learning from 60 of 160 sentences; 40 are held out" in err
    assert "Encoding 100 sentences takes about" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "corpus.txt", "encoder"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.txt", "", "no usable sentence"),
        ("few.txt", "one two three four five six\n" * 3, "batch_size"),
        ("rows.jsonl", '{"text": "a b c d"}\n{"text": \n', "line 2"),
        ("broken/config.json", "{", "broken"),
    ],
)
def test_a_bad_corpus_or_base_is_one_sentence_and_exit_code_2(
    name: str, content: str, message: str, corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(content)
    text, base = (corpus, file.parent) if file.name == "config.json" else (file, tiny_bert)
    code, _, err = run_cli("train", text, "--output", tmp_path / "run", *small(base))
    assert (code, message in err, "Traceback" in err) == (2, True, False)
    assert not (tmp_path / "run").exists()


def test_a_full_disk_is_one_sentence_and_the_run_can_resume(
    corpus: Path, tiny_bert: Path, tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    arguments = ["train", corpus, "--output", tmp_path / "run", *small(tiny_bert)]
    try:
        # No file may grow beyond 200 kB: the first checkpoint fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, hard))
        code, _, err = run_cli(*arguments)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (code, "cannot write" in err, "Traceback" in err) == (2, True, False)
    code, _, err = run_cli(*arguments, "--resume")
    assert code == 0, err
    assert (tmp_path / "run" / "model").is_dir()


def test_titles_of_a_csv_are_adapted_to(corpus: Path, tiny_bert: Path, tmp_path: Path) -> None:
    encoder, output = tmp_path / "encoder", tmp_path / "run"
    load_base(str(tiny_bert)).save_pretrained(str(encoder))
    titles = tmp_path / "titles.csv"
    kinds = ["price of a house", "song of the singer", "orbit of a planet", "goal of our team"]
    texts = [f"{kind} number {n}" for n in range(40) for kind in kinds]
    titles.write_text("id,title\n" + "".join(f"{n},{text}\n" for n, text in enumerate(texts)))
    arguments = ["adapt", titles, "--base", encoder, "--output", output]
    for more, message in (
        (["--column", "name"], "name"),
        (["--column", "title", "--for", "search"], "--document"),
        (["--column", "title", "--general", "nowhere"], "--general nowhere"),
    ):
        code, _, err = run_cli(*arguments, *more)
        assert (code, message in err) == (2, True)
        assert not output.exists()
    code, out, err = run_cli(*arguments, "--column", "title", "--min-agreement-general", "0.5")
    assert code == 0, err
    assert "agreement, general text" in err
    report = (output / "report.html").read_text()
    assert "common neighbors" in report
    assert "learning_rate" not in report, "a setting that nothing reads"
    assert "<- chosen" in err
    facts = json.loads((output / "results.json").read_text())["facts"]
    assert facts["purpose"] == "topics"
    assert summarize(facts) in out
    assert SentenceTransformer(str(output / "model")).encode(["a title"]).shape == (1, 32)
    code, out, err = run_cli("adapt", "--output", output, "--resume", "--no-report")
    assert code == 0, err
    assert "is finished" in err
    assert summarize(facts) in out


def test_the_example_in_the_documentation_runs(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert clusterns.train is train
    (example,) = re.findall(r"```python\n(.*?)```", train.__doc__ or "", re.DOTALL)
    assert "200" in example
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example.replace("200", "1"), names)
    assert names["run"].result.steps == 1
    assert names["model"].encode("a river").ndim == 1


def test_whole_documents_are_held_out_and_a_resumed_run_reads_its_text_as_it_began(
    tmp_path: Path, tiny_bert: Path, cache: Path
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


def test_the_defaults_need_neither_the_hub_nor_a_folder_of_their_name(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
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
    for base, said in ((None, True), ("minibert", False)):
        found = plan(corpus, base=base)
        _describe_base(found.recipe, found.no_base)
        assert (
            "--base google-bert/bert-base-uncased, a 440 MB download" in capsys.readouterr().err
        ) is said


def test_published_recipes_are_validated_on_stsb_and_say_so_where_it_is_missing(
    corpus: Path, tmp_path: Path, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = set(recipe_names()) - {"default", "minibert", "cpu-small"}
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
    recipe = plan(corpus, method="simcse", seed=7).recipe
    assert (recipe.method, recipe.seed) == ("simcse", 7)
    with pytest.raises(UserError, match="--output"):
        plan(corpus).run()


# Two topics; the first and the second sentence of a document have no word in common.
TOPICS = [("river town", "music cell"), ("planet engine", "king harbour")]


def test_neighbors_in_a_document_become_similar(
    tmp_path: Path, tiny_bert: Path, cache: Path
) -> None:
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
    options: dict[str, Any] = {"document": "paragraph", "quiet": True}
    run = train(text, tmp_path / "run", base=tiny_bert, settings=settings, **options)

    def nearer(model: SentenceTransformer) -> float:
        """How much nearer the first sentences are to the second ones of their topic than to others."""
        ones, others = (
            model.encode([sentence(pair[i]) for pair in TOPICS * 20], normalize_embeddings=True)
            for i in (0, 1)
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
    document: str | None, message: str, tmp_path: Path, tiny_bert: Path, cache: Path
) -> None:
    text = tmp_path / "pages.txt"
    lines = "river town king song law {0}\nmusic cell planet engine winter {0}"
    text.write_text("\n\n".join(lines.format(page) for page in range(14)))
    settings = {**SMALL, "positives": "document"}
    with pytest.raises(UserError, match=message):
        train(text, tmp_path / "run", base=tiny_bert, settings=settings, document=document)
    assert not (tmp_path / "run").exists()


def test_files_that_settings_name_are_found_again_from_anywhere(
    tmp_path: Path, tiny_bert: Path, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("4\tA cat.\tA dog.\n1\tA cat.\tA law.\n")
    dev = plan(corpus, dev="pairs.tsv:2,3,1").recipe.dev
    assert dev == f"{pairs.resolve()}:2,3,1"
    found = scored_pairs(dev)
    assert found is not None
    assert found.scores.tolist() == [4, 1]
    with pytest.raises(UserError, match="no column 7"):
        plan(corpus, dev="pairs.tsv:2,3,7")
    pairs.write_text("4\tA cat.\tA dog.\nmuch\tA cat.\tA law.\n")
    with pytest.raises(UserError, match="line 2"):
        scored_pairs(dev)
    (tmp_path / "own").mkdir()
    (tmp_path / "vectors.txt").write_text("a 1 2")
    for method, settings, key, value in (
        ("dclr", {"judge": "own"}, "guide", str(tmp_path / "own")),
        ("dclr", {}, "guide", ""),
        ("glove", {"word_vectors": "vectors.txt"}, "word_vectors", str(tmp_path / "vectors.txt")),
    ):
        recipe = plan(corpus, base=tiny_bert, method=method, settings=settings).recipe
        assert getattr(recipe, key) == value


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
    settings: dict[str, str], suggested: bool, capsys: Capture
) -> None:
    suggest_documents(load_recipe("default", settings))
    assert ("positives=document" in capsys.readouterr().err) is suggested


def test_the_tokens_of_a_prompt_count_as_truncated(
    tiny_bert: Path, tmp_path: Path, capsys: Capture
) -> None:
    from datasets import Dataset

    base = load_base(str(tiny_bert), "mean")
    base.save_pretrained(str(tmp_path / "plain"))
    base.prompts, base.default_prompt_name = {"general": "a b c d "}, "general"
    base.save_pretrained(str(tmp_path / "prompted"))
    rows = Dataset.from_dict({"text": ["a town", "a town by the river"]})
    for name, said in (("plain", "0.0%"), ("prompted", "50.0%")):
        values = {"base": str(tmp_path / name), "max_length": 8, "batch_size": 2, "clusters": 2}
        build(load_recipe("default", values), rows)
        assert f"{said} of the sentences are longer than" in capsys.readouterr().err
