"""The documentation says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import markdown
import pytest

ROOT = Path(__file__).parents[1]


def test_pages_and_tables_are_those_of_the_code_and_the_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What `python docs/build.py` writes; docs/results.md has a test of its own."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    build = runpy.run_path(str(ROOT / "docs" / "build.py"))
    names = build["NUMBERS"].keys() - {"reference"}
    for path, text in build["pages"](names).items():
        assert path.read_text("utf-8") == text, f"{path.name}: python docs/build.py"
    parts = {path.name.partition(".")[0] for path in ROOT.glob("docs/templates/*.jinja")}
    assert parts == names | {"reference"}


def test_the_example_of_a_method_stands_in_its_page() -> None:
    html = markdown.markdown(
        (ROOT / "docs" / "methods.md").read_text("utf-8"),
        extensions=["pymdownx.superfences", "pymdownx.snippets"],
        extension_configs={
            "pymdownx.snippets": {"base_path": [str(ROOT)], "check_paths": True},
            "pymdownx.superfences": {},
        },
    )
    assert "DecouplingSettings" in html
