"""Write docs/settings.md from the settings themselves.

python scripts/write_settings.py
"""

from __future__ import annotations

from pathlib import Path

from pydantic.fields import FieldInfo

from clusterns.adaptation.settings import documented_fields
from clusterns.methods.registry import all_fields, defaults_by_method, owners

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Every setting of a recipe, written by `scripts/write_settings.py` from the code. Change one with `--set key=value`, or
copy a recipe to a file of your own: `clusterns recipes default > mine.yaml`, then `--recipe mine.yaml`. A key means
the same in Python, YAML, on the command line, in the log and in the report. Where a method has a default of its own,
its name follows in parentheses.
"""
ADAPT = """## clusterns adapt

The settings of [`clusterns adapt`](adapt.md), which `--set` changes too.
"""


def main() -> None:
    PAGE.write_text(page(), "utf-8")


def page() -> str:
    """The page as it should be."""
    belongs = owners()
    rows = []
    for key, field in all_fields().items():
        others = [f"{default(v)} ({name})" for name, v in defaults_by_method(key).items()]
        defaults = ", ".join(filter(None, [default(field.default), *others]))
        rows.append(f"| `{key}` | {defaults} | {text(field)} | {belongs.get(key, '')} |")
    head = ["| setting | default | meaning | of |", "|---|---|---|---|"]
    adapt = [
        f"| `{key}` | {default(field.get_default() or None)} | {text(field)} | {command} |"
        for key, field, command in documented_fields()
        if not field.is_required()
    ]
    return "\n".join([HEAD, *head, *rows, "", ADAPT, *head, *adapt, ""])


def text(field: FieldInfo) -> str:
    """The meaning of a setting on one line."""
    return " ".join((field.description or "").split())


def default(value: object) -> str:
    """A default for a person; nothing where there is none."""
    if value is None or value == "" or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    main()
