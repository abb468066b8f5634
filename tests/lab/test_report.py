"""The page of results is what its records say."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import pytest

from clusterns.errors import UserError
from clusterns.files import read_json, write_json
from clusterns.lab.compare import find_differences, seeds_needed
from clusterns.lab.experiment import TUNED, load_experiment
from clusterns.lab.outcomes import Line, Outcome
from clusterns.lab.records import Record
from clusterns.lab.report import base_name, write_report

ROOT = Path(__file__).parents[2]


def test_the_committed_page_is_that_of_the_records(tmp_path: Path) -> None:
    write_report(ROOT / "results" / "lab", tmp_path / "results.md")
    page = ROOT / "docs" / "results.md"
    assert page.read_text("utf-8") == (tmp_path / "results.md").read_text("utf-8")
    names = {path.name for path in (tmp_path / "results").iterdir()}
    assert {path.name for path in (ROOT / "docs" / "results").iterdir()} == names
    # Another version of matplotlib draws differently.
    if f"matplotlib=={version('matplotlib')}" in (ROOT / "constraints.txt").read_text("utf-8"):
        for name in names:
            committed = (ROOT / "docs" / "results" / name).read_bytes()
            assert committed == (tmp_path / "results" / name).read_bytes(), name


def line(label: str, values: dict[int, float], method: str, paper_row: str | None = None) -> Line:
    outcomes = [
        Outcome(
            seed,
            {
                "name": f"{method}-{seed}-{0:010}", "values": {"sts/Avg.": value, "dev": value},
                "processor_seconds": 60.0, "corpus": "text.txt", "suites": {},
                "base": "minibert-raw b153196ae02ef996", "settings": {},
                "record": {"versions": {"torch": "2", "sentence-transformers": "6"}},
            },
            {},
        )
        for seed, value in values.items()
    ]  # fmt: skip
    return Line(label, label, paper_row=paper_row, outcomes=outcomes)


@pytest.fixture
def record() -> Record:
    seeds = range(201, 209)
    ours = {n: 51 + n % 5 + n % 2 / 2 for n in seeds}
    lines = [
        line("SimCSE", {n: 50.0 + n % 5 for n in seeds}, "simcse", "SimCSE-BERT-base"),
        line("ClusterNS", ours, "clusterns", "ClusterNS-BERT-base"),
    ]
    return Record("replication", "raw", load_experiment("replication"), lines)


ESTIMATE = "| +1.25 | +1.03 to +1.47 | 8 | < 0.001 | 0.008 | +1.30 | shown |"


def test_a_page_opens_with_a_figure_and_has_estimate_interval_and_verdict(
    record: Record, tmp_path: Path
) -> None:
    record.write(tmp_path / "records")
    trials = [
        {"number": number, "value": value, "settings": {"temperature": temperature}, "reason": None}
        for number, value, temperature in ((0, None, 0.05), (1, 50.0, 0.05), (2, 52.346, 0.02))
    ]
    search = {
        "method": "simcse", "best": 2, "base": "minibert-raw b153196ae02ef996", "trials": trials,
        "settings": {"batch_size": 64, "method": "simcse", "seed": 0, "positives": "crop"},
        "record": {"command": ["clusterns", "lab", "search", "simcse"]},
    }  # fmt: skip
    write_json(tmp_path / "records" / "searches" / "simcse.json", search)
    page = write_report(tmp_path / "records", tmp_path / "mine.md").read_text("utf-8")
    assert page.index("](mine/differences.svg)") < page.index("## Differences")
    svg = (tmp_path / "mine" / "differences.svg").read_text("utf-8")
    for text in ("replication: ClusterNS over SimCSE", "within ±0.3", "the paper", "95 % interval"):
        assert text in svg
    assert f"| ClusterNS over SimCSE | [replication](#replication) {ESTIMATE}" in page
    assert (
        "16 trials, budget raw, 16 min of processor time; base minibert-raw; text text.txt" in page
    )
    assert (
        "| simcse | positives crop | 2 | 50.00 | 52.35 | 50.00 to 52.35 | temperature 0.02 |"
        in page
    )
    assert "*`clusterns lab search simcse`; base minibert-raw.*" in page
    assert (tmp_path / "mine" / "replication.svg").is_file()


def test_this_project_s_page_answers_its_question_first(record: Record, tmp_path: Path) -> None:
    template = (ROOT / "results" / "lab" / "page.md.jinja").read_text("utf-8")
    record.write(tmp_path)
    (tmp_path / "page.md.jinja").write_text(template, "utf-8")
    page = write_report(tmp_path, tmp_path / "results.md").read_text("utf-8")
    answer = page.index("## Does ClusterNS beat SimCSE?")
    assert answer < page.index("](results/answer.svg)") < page.index("## How to read the verdicts")
    assert (
        "- replication, crops: +1.25 points (95 % interval +1.03 to +1.47) over 8 seeds; the paper: "
        "+1.30. Verdict: *shown*." in page
    )
    assert "## From minibert" not in page
    # The number of seeds follows from the deviation once the replication is whole.
    assert "have a standard deviation of 0.27 over 8 seeds. By the rule" in page
    assert "the primary comparison with crops has 8 seeds: 301 to 308." in page
    assert "Not run, or not on record: claims, second-encoder, sigma," in page
    some = [
        replace(line, outcomes=line.outcomes[:5], missing={208: "not run"}) for line in record.lines
    ]
    replace(record, lines=some).write(tmp_path)
    page = write_report(tmp_path, tmp_path / "results.md").read_text("utf-8")
    assert "over 5 seeds. 1 of its seeds are missing, so the number of seeds" in page


def test_the_primary_comparison_has_the_seeds_that_follow_from_the_replication() -> None:
    """As soon as the replication is on record."""
    file = ROOT / "results" / "lab" / "replication.jsonl"
    if file.is_file():
        kept = Record.read(file)
        (one,) = find_differences(kept.experiment, kept.lines)
        n = seeds_needed(one.deviation or 0)
        rows = load_experiment("claims").rows
        for name in ("SimCSE", "ClusterNS"):
            assert one.missing_seeds or rows[name].seeds == tuple(range(301, 301 + n))


def test_the_tuned_settings_are_those_that_the_searches_found() -> None:
    """As soon as the searches from the raw base are on record."""
    for file in (ROOT / "results" / "lab" / "searches").glob("*.json"):
        search = read_json(file)
        if "minibert-raw" in str(search.get("base")) and len(search["trials"]) == 12:
            (best,) = (one for one in search["trials"] if one["number"] == search["best"])
            known = TUNED["all"] if search["method"] == "simcse" else TUNED[search["method"]]
            assert best["settings"].items() <= known.items()


def test_comparisons_on_the_same_trials_are_named(record: Record, tmp_path: Path) -> None:
    record.write(tmp_path)
    replace(record, name="again").write(tmp_path)
    page = write_report(tmp_path, tmp_path / "page.md").read_text("utf-8")
    assert (
        "The same trials: ClusterNS over SimCSE (replication) and ClusterNS over SimCSE (again)."
        in page
    )


def test_without_records_there_is_no_page(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="has no records: make them with `clusterns lab record`"):
        write_report(tmp_path, tmp_path / "results.md")
    assert list(tmp_path.iterdir()) == []


def test_bases_have_the_names_that_readers_know() -> None:
    assert base_name("minibert 2050d5de157c3209") == "minibert"
    assert base_name("models/mine 0123456789abcdef") == "models/mine 0123456789abcdef"
    assert base_name(None) == "minibert-raw"
