"""Experiment files: those of this package hold, and mistakes are named in a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from clusterns.errors import UserError
from clusterns.files import write_json
from clusterns.lab.experiment import BUDGETS, TUNED, Experiment, experiment_names, load_experiment
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
def test_the_experiments_of_the_package_are_whole(name, budget, corpus, tmp_path):
    """Their settings are valid, what they draw is logged, and the paper has their rows. Loading checks the rest."""
    experiment = load_experiment(name).with_budget(budget)
    trials = trials_of(experiment, tmp_path, budget, corpus=corpus)
    assert {trial.line for trial in trials} == {label for label, _, _ in experiment.lines()}
    assert all(trial.seed > 0 for trial in trials)  # 0 is for a search
    figures = experiment.figures.values()
    drawn = {value for figure in figures if figure.kind == "curves" for value in figure.values}
    assert drawn <= {*DIAGNOSTICS, "contrastive_loss", "eval_STS-B-dev_spearman"}
    if any(figure.kind == "geometry" for figure in figures):
        assert "geometry" in experiment.evaluate
    lines = gather(experiment, trials)
    table = scores_table(experiment, lines)  # refuses names that the paper has not
    papers = [values for label, values in table.rows if label.endswith("(paper)")]
    assert len(papers) == len({line.paper_row for line in lines} - {None})
    assert all(any(values) for values in papers)


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
    assert experiment.changes("small", "A", {}) == {
        **BUDGETS["small"], "max_steps": 7, "method": "simcse", "heldout": 1, "learning_rate": 1e-3,
    }  # fmt: skip
    assert experiment.changes("paper", "A", {}) == {
        "max_steps": 7, "method": "simcse", "recipe": "simcse-bert-base",
    }  # fmt: skip


def test_the_raw_budget_has_the_settings_seeds_and_levels_of_the_design(tmp_path, corpus):
    described = {
        "sigma": 18, "batch-size": 24, "clusters": 15, "initialisation": 6, "geometry": 14, "ami": 7,
        "short-text": 7, "transfer": 14, "case-study": 2,
    }  # fmt: skip
    for name, count in described.items():
        experiment = load_experiment(name).with_budget("raw")
        trials = trials_of(experiment, tmp_path, "raw", corpus=corpus)
        assert len(trials) == count, name
        for trial in trials:
            if trial.changes["method"] in ("simcse", "clusterns"):
                assert trial.changes.items() >= (BUDGETS["raw"] | TUNED["all"]).items() - {
                    ("batch_size", 64)
                }
                assert trial.seed in ((401,) if name == "case-study" else (401, 402, 403))
            if trial.changes["method"] == "clusterns":
                assert trial.changes.items() >= TUNED["clusterns"].items()
    experiment = load_experiment("sigma").with_budget("raw")
    assert [point["sigma"] for _, _, point in experiment.lines()[:3]] == [0.2, 0.3, 0.4]
    assert [row for row, *_ in load_experiment("sigma").with_budget("paper").lines()[:3]] == [
        "ClusterNS, sigma 0.2", "ClusterNS, sigma 0.4", "ClusterNS, sigma 0.6",
    ]  # fmt: skip
    papers = [experiment.paper_row(row, point) for _, row, point in experiment.lines()[:3]]
    assert papers == ["ClusterNS, sigma 0.2", None, "ClusterNS, sigma 0.4"]
    # The replication and DistilBERT have settings of their own; small has none of these.
    rows = [load_experiment(name) for name in ("replication", "second-encoder", "sigma")]
    first, second, third = (one.changes("raw", "ClusterNS", {}) for one in rows)
    assert "momentum" not in first
    assert second["learning_rate"] == 1e-4
    assert second["momentum"] == third["momentum"] == TUNED["clusterns"]["momentum"]
    assert "momentum" not in rows[2].changes("small", "ClusterNS", {})


def test_a_grid_runs_every_row_with_each_value(tmp_path, corpus):
    file = own(tmp_path, grid={"temperature": [0.05, "1e-1"]}, seeds=2)
    trials = trials_of(load_experiment(file), tmp_path, "small", corpus=corpus)
    lines = [(trial.line, trial.changes["temperature"]) for trial in trials[:4]]
    assert lines == [(f"{row}, temperature {t}", t) for row in "AB" for t in (0.05, 0.1)]
    assert [trial.seed for trial in trials] == [1] * 4 + [2] * 4
    assert len({trial.folder for trial in trials}) == 8


def test_the_number_of_seeds_counts_from_the_first_and_applies_to_stochastic_rows_only(tmp_path):
    rows = {**ROWS, "Fixed": {"settings": {"method": "average"}, "seeds": 1}}
    experiment = load_experiment(own(tmp_path, rows=rows, seeds=[301, 302, 304]))
    assert experiment.seeds_of("A", 2) == (301, 302)
    assert experiment.seeds_of("A", 5) == (301, 302, 304, 305, 306)
    assert experiment.seeds_of("Fixed", 5) == (1,)


def test_experiments_share_equal_trials_and_no_others(tmp_path, corpus):
    def folders(corpus=corpus, base=None, **values):
        experiment = load_experiment(own(tmp_path, seeds=1, **values))
        trials = trials_of(experiment, tmp_path, "small", base=base, corpus=str(corpus))
        return {trial.folder.name for trial in trials}

    def text(name, content):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
        return tmp_path / name

    first = folders()
    assert folders(rows={"Other": ROWS["A"], "B": ROWS["B"]}) == first
    assert folders(small={"description": "says nothing"}) == first
    # Files count by their content: the text, a folder of text, and pairs to validate on.
    assert folders(text("same.txt", "one text\n")) == first
    distinct = [
        first,
        folders(small={"max_steps": 3}),
        folders(base="some/base"),
        folders(text("longer.txt", "one text\nanother\n")),
        folders(text("same-size.txt", "two text\n")),
        folders(text("texts/one.txt", "one text\n").parent),
        folders(text("texts/two.txt", "more\n").parent),
        with_pairs := folders(small={"dev": str(text("pairs.csv", "a,b,1\n"))}),
        folders(small={"dev": str(text("more.csv", "a,b,1\nc,d,2\n"))}),
    ]
    assert len(set.union(*distinct)) == 2 * len(distinct)
    assert folders(small={"dev": str(text("texts/pairs.csv", "a,b,1\n"))}) == with_pairs
    # Weights tell bases apart, not their names.
    bases = [
        folders(base=str(text(f"{place}/model.safetensors", weights).parent))
        for place, weights in (("one", "1"), ("two", "2"), ("copy", "1"))
    ]
    assert bases[0] == bases[2] != bases[1]


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
        ({"figures": {"../x": {"kind": "dots", "values": ["dev"]}}}, "the name must consist of"),
        ({"figures": {"x": {"kind": "dots", "values": ["a", "b"]}}}, "has one value"),
        (
            {"figures": {"x": {"kind": "against", "values": ["a"], "setting": "sigma"}}},
            "figure x: sigma is not the setting of the grid",
        ),
        ({"grid": {"a": [1], "b": [2]}}, "one setting"),
        ({"grid": {"sigma": ["1e-1", 0.1]}}, "duplicate value 0.1"),
        ({"grid": {"clusters": []}}, "grid: clusters has no values"),
        ({"seeds": "two"}, "pass a number of seeds, or a list"),
        ({"settings": {"seed": 7}}, "seed is not allowed among settings: use `seeds`"),
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


def test_a_missing_text_or_base_is_refused_before_any_trial(tmp_path, corpus):
    experiment = load_experiment(own(tmp_path, corpus="nothere.txt"))
    with pytest.raises(UserError, match="file or folder nothere.txt does not exist"):
        run_trials(trials_of(experiment, tmp_path, "small"), OnThisMachine(), 1)
    trials = trials_of(experiment, tmp_path, "small", corpus=corpus, base="/no/where")
    with pytest.raises(UserError, match="base '/no/where' is not a folder"):
        run_trials(trials, OnThisMachine(), 1)
    assert not list(tmp_path.glob("cells/*"))


def test_a_duplicate_row_is_refused(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("title: T\nrows:\n  A: {settings: {method: simcse}}\n  A: {}\n")
    with pytest.raises(UserError, match="is not YAML: duplicate key .A."):
        load_experiment(str(file))


def test_texts_are_found_beside_the_file_and_in_the_data_folder(
    tmp_path, corpus, monkeypatch, shared_data
):
    assert load_experiment(own(tmp_path, corpus="corpus.txt")).corpus == corpus
    monkeypatch.setenv("CLUSTERNS_DATA", str(tmp_path))
    without = trials_of(load_experiment(own(tmp_path)), tmp_path, "small")
    assert {trial.corpus for trial in without} == {"wikipedia"}
    with pytest.raises(UserError, match="--corpus"):
        run_trials(without, OnThisMachine(), 1)
    assert not list(tmp_path.glob("cells/*"))  # nothing has started
    # Records are read without their text: trials have the same names.
    monkeypatch.setenv("CLUSTERNS_DATA", str(shared_data))
    with_text = trials_of(load_experiment(own(tmp_path)), tmp_path, "small")
    assert {trial.corpus for trial in with_text} == {str(shared_data / "wiki/enwiki_1m.txt.xz")}
    assert [trial.folder for trial in with_text] == [trial.folder for trial in without]
    assert find_corpus("owner/name:config") == "owner/name:config"
