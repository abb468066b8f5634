"""One small lab that nothing happened to, for all tests that compare with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.small_lab import fill, lab, write


@pytest.fixture(scope="session")
def experiment(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> Path:
    """The file of an experiment of two trials; do not write to its folder."""
    return write(fill(tmp_path_factory.mktemp("experiment")), tiny_bert)


@pytest.fixture(scope="session")
def whole(experiment: Path) -> Path:
    """Its lab; do not write to it."""
    output = experiment.parent / "whole"
    done = lab("run", experiment, "--output", output)
    assert done.code == 0, done.err
    assert "2 of 2 trials have a result" in done.out
    return output
