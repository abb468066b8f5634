"""What ``import clusterns`` does, in a process of its own each time."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

import clusterns


def run(code: str, **environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, check=True, env={**kept, **environment},
    )  # fmt: skip
    return done.stdout.strip()


POLICY = "import clusterns, os; print(os.environ.get('OMP_WAIT_POLICY'))"


@pytest.mark.parametrize(
    ("environment", "policy"),
    [
        ({}, "PASSIVE"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE"),
        ({"GOMP_SPINCOUNT": "1000"}, "None"),
    ],
)
def test_threads_that_wait_do_not_spin_unless_the_user_says_so(
    environment: dict[str, str], policy: str
) -> None:
    assert run(POLICY, **environment) == policy


def test_the_policy_is_set_before_torch_is_there_to_read_it() -> None:
    code = "import clusterns, sys, os; assert 'torch' not in sys.modules; " + POLICY
    assert run(code) == "PASSIVE"


def test_names_are_loaded_when_they_are_used() -> None:
    heavy = ["torch", "transformers", "datasets", "sentence_transformers"]
    code = (
        "import clusterns, sys; assert dir(clusterns) == sorted(clusterns.__all__); "
        "from clusterns import encode, evaluate, search, train; "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_no_exported_name_is_that_of_a_module() -> None:
    assert {"encode", "evaluate", "search", "train"} <= set(clusterns.__all__)
    for name in clusterns.__all__:
        assert callable(getattr(clusterns, name))
        assert importlib.util.find_spec(f"clusterns.{name}") is None


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="no attribute 'fly'"):
        _ = clusterns.fly  # type: ignore[attr-defined]
