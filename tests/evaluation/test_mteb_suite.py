from __future__ import annotations

import sys

import pytest
from hash_encoder import HashEncoder

from clusterns.errors import UserError
from clusterns.evaluation.mteb_suite import run_mteb


def test_without_the_package_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mteb", None)
    with pytest.raises(UserError, match=r"pip install 'clusterns\[mteb\]'"):
        run_mteb(HashEncoder())
