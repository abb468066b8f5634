"""Fixtures of the evaluation's tests."""

from __future__ import annotations

import pytest
from hash_encoder import HashEncoder


@pytest.fixture
def hash_encoder() -> HashEncoder:
    return HashEncoder()
