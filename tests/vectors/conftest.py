from __future__ import annotations

from pathlib import Path

import pytest

from clusterns.encoder.load import load_model
from tests.helpers.texts import sentences


@pytest.fixture(scope="session")
def model(tiny_bert):
    return load_model(str(tiny_bert), "mean", device="cpu")


@pytest.fixture(scope="session")
def texts():
    """Texts of all lengths, with equal ones and an empty one among them."""
    some = sentences(100, words=(1, 40))
    return [*some[:50], "", *some[50:], *some[:9]]


@pytest.fixture
def corpus(texts, tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(texts) + "\n")
    return path


def contents(folder: Path) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too, with its bytes."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}
