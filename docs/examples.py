"""Record what the README shows of a quickstart: the output of a search, and pictures of the explorer.

python docs/examples.py [RUN]     needs playwright and Debian's chromium
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

from clusterns.record import make_record

ROOT = Path(__file__).parents[1]
QUERY = "sort an array along an axis"


def main() -> None:
    run = sys.argv[1] if len(sys.argv) > 1 else "runs/quickstart"
    command = ["clusterns", "search", run, QUERY, "--top", "3"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "110"}
    )
    command[2] = "runs/quickstart"
    record = {"command": command, "output": done.stdout.rstrip(), "record": make_record()}
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (ROOT / "results" / "quickstart" / "search.json").write_text(f"{text}\n", "utf-8")
    take_pictures(run)


def take_pictures(run: str) -> None:
    """The explorer with a search, before and after training, light and dark."""
    command = ["clusterns", "explore", run, "--against", "base"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = next(m[0] for line in server.stdout if (m := re.search(r"http://\S+", line)))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            for scheme in ("light", "dark"):
                page = browser.new_page(
                    viewport={"width": 1280, "height": 720},
                    color_scheme=scheme,
                    device_scale_factor=1.5,
                )
                page.goto(address)
                page.wait_for_selector("#app:not([aria-busy])", timeout=600_000)
                page.get_by_role("button", name="Both").click()
                page.fill("#query", QUERY)
                page.wait_for_selector("#panel .why", timeout=60_000)
                page.wait_for_timeout(3000)  # the map fades in
                page.screenshot(path=ROOT / "docs" / "pictures" / f"explorer-{scheme}.png")
            browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
