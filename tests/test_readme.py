"""The README's script, run as it stands."""

from __future__ import annotations

import random
import re
import runpy
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

README = Path(__file__).parents[1] / "README.md"
WORDS = "river town music cell planet engine king harbour winter protein market song law".split()


def test_the_readmes_script_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    assert len(script.strip().splitlines()) <= 15
    generator = random.Random(0)
    lines = [" ".join(generator.choices(WORDS, k=5)) for _ in range(70)]
    (tmp_path / "corpus.txt").write_text("\n".join(lines))
    (tmp_path / "script.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    names = runpy.run_path("script.py")
    assert names["loss"].centroids.step == 3 * 2  # three epochs of two whole batches
    model = SentenceTransformer("runs/script/model")
    assert (model.encode(lines[0]) == names["model"].encode(lines[0])).all()
