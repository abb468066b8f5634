"""A trial's name stands for what decides its numbers, today and when it was recorded."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from clusterns.lab import identity
from clusterns.lab.experiment import BUDGETS
from clusterns.lab.identity import (
    content_identity,
    identity_of,
    superseded,
)
from clusterns.lab.outcomes import gather
from clusterns.lab.records import Record, early_name, recorded_name
from clusterns.lab.restore import restore
from clusterns.lab.tables import scores_table
from clusterns.lab.trial import make_trial, trials_of
from clusterns.methods.clusterns import ClusterNS
from clusterns.methods.recipe import RENAMED_KEYS, RENAMED_VALUES, current_names
from clusterns.methods.registry import get_part, recipe_class
from clusterns.training.recipe import load_recipe

RECORDS = Path(__file__).parents[2] / "results" / "lab"
COUNTS = {
    "ablations": 18, "false-negatives": 12, "main": 51, "momentum": 16, "similarity": 6, "temperature": 15,
}  # fmt: skip

# Rows whose numbers have changed since they were recorded.
REVISED = {"ablations": {"Random clusters"}, "main": {"ESimCSE", "DCLR"}}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("restored")
    kept = [RECORDS / f"{name}.jsonl" for name in COUNTS]
    assert restore(kept, folder).trials == 84  # distinct ones; experiments share trials
    return folder


@pytest.mark.parametrize("name", COUNTS)
def test_every_trial_on_record_is_found_in_a_lab_that_was_restored(name: str, lab: Path) -> None:
    """Under its name of today, or as superseded where its method or a part has another revision since."""
    record = Record.read(RECORDS / f"{name}.jsonl")
    recorded = {(x.label, one.seed): one.result for x in record.lines for one in x.outcomes}
    assert len(recorded) == COUNTS[name]
    names = {key: recorded_name(result) for key, result in recorded.items()}
    assert len(set(names.values())) == COUNTS[name]
    assert all((lab / "cells" / each / "result.json").is_file() for each in names.values())
    trials = trials_of(record.experiment, lab, record.budget)
    found = {(each.line, each.seed): each.folder.name for each in trials if each.is_done}
    old = {key for key, result in recorded.items() if superseded(result)}
    assert found == {key: each for key, each in names.items() if key not in old}
    assert {label for label, _ in old} == REVISED.get(name, set())


def test_an_early_record_is_named_by_its_settings_and_its_predictions_by_its_early_name() -> None:
    record = Record.read(RECORDS / "main.jsonl")
    line = next(line for line in record.lines if line.label == "ClusterNS, crops")
    first = line.outcomes[0].result
    assert early_name(first) == "clusterns-1-5c1aa6f77d"
    changes = {
        **BUDGETS["small"],
        "method": "clusterns",
        "positives": "crop",
        "dropout": 0.0,
        "seed": 1,
    }
    assert recorded_name(first) == make_trial("A", changes, "wikipedia", Path()).folder.name


def test_every_key_of_a_recorded_trial_has_a_frozen_default() -> None:
    """A new key of theirs goes into historical.yaml, or the trials on record would get other names."""
    known = identity._historical()
    frozen = {RENAMED_KEYS.get(key, key) for key in known["defaults"]}
    lines = [line for name in COUNTS for line in Record.read(RECORDS / f"{name}.jsonl").lines]
    results = [current_names(one.result["settings"]) for line in lines for one in line.outcomes]
    kinds = {(each["method"], tuple(each.get("parts", ()))) for each in results}
    assert len(kinds) > 5
    keys = {key for kind in kinds for key in recipe_class(*kind).model_fields}
    assert keys - {"description", "check_memory", "method", "base"} <= frozen


def test_defaults_take_no_part_and_keys_keep_their_frozen_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recipe = load_recipe("default", {"method": "simcse", "temperature": 0.1, "dev": "stsb"})
    before = identity_of(recipe, "owner/text")
    assert before["settings"] == {"method": "simcse", "temperature": 0.1, "dev": "stsb"}
    known: dict[str, Any] = json.loads(json.dumps(identity._historical()))
    known["defaults"]["tau"] = known["defaults"].pop("temperature")
    del known["defaults"]["workers"]  # a key without a frozen default always takes part
    monkeypatch.setattr(identity, "_historical", lambda: known)
    monkeypatch.setitem(RENAMED_KEYS, "tau", "temperature")
    monkeypatch.setitem(RENAMED_VALUES, "method", {"old-simcse": "simcse"})
    found = identity_of(recipe, "owner/text")
    typed = [identity._identity({"sigma": one}, "", "", {}) for one in (1.0, 1)]
    assert typed[0] == typed[1]  # numbers count by their value
    assert found["settings"] == {
        "method": "old-simcse", "tau": 0.1, "dev": "stsb", "workers": 0,
    }  # fmt: skip
    assert current_names(found["settings"]) == {
        "method": "simcse", "temperature": 0.1, "dev": "stsb", "workers": 0,
    }  # fmt: skip


def test_the_last_step_and_the_label_free_choice_are_different_trials() -> None:
    last, chosen = (
        identity_of(load_recipe("default", {"dev": dev}), "t") for dev in ("none", "label-free")
    )
    assert last["settings"]["dev"] == "last"
    assert "dev" not in chosen["settings"]  # what `none` meant in early records


def test_a_superseded_revision_is_told_and_never_taken_for_a_current_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = Record.read(RECORDS / "similarity.jsonl")
    before = {
        trial.folder.name: trial for trial in trials_of(record.experiment, tmp_path, record.budget)
    }
    part = next(name for name in ClusterNS.parts)
    monkeypatch.setattr(get_part(part), "revision", 3)
    told = restore([RECORDS / "similarity.jsonl"], tmp_path)
    ours = [name for name, trial in before.items() if trial.changes["method"] == "clusterns"]
    assert {each.split(":")[0] for each in told.superseded} == set(ours)
    assert f"part {part} (revision 1, now 3)" in told.superseded[0]
    trials = trials_of(record.experiment, tmp_path, record.budget)
    assert {t.folder.name for t in trials if t.is_done} == set(before) - set(ours)
    assert all(
        t.identity["revisions"] == {f"part {part}": 3}
        for t in trials
        if t.changes["method"] == "clusterns"
    )
    # A record on its own says so, too.
    notes = scores_table(record.experiment, record.lines).notes
    assert any(f"superseded part {part} (revision 1, now 3)" in note for note in notes)
    assert gather(record.experiment, trials)


def test_a_large_text_is_read_once_and_again_when_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(identity, "WORTH_CACHING", 4)
    read: list[Path] = []
    digest = identity._digest
    monkeypatch.setattr(identity, "_digest", lambda file: [read.append(file), digest(file)][1])
    text = tmp_path / "text.txt"
    text.write_text("one text")
    first = content_identity(str(text))
    assert content_identity(str(text)) == first
    assert len(read) == 1
    text.write_text("two text")  # of the same size
    os.utime(text, ns=(1, 1))
    assert content_identity(str(text)) != first
    cached = next((tmp_path / "cache" / "digests").iterdir())
    cached.write_text("{")
    text.write_text("one text")
    assert content_identity(str(text)) == first
