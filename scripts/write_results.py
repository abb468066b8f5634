"""Write every number of the README and the docs from the records in results/ and benchmarks/results/.

python scripts/write_results.py
"""

from __future__ import annotations

import re
from pathlib import Path

from tables_of_adapting import (
    FIRST,
    SECOND,
    adaptations,
    candidates,
    guarded,
    rivals,
    searches,
    shares,
)
from tables_of_benchmarks import estimate, memory, speed
from tables_of_runs import quickstart, table_of_systems, tracking

ROOT = Path(__file__).parents[1]


def main() -> None:
    fill("README.md", "quickstart", quickstart())
    fill("README.md", "systems", table_of_systems())
    fill("README.md", "speed", speed())
    fill("docs/adapt.md", "shares", shares())
    fill("docs/adapt.md", "guarded", guarded())
    fill("docs/adapt.md", "search", searches())
    fill("docs/adapt.md", "adapt", adaptations(FIRST))
    fill("docs/adapt.md", "second", adaptations(SECOND))
    fill("docs/adapt.md", "candidates", candidates(FIRST))
    fill("docs/adapt.md", "rivals", rivals())
    fill("docs/validation.md", "tracking", tracking())
    fill("docs/scaling.md", "memory", memory())
    fill("docs/scaling.md", "estimate", estimate())


def fill(file: str, marker: str, text: str) -> None:
    """Replace what stands between the two markers of a file."""
    path = ROOT / file
    pattern = rf"(<!-- {marker} -->\n).*?(<!-- /{marker} -->)"
    old = path.read_text("utf-8")
    new, count = re.subn(pattern, lambda m: f"{m[1]}{text}\n{m[2]}", old, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{file} has no markers {marker}")
    path.write_text(new, "utf-8")


if __name__ == "__main__":
    main()
