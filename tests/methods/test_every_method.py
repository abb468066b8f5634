"""Each method trains by its name, goes on after a kill as if nothing had been, and its model opens
without this package."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import Dataset
from safetensors.numpy import load_file

from clusterns.errors import UserError
from clusterns.evaluation.validators import validation
from clusterns.methods.registry import get_method, method_names
from clusterns.training.folder import RunFolder, RunResult, read_metrics
from clusterns.training.recipe import load_recipe
from clusterns.training.run import train
from clusterns.training.trainer import ContrastiveTrainer
from tests.helpers.models import open_plain

SUBJECTS = "The singer,A comet,The judge,Our team,The old engine,A small town".split(",")
VERBS = "hears,leaves,praised,will follow,has seen,does not like,is near".split(",")
OBJECTS = "the opera house,a bright planet,the court,the harbour,two rockets,this song".split(",")
PINNED = Path(__file__).with_name("pinned.json")
PINNED_KEYS = ("loss", "positive_similarity", "negative_similarity")
TRAINED = [name for name in method_names() if get_method(name).trains]
SETTINGS: dict[str, dict[str, Any]] = {
    "clusterns": {"clusters": 4, "start_step": 2},
    "dclr": {"guide_steps": 2, "guide_threshold": 0.5},
    "esimcse": {"queue_batches": 1.5},
}
COMBINATIONS: dict[str, dict[str, Any]] = {
    "clustering with a queue": {"method": "clusterns", "parts": ["queue"]},
    "clustering with repetition": {"method": "clusterns", "positives": "repetition"},
    "clustering of next sentences, weighted and whitened": {
        "method": "clusterns", "positives": "next", "dropout": 0.0, "sif_whitening": True,
    },
    "clustering with mixed and noise negatives": {
        "method": "clusterns", "parts": ["mixing", "noise"],
    },
    "clustering with a soft negative": {"method": "sncse", "parts": ["clustering"]},
    "prototypes with clustering and masked LM": {
        "method": "conpvp", "parts": ["clustering"], "masked_lm_weight": 0.1,
    },
}  # fmt: skip


class Killed(Exception):  # noqa: N818 - not an error
    """Stands for a kill: nothing of ours catches it."""


@pytest.fixture(scope="module")
def texts() -> list[str]:
    generator = random.Random(0)
    drawn = [
        " ".join(generator.choice(each) for each in (SUBJECTS, VERBS, OBJECTS)) for _ in range(500)
    ]
    return list(dict.fromkeys(drawn))


def run(
    folder: Path, base: Path, texts: list[str], changes: dict[str, Any], *, resume: bool = False
) -> RunResult:
    values = {
        "base": str(base), "batch_size": 16, "max_steps": 8, "eval_steps": 3, "log_steps": 1,
        "learning_rate": 1e-3, "patience": 0, "seed": 3, **changes,
    }  # fmt: skip
    if "clustering" in changes.get("parts", ()) or changes["method"] == "clusterns":
        values = {**SETTINGS["clusterns"], **values}
    recipe = load_recipe("default", values)
    documents = [row // 2 for row in range(len(texts))]
    dataset = Dataset.from_dict({"text": texts, "document": documents})
    return train(
        recipe,
        dataset.select(range(40, len(texts))),
        validation(None, dataset.select(range(40))),
        RunFolder(folder),
        resume=resume,
        quiet=True,
    )


def final_state(folder: Path) -> dict[str, bytes]:
    """Every weight of the model and of the loss after the last step."""
    state = {}
    for file in ("model.safetensors", "loss.safetensors"):
        for path in sorted((folder / "checkpoints" / "checkpoint-8").rglob(file)):
            name = path.relative_to(folder)
            state.update({f"{name} {k}": v.tobytes() for k, v in load_file(path).items()})
    return state


@pytest.mark.parametrize("name", TRAINED)
def test_killed_and_resumed_equals_never_killed(
    name: str, tiny_bert: Path, texts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = {"method": name, **SETTINGS.get(name, {})}
    result = run(tmp_path / "whole", tiny_bert, texts, changes)
    assert result.steps == 8

    step = ContrastiveTrainer.training_step

    def killed_in_step_5(self: ContrastiveTrainer, *args: Any, **kwargs: Any) -> Any:
        if self.state.global_step == 4:
            raise Killed
        return step(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(ContrastiveTrainer, "training_step", killed_in_step_5)
        with pytest.raises(Killed):
            run(tmp_path / "killed", tiny_bert, texts, changes)
    resumed = run(tmp_path / "killed", tiny_bert, texts, changes, resume=True)
    assert resumed == result
    whole = final_state(tmp_path / "whole")
    assert final_state(tmp_path / "killed") == whole
    lines = [line for line in read_metrics(tmp_path / "whole/metrics.jsonl") if "loss" in line]
    check_pinned(name, {key: [line[key] for line in lines] for key in PINNED_KEYS})
    assert len({line["loss"] for line in lines}) > 4, "the loss did not move: nothing was trained"
    opened = open_plain(tmp_path / "whole" / "model").encode(texts[:2])
    assert (opened[0] != opened[1]).any()
    if name == "clusterns":  # all consist of the library's own modules: one is proof enough
        apart = vectors_without_this_package(tmp_path / "whole" / "model", texts[:2])
        np.testing.assert_allclose(apart, opened, atol=1e-6)


def check_pinned(name: str, found: dict[str, list[float]]) -> None:
    """The random draws and the arithmetic are those of recorded runs; PIN=1 records them anew."""
    pinned = json.loads(PINNED.read_text()) if PINNED.exists() else {}
    if os.environ.get("PIN"):
        PINNED.write_text(json.dumps({**pinned, name: found}, indent=1, sort_keys=True) + "\n")
        return
    assert name in pinned, f"no numbers are pinned for {name}: record them with PIN=1"
    for key, values in pinned[name].items():
        assert found[key] == pytest.approx(values, rel=1e-3, abs=1e-5), key


def vectors_without_this_package(model: Path, texts: list[str]) -> list[list[float]]:
    script = (
        "import json, sys\n"
        "sys.modules['clusterns'] = None\n"
        "from sentence_transformers import SentenceTransformer\n"
        f"print(json.dumps(SentenceTransformer({str(model)!r}).encode({texts!r}).tolist()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("changes", COMBINATIONS.values(), ids=COMBINATIONS.keys())
def test_combinations_train(
    changes: dict[str, Any], tiny_bert: Path, texts: list[str], tmp_path: Path
) -> None:
    result = run(tmp_path / "run", tiny_bert, texts, changes)
    assert result.steps == 8
    last = [line for line in read_metrics(tmp_path / "run/metrics.jsonl") if "loss" in line][-1]
    assert "hard_negative_similarity" in last, "clustering never started"
    if changes.get("sif_whitening"):
        kinds = [type(module).__name__ for module in open_plain(tmp_path / "run" / "model")]
        assert kinds == ["Transformer", "WordWeights", "Pooling", "Dense", "Normalize"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "simcse", "parts": ["prototype"]}, "needs a template"),
        ({"method": "sncse", "parts": ["prototype"]}, "each adds a third view"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_with_the_reason(
    changes: dict[str, Any], message: str, tiny_bert: Path, texts: list[str], tmp_path: Path
) -> None:
    with pytest.raises(UserError, match=message):
        run(tmp_path / "run", tiny_bert, texts, changes)
    assert not (tmp_path / "run").exists()
