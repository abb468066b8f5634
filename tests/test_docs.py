"""The documentation says what the code says."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import markdown
import pytest

from clusterns.cli import app
from clusterns.commands.request import Request
from clusterns.settings import validated

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


def documented_commands() -> list[str]:
    """The calls of the program in the README and the docs, each option of a synopsis given."""
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    calls = re.findall(r"^ +(?:srun )?clusterns ([a-z].*?)(?: > .*| +#.*)?$", text, re.MULTILINE)
    return sorted({re.sub(r"\[(.*?)( \.\.\.)?\]|\|[a-z|]+", r"\1", call) for call in calls})


def test_every_documented_command_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands and options exist and take these values; what they do is tested in their rooms."""
    valid = []

    def check(kind: type[Request], values: dict[str, Any], name: str) -> SimpleNamespace:
        valid.append(validated(kind, values, name))
        return SimpleNamespace(execute=lambda: None)

    monkeypatch.setattr("clusterns.commands.request.validated", check)
    calls = documented_commands()
    for call in calls:
        app(shlex.split(call), standalone_mode=False)
    assert len(valid) == len(calls) > 60


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
