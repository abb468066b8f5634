from __future__ import annotations

import random
from pathlib import Path

import pytest
from sentence_transformers import SentenceTransformer

from clusterns.vectors.models import load_model

WORDS = "river town music cell planet engine king harbour winter protein market song law".split()


@pytest.fixture(scope="session")
def model(tiny_bert: Path) -> SentenceTransformer:
    return load_model(str(tiny_bert), "mean", device="cpu")


@pytest.fixture(scope="session")
def texts() -> list[str]:
    """Texts of all lengths, with equal ones and an empty one among them."""
    generator = random.Random(0)
    some = [" ".join(generator.choices(WORDS, k=generator.randint(1, 40))) for _ in range(100)]
    return [*some[:50], "", *some[50:], *some[:9]]


@pytest.fixture
def corpus(texts: list[str], tmp_path: Path) -> Path:
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(texts) + "\n")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too, with its bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
