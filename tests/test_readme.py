"""The README's scripts, run as they stand."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from tests.helpers.texts import sentences

README = Path(__file__).parents[1] / "README.md"


def scripts() -> list[str]:
    return re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)


def test_the_readmes_script_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = (each for each in scripts() if "Trainer(" in each)
    assert len(script.strip().splitlines()) <= 15
    lines = sentences(70, words=(5, 5))
    (tmp_path / "corpus.txt").write_text("\n".join(lines))
    (tmp_path / "script.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path("script.py")
    assert names["loss"].clustering.step == 3 * 2  # three epochs of two whole batches
    model = SentenceTransformer("runs/script/model")
    assert (model.encode(lines[0]) == names["model"].encode(lines[0])).all()


def test_the_readmes_functions_do_what_the_commands_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (script,) = (each for each in scripts() if "encode(" in each)
    (tmp_path / "corpus.txt").write_text("\n".join(sentences(300, words=(8, 8))))
    monkeypatch.chdir(tmp_path)
    exec(
        script.replace('{"max_steps": 200}', '{"max_steps": 2, "batch_size": 8, "clusters": 4}'), {}
    )
    scores = [float(line.split()[0]) for line in capsys.readouterr().out.splitlines()]
    assert len(scores) == 3
    assert scores == sorted(scores, reverse=True)
    assert (tmp_path / "vectors" / "complete.json").is_file()
