"""The explorer: time of a query over 175,000 sentences, and of a map of 100,000 points.

    CLUSTERNS_DATA=... python -m benchmarks explore

Query: from the text to the twenty nearest of 175,000 sentences, encoder included, with minibert (256
numbers a vector) and exact search, a different query each time. The vectors are those of 2,000
real sentences, each with many noisy copies: how long a search takes does not depend on them.

Map: the page with 100,000 points in headless Chromium without a GPU, from the server to the
screen: first picture after the page's load began, a hover (finding the point under the pointer and
drawing its ring), and a frame while zooming.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.harness import description, wikipedia
from clusterns.encoder.load import load_model
from clusterns.explorer.corpus import EmbeddedCorpus
from clusterns.explorer.explorer import Explorer
from clusterns.explorer.server import listen, make_server
from clusterns.explorer.topics import find_topics
from clusterns.vectors.embed import Embedder
from clusterns.vectors.index import Index
from clusterns.vectors.nearest import unit

SENTENCES, POINTS, REAL, QUERIES = 175_000, 100_000, 2000, 200


class NoisyCopies(Index):
    """Noisy copies of real vectors as an index, without the folder that one is opened from."""

    def __init__(self, folder: Path, real: np.ndarray, texts: list[str], count: int) -> None:
        random = np.random.default_rng(0)
        rows = np.arange(count) % len(real)
        noise = random.normal(scale=0.5 / real.shape[1] ** 0.5, size=(count, real.shape[1]))
        self.folder, self.facts, self.lists = folder, {"of": "0" * 32}, None
        np.save(folder / "vectors.npy", unit(real[rows] + noise))
        self.vectors = np.load(folder / "vectors.npy", mmap_mode="r")
        self.rows = pa.table({"id": np.arange(count), "text": [texts[row] for row in rows]})
        self.ids, self.texts = self.rows["id"], self.rows["text"]


def queries(model: Any, real: np.ndarray, texts: list[str]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        corpus = EmbeddedCorpus(
            "minibert", model, NoisyCopies(Path(folder), real, texts, SENTENCES)
        )
        times = []
        for text in wikipedia(REAL + QUERIES)[REAL:]:
            begun = time.perf_counter()
            corpus.search([" ".join(text.split()[:8])], 20, "vectors")
            times.append(1000 * (time.perf_counter() - begun))
    times = sorted(times[20:])
    return {
        "median": statistics.median(times),
        "worst_of_twenty": times[int(0.95 * len(times))],
        "queries": len(times),
    }


HOVER = """async () => {
  const canvas = document.querySelectorAll('#maps .map canvas')[1], box = canvas.getBoundingClientRect();
  const times = [];
  for (let i = 0; i < 300; i++) {
    const at = { clientX: box.left + box.width * (0.3 + 0.4 * ((i * 37) % 100) / 100),
                 clientY: box.top + box.height * (0.3 + 0.4 * ((i * 61) % 100) / 100), bubbles: true };
    const begun = performance.now();
    canvas.dispatchEvent(new PointerEvent('pointermove', at));
    times.push(performance.now() - begun);
    if (i % 20 === 0) await new Promise(requestAnimationFrame);
  }
  times.sort((a, b) => a - b);
  return times[150];
}"""
FRAMES = """async () => {
  const canvas = document.querySelectorAll('#maps .map canvas')[1], box = canvas.getBoundingClientRect();
  const times = [];
  let before = 0;
  for (let i = 0; i < 60; i++) {
    canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: i < 30 ? -40 : 40, clientX: box.left + 300,
                                                   clientY: box.top + 300, bubbles: true, cancelable: true }));
    const now = await new Promise(requestAnimationFrame);
    if (before) times.push(now - before);
    before = now;
  }
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)];
}"""


def page(model: Any, real: np.ndarray, texts: list[str]) -> dict[str, float]:
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, listen(0) as where:
        corpus = EmbeddedCorpus("minibert", model, NoisyCopies(Path(folder), real, texts, POINTS))
        explorer = Explorer("benchmark", [corpus], find_topics(corpus.vectors, corpus.texts, 30))
        explorer.maps.points(0, "pca")
        server = make_server(explorer)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [where]}, daemon=True)
        thread.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            first, hover, frame = [], [], []
            for _ in range(3):
                shown = browser.new_page(viewport={"width": 1280, "height": 800})
                shown.goto(f"http://127.0.0.1:{where.getsockname()[1]}/")
                shown.wait_for_selector("#app:not([aria-busy])", timeout=60_000)
                first.append(
                    shown.evaluate("() => performance.getEntriesByName('ready')[0].startTime")
                )
                shown.wait_for_timeout(500)
                hover.append(shown.evaluate(HOVER))
                frame.append(shown.evaluate(FRAMES))
                shown.close()
            browser.close()
        server.should_exit = True
        thread.join()
    found = {"first_picture": first, "hover": hover, "frame": frame}
    return {name: statistics.median(times) for name, times in found.items()}


def run() -> dict[str, Any]:
    """Measure both, in milliseconds."""
    model = load_model("minibert", "mean", device="cpu")
    texts = wikipedia(REAL)
    real = unit(Embedder(model)(texts))
    return {"query": queries(model, real, texts), "page": page(model, real, texts)}


def markdown(record: dict[str, Any]) -> str:
    """The table."""
    query, shown = record["query"], record["page"]
    lines = [
        "## The explorer",
        "",
        description(__doc__),
        "",
        "| | milliseconds |",
        "|---|---:|",
        f"| query over {SENTENCES:,} sentences, median | {query['median']:.0f} |",
        f"| the slowest of twenty | {query['worst_of_twenty']:.0f} |",
        f"| {POINTS:,} points, first picture | {shown['first_picture']:.0f} |",
        f"| hover | {shown['hover']:.2f} |",
        f"| frame while zooming | {shown['frame']:.0f} |",
    ]
    return "\n".join(lines) + "\n"
