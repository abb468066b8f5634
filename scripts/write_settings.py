"""Write docs/settings.md from the settings themselves.

python scripts/write_settings.py
"""

from __future__ import annotations

from pathlib import Path

from clusterns.methods.registry import all_fields, owners

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
HEAD = """# Settings

Every setting of a recipe, written by `scripts/write_settings.py` from the code. Change one with `--set key=value`, or
copy a recipe to a file of your own: `clusterns recipes default > mine.yaml`, then `--recipe mine.yaml`. A key means
the same in Python, YAML, on the command line, in the log and in the report.
"""


def main() -> None:
    PAGE.write_text(page(), "utf-8")


def page() -> str:
    """The page as it should be."""
    belongs = owners()
    rows = [
        f"| `{key}` | {default(field.default)} | {field.description} | {belongs.get(key, '')} |"
        for key, field in all_fields().items()
    ]
    head = ["| setting | default | meaning | of |", "|---|---|---|---|"]
    return "\n".join([HEAD, *head, *rows, ""])


def default(value: object) -> str:
    """A default for a person; nothing where there is none."""
    if value is None or value == "" or value == ():
        return ""
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


if __name__ == "__main__":
    main()
