from __future__ import annotations

import json
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from clusterns.encoder.load import load_base
from tests.helpers.commands import run_cli

TITLES = [f"{what} of {whose} number {n}" for n in range(40) for what, whose in (
    ("price", "a house"), ("song", "the singer"), ("orbit", "a planet"), ("goal", "our team"),
)]  # fmt: skip


@pytest.fixture(scope="module")
def model(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model") / "good"
    load_base(str(tiny_bert)).save_pretrained(str(folder))
    return folder


@pytest.fixture
def titles(tmp_path: Path) -> Path:
    path = tmp_path / "titles.csv"
    path.write_text("id,title\n" + "".join(f"{n},{text}\n" for n, text in enumerate(TITLES)))
    return path


def test_titles_of_a_csv(model: Path, titles: Path, tmp_path: Path) -> None:
    output = tmp_path / "run"
    code, out, err = run_cli(
        "adapt", titles, "--column", "title", "--base", model, "--output", output, "--min-agreement-general", "0.5",
    )  # fmt: skip
    assert code == 0, err
    assert "agreement, general text" in err
    report = (output / "report.html").read_text()
    assert "common neighbors" in report
    assert "learning_rate" not in report, "a setting that nothing reads"
    assert "<- chosen" in err
    facts = json.loads((output / "results.json").read_text())["facts"]
    assert facts["purpose"] == "topics"
    assert f"interpolation weight {facts['share']:g}" in out
    assert SentenceTransformer(str(output / "model")).encode(["a title"]).shape == (1, 32)
    # Once more is no new run; the finished one is found.
    code, out, err = run_cli("adapt", "--output", output, "--resume", "--no-report")
    assert code == 0, err
    assert "is finished" in err
    assert f"interpolation weight {facts['share']:g}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--base", "MODEL"], "--output"),
        (["--output", "RUN"], "name the sentence encoder to adapt"),
        (["--output", "RUN", "--base", "minibert"], "`clusterns train`"),
        (["--output", "RUN", "--base", "MODEL", "--general", "nowhere"], "--general nowhere"),
        (["--output", "RUN", "--base", "MODEL", "--for", "search"], "--document"),
        (["--output", "RUN", "--base", "MODEL", "--column", "name"], "name"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(
    arguments: list[str],
    message: str,
    model: Path,
    titles: Path,
    tmp_path: Path,
) -> None:
    places = {"MODEL": str(model), "RUN": str(tmp_path / "run")}
    column = [] if "--column" in arguments else ["--column", "title"]
    code, _, err = run_cli(
        "adapt", titles, *column, *(places.get(each, each) for each in arguments)
    )
    assert code == 2
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "run").exists()


def test_training_a_sentence_encoder_points_here(model: Path, titles: Path) -> None:
    code, _, err = run_cli(
        "train",
        titles,
        "--column",
        "title",
        "--base",
        model,
        "--set",
        "batch_size=16",
        "--set",
        "clusters=4",
        "--dry-run",
    )
    assert code == 0, err
    assert "clusterns adapt" in err
