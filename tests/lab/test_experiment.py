"""Experiment files: those of this package hold, and mistakes are named in a sentence."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from clusterns.errors import UserError
from clusterns.files import write_json
from clusterns.lab.experiment import BUDGETS, Experiment, experiment_names, load_experiment
from clusterns.lab.launchers import OnThisMachine
from clusterns.lab.outcomes import gather
from clusterns.lab.tables import scores_table
from clusterns.lab.trial import find_corpus, run_trials, trials_of

DIAGNOSTICS = {
    "positive_similarity", "negative_similarity", "hard_negative_similarity",
    "nearest_centroid_similarity", "between_centroids_similarity", "same_cluster_similarity",
    "false_negative_rate",
}  # fmt: skip
ROWS = {"A": {"settings": {"method": "simcse"}}, "B": {"settings": {"method": "clusterns"}}}


def own(folder: Path, **values: object) -> str:
    file = folder / "mine.yaml"
    file.write_text(
        yaml.safe_dump({"title": "Mine", "rows": ROWS, **values}, sort_keys=False), "utf-8"
    )
    return str(file)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    file = tmp_path / "corpus.txt"
    file.write_text("one text\n")
    return str(file)


@pytest.mark.parametrize("budget", BUDGETS)
@pytest.mark.parametrize("name", experiment_names())
def test_every_trial_of_the_package_has_valid_settings(name, budget, corpus, tmp_path):
    experiment = load_experiment(name)
    trials = trials_of(experiment, tmp_path, budget, corpus=corpus)
    assert {trial.line for trial in trials} == {label for label, _, _ in experiment.lines()}
    assert all(trial.seed > 0 for trial in trials)  # 0 is for a search


@pytest.mark.parametrize("name", experiment_names())
def test_the_curves_of_a_figure_are_logged_by_its_trials(name):
    """Loading an experiment checks all other values that it shows."""
    figures = load_experiment(name).figures.values()
    drawn = {value for figure in figures if figure.kind == "curves" for value in figure.values}
    assert drawn <= {*DIAGNOSTICS, "contrastive_loss", "eval_STS-B-dev_spearman"}
    if any(figure.kind == "geometry" for figure in figures):
        assert "geometry" in load_experiment(name).evaluate


@pytest.mark.parametrize("name", experiment_names())
def test_every_named_row_of_the_paper_exists_with_a_column(name):
    experiment = load_experiment(name)
    lines = gather(experiment, trials_of(experiment, Path(), "small", corpus="some/text"))
    table = scores_table(experiment, lines)  # refuses names that the paper has not
    papers = [trials for label, trials in table.rows if label.endswith("(paper)")]
    assert len(papers) == len({line.paper_row for line in lines} - {None})
    assert all(any(trials) for trials in papers)


def test_settings_of_a_file_win_over_those_of_the_budget():
    values = {
        "title": "Mine",
        "settings": {"max_steps": 7},
        "rows": {
            "A": {
                "settings": {"method": "simcse"},
                "small": {"heldout": 1, "learning_rate": "1e-3"},
                "paper": {"recipe": "simcse-bert-base"},
            }
        },
    }
    experiment = Experiment.model_validate(values)
    row = experiment.rows["A"]
    assert experiment.changes("small", row, {}) == {
        **BUDGETS["small"], "max_steps": 7, "method": "simcse", "heldout": 1, "learning_rate": 1e-3,
    }  # fmt: skip
    assert experiment.changes("paper", row, {}) == {
        "max_steps": 7, "method": "simcse", "recipe": "simcse-bert-base",
    }  # fmt: skip


def test_a_grid_runs_every_row_with_each_value(tmp_path, corpus):
    grid = {"temperature": [0.05, 0.1]}
    trials = trials_of(
        load_experiment(own(tmp_path, grid=grid, seeds=2)), tmp_path, "small", corpus=corpus
    )
    assert [(trial.line, trial.seed, trial.changes["temperature"]) for trial in trials[:4]] == [
        ("A, temperature 0.05", 1, 0.05),
        ("A, temperature 0.1", 1, 0.1),
        ("B, temperature 0.05", 1, 0.05),
        ("B, temperature 0.1", 1, 0.1),
    ]
    assert [trial.seed for trial in trials] == [1] * 4 + [2] * 4
    assert len({trial.folder for trial in trials}) == 8


def test_the_number_of_seeds_applies_to_stochastic_rows_only(tmp_path, corpus):
    rows = {**ROWS, "Fixed": {"settings": {"method": "average"}, "seeds": 1}}
    experiment = load_experiment(own(tmp_path, rows=rows))
    trials = trials_of(experiment, tmp_path, "small", corpus=corpus, seeds=4)
    assert sorted(trial.line for trial in trials) == ["A"] * 4 + ["B"] * 4 + ["Fixed"]


def test_experiments_share_equal_trials_and_no_others(tmp_path, corpus):
    def folders(**options):
        values = {key: options.pop(key) for key in ("rows", "small") if key in options}
        experiment = load_experiment(own(tmp_path, seeds=1, **values))
        trials = trials_of(experiment, tmp_path, "small", **{"corpus": corpus, **options})
        return [trial.folder.name for trial in trials]

    first = folders()
    renamed = {"Other": ROWS["A"], "B": ROWS["B"]}
    assert folders(rows=renamed) == first
    assert folders(small={"description": "says nothing"}) == first
    assert not set(folders(small={"max_steps": 3})) & set(first)
    assert not set(folders(base="some/base")) & set(first)
    longer = tmp_path / "longer.txt"
    longer.write_text("one text\nanother\n")
    assert not set(folders(corpus=str(longer))) & set(first)
    # Files count by their content: the text, a folder of text, and pairs to validate on.
    same_size, texts, pairs = (tmp_path / name for name in ("other.txt", "texts", "pairs.csv"))
    same_size.write_text("two text\n")
    assert not set(folders(corpus=str(same_size))) & set(first)
    same_size.write_text("one text\n")
    assert folders(corpus=str(same_size)) == first
    texts.mkdir()
    (texts / "one.txt").write_text("one text\n")
    in_folder = folders(corpus=str(texts))
    (texts / "two.txt").write_text("more\n")
    assert not set(folders(corpus=str(texts))) & set(in_folder)
    pairs.write_text("a,b,1\n")
    with_pairs = folders(small={"dev": str(pairs)})
    assert not set(with_pairs) & set(first)
    copy = texts / "pairs.csv"
    shutil.copy(pairs, copy)
    assert folders(small={"dev": str(copy)}) == with_pairs
    copy.write_text("a,b,1\nc,d,2\n")
    assert not set(folders(small={"dev": str(copy)})) & set(with_pairs)


def test_a_trial_is_done_once_it_has_every_requested_evaluation(tmp_path, corpus):
    experiment = load_experiment(own(tmp_path, seeds=1, evaluate=["clustering"], kmeans_seeds=10))
    trial, *_ = trials_of(experiment, tmp_path, "small", corpus=corpus)
    suites = {"clustering": {"settings": {"kmeans_seeds": 10}}, "sts": {"settings": {}}}
    write_json(trial.folder / "result.json", {"suites": suites})
    assert trial.is_done
    assert not replace(trial, kmeans_seeds=50).is_done
    assert replace(trial, kmeans_seeds=50, suites=("sts",)).is_done
    assert not replace(trial, suites=("clustering", "transfer")).is_done
    (trial.folder / "result.json").write_text("{")
    with pytest.raises(UserError, match="is broken: remove it"):
        _ = trial.is_done


def test_a_row_without_settings_is_the_default_recipe(tmp_path):
    assert load_experiment(own(tmp_path, rows={"A": None})).rows["A"].settings == {}


def test_numbers_of_a_grid_are_numbers(tmp_path):
    experiment = load_experiment(own(tmp_path, grid={"learning_rate": ["1e-4", 0.001]}))
    assert [point["learning_rate"] for _, _, point in experiment.lines()[:2]] == [0.0001, 0.001]
    with pytest.raises(UserError, match="has 0.0001 twice"):
        load_experiment(own(tmp_path, grid={"learning_rate": ["1e-4", 0.0001]}))


def test_weights_tell_bases_apart_not_their_names(tmp_path, corpus):
    experiment = load_experiment(own(tmp_path, seeds=1))
    names = []
    for place, weights in (("one", b"1"), ("two", b"2"), ("elsewhere/one", b"1")):
        folder = tmp_path / place
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(weights)
        trials = trials_of(experiment, tmp_path, "small", corpus=corpus, base=str(folder))
        names.append(trials[0].folder.name)
    assert names[0] == names[2] != names[1]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"rows": {}}, "an experiment needs rows"),
        ({"rows": None}, "rows = None"),
        ({"row": ROWS}, "there is no setting 'row'. Did you mean rows? docs/lab.md"),
        ({"rows": {"A": {"setting": {}}}}, "there is no setting 'rows.A.setting'"),
        ({"evaluate": ["stss"]}, "there is no suite 'stss'"),
        ({"evaluate": 3}, "evaluate = 3"),
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": [1, 1]}, "a list of different ones"),
        ({"compare": [["A", "C"]]}, "there is no row 'C'"),
        ({"table": {"suite": "sts", "columns": {"a": "dev"}}}, "either a suite or columns"),
        ({"figures": {"x": {"kind": "curves"}}}, "needs values"),
        ({"figures": {"x": {"kind": "pie", "values": ["dev"]}}}, "figures.x.kind = 'pie'"),
        ({"figures": {"../x": {"kind": "dots", "values": ["dev"]}}}, "a name is made of"),
        ({"figures": {"x": {"kind": "dots", "values": ["a", "b"]}}}, "has one value"),
        (
            {"figures": {"x": {"kind": "against", "values": ["a"], "setting": "sigma"}}},
            "figure x: sigma is not the setting of the grid",
        ),
        ({"grid": {"a": [1], "b": [2]}}, "one setting"),
        ({"grid": {"clusters": []}}, "grid: clusters has no values"),
        ({"seeds": "two"}, "name a number of seeds, or a list"),
        ({"settings": {"seed": 7}}, "a seed among settings: write `seeds`"),
        (
            {"compare": [["A", "B"]], "compare_by": "banana"},
            "compare_by: there is no value 'banana'",
        ),
        ({"table": {"columns": {"a": "devv"}}}, "table.columns.a: there is no value 'devv'"),
        (
            {"table": {"columns": {"a": "last/loss"}}},
            "table.columns.a: there is no value 'last/loss'",
        ),
        ({"table": {"columns": {"a": "transfer/MR"}}}, "transfer/MR needs transfer in evaluate"),
        ({"table": {"columns": {"a": "sts/STS11"}}}, "sts has no 'STS11': choose from STS12"),
        ({"table": {"suite": "transfer"}}, "the suite transfer is not in evaluate"),
        ({"figures": {"x": {"kind": "dots", "values": ["a"]}}}, "figures.x: there is no value 'a'"),
        ({"table": {"suite": "sts", "published": "nope"}}, "there is no table 'nope' of the paper"),
        (
            {"rows": {"A": {"paper_row": "NoSuch"}}},
            "rows.A.paper_row: the paper's table has no row 'NoSuch'",
        ),
    ],
)
def test_a_mistake_is_refused_in_one_sentence(values, says, tmp_path):
    with pytest.raises(UserError) as error:
        load_experiment(own(tmp_path, **values))
    assert says in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"method": "none"}, "row A: there is no method 'none'"),
        ({"method": "simcse", "clusters": 3}, "row A: recipe default: clusters belongs to"),
        ({"method": "clusterns", "clusters": 65}, "clusters = 65 is more than batch_size"),
        ({"recipe": "none"}, "row A: there is no recipe 'none'"),
    ],
)
def test_invalid_settings_are_refused_with_their_row(settings, says, tmp_path, corpus):
    experiment = load_experiment(own(tmp_path, rows={"A": {"settings": settings}}))
    with pytest.raises(UserError) as error:
        trials_of(experiment, tmp_path, "small", corpus=corpus)
    assert says in str(error.value)


def test_unknown_rows_cannot_be_chosen(tmp_path, corpus):
    experiment = load_experiment(own(tmp_path))
    trials = trials_of(experiment, tmp_path, "small", corpus=corpus, only=["B"])
    assert {trial.line for trial in trials} == {"B"}
    with pytest.raises(UserError, match="--row C: there is no such row; choose from A, B"):
        trials_of(experiment, tmp_path, "small", corpus=corpus, only=["C"])


def test_wikipedia_is_found_in_the_data_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CLUSTERNS_DATA", str(tmp_path))
    without = trials_of(load_experiment(own(tmp_path)), tmp_path, "small")
    assert {trial.corpus for trial in without} == {"wikipedia"}
    with pytest.raises(UserError, match="--corpus"):
        run_trials(without, OnThisMachine(), 1)
    assert not list(tmp_path.glob("cells/*"))  # nothing is handed out
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "enwiki_1m.txt.xz").write_text("")
    assert find_corpus("wikipedia") == str(tmp_path / "wiki" / "enwiki_1m.txt.xz")
    assert find_corpus("owner/name:config") == "owner/name:config"


def test_records_are_read_without_their_text(tmp_path, monkeypatch, shared_data):
    names = []
    for folder in (shared_data, tmp_path / "none"):
        monkeypatch.setenv("CLUSTERNS_DATA", str(folder))
        trials = trials_of(load_experiment(own(tmp_path)), tmp_path, "small")
        names.append([trial.folder.name for trial in trials])
    assert names[0] == names[1]


def test_a_missing_text_or_base_is_refused_before_any_trial(tmp_path, corpus):
    experiment = load_experiment(own(tmp_path, corpus="nothere.txt"))
    with pytest.raises(UserError, match="there is no file or folder nothere.txt"):
        run_trials(trials_of(experiment, tmp_path, "small"), OnThisMachine(), 1)
    trials = trials_of(experiment, tmp_path, "small", corpus=corpus, base="/no/where")
    with pytest.raises(UserError, match="base '/no/where' is not a folder"):
        run_trials(trials, OnThisMachine(), 1)
    assert not list(tmp_path.glob("cells/*"))


def test_the_text_may_lie_beside_the_file(tmp_path, corpus):
    assert load_experiment(own(tmp_path, corpus="corpus.txt")).corpus == corpus


def test_a_duplicate_row_is_refused(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("title: T\nrows:\n  A: {settings: {method: simcse}}\n  A: {}\n")
    with pytest.raises(UserError, match="is not YAML: A stands there twice"):
        load_experiment(str(file))
    file.write_text("title: T\nrows:\n  A: {settings: &a {x: *a}}\n")
    with pytest.raises(UserError, match="holds itself"):
        load_experiment(str(file))


def test_what_is_missing_is_named(tmp_path):
    file = tmp_path / "short.yaml"
    file.write_text("title: Mine\n")
    with pytest.raises(UserError, match="rows is missing. docs/lab.md explains the keys."):
        load_experiment(str(file))
