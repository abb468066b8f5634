"""Take the pictures of the explorer in the README, light and dark, on the docstrings of a quickstart.

python docs/screenshots.py [RUN]     needs playwright and Debian's chromium
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURES = Path(__file__).parent / "pictures"
QUERY = "sort an array along an axis"


def main() -> None:
    run = sys.argv[1] if len(sys.argv) > 1 else "runs/quickstart"
    command = ["clusterns", "explore", run, "--against", "base", "--no-browser"]
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
                page.wait_for_selector("#app[aria-busy=false]", timeout=600_000)
                page.fill("#query", QUERY)
                page.wait_for_selector("#panel li", timeout=60_000)
                page.wait_for_timeout(3000)  # the map fades in
                page.screenshot(path=PICTURES / f"explorer-{scheme}.png")
            browser.close()
        server.terminate()


if __name__ == "__main__":
    main()
