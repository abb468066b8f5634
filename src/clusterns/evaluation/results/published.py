"""The rows that the ClusterNS paper printed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import yaml


@cache
def published_rows(name: str) -> dict[str, dict[str, float]]:
    """The paper's rows of a suite or of another table by name, as numbers by column; none for
    suites without a table."""
    text = (files("clusterns.evaluation.results") / "published.yaml").read_text("utf-8")
    table = yaml.safe_load(text).get(name, {"columns": [], "rows": {}})
    return {
        label: {c: n for c, n in zip(table["columns"], numbers, strict=True) if n is not None}
        for label, numbers in table["rows"].items()
    }
