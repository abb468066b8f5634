"""What mkdocs needs to show pages that lie outside docs/: results and benchmarks, with their pictures."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
OUTSIDE = ("benchmarks/*.md", "benchmarks/results/*.png", "results/*/*.md", "results/*/*.png")


def on_files(files: Files, *, config: Any) -> Files:
    """Add the pages and pictures under the paths that they have in the repository."""
    for pattern in OUTSIDE:
        for path in sorted(ROOT.glob(pattern)):
            name = path.relative_to(ROOT).as_posix()
            files.append(File.generated(config, name, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Links from docs/ that climb to the repository's root stay inside the site."""
    return re.sub(r"\]\(\.\./(benchmarks|results)/", r"](\1/", markdown)
