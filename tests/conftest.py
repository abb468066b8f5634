"""Fixtures that several rooms share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real evaluation data, named by CLUSTERNS_DATA."""
    folder = os.environ.get("CLUSTERNS_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs real data: set CLUSTERNS_DATA to its folder")
    return Path(folder)
