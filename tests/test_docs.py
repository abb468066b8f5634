"""The documentation says what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_settings_page_is_that_of_the_code() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "write_settings.py"))
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == script["page"]()
