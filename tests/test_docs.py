"""The documentation says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

import markdown

ROOT = Path(__file__).parents[1]


def test_the_settings_page_is_that_of_the_code() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "write_settings.py"))
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == script["page"]()


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
