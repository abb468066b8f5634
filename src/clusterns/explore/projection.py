"""Sentences as points of a plane: PCA at once, UMAP when it is ready, both kept."""

from __future__ import annotations

import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar, say
from clusterns.explore.kept import find_kept, keep, kept
from clusterns.explore.lens import Lens

Points = NDArray[np.float32]
CHUNK = 20_000
FEWEST = 50  # sentences that UMAP can do something with
PCA, UMAP = "pca", "umap"


def pca(vectors: NDArray[np.float32]) -> Points:
    """The two directions of most variance: (n, 2). The larger half of each axis is positive."""
    count, dimension = vectors.shape
    mean, products = np.zeros(dimension), np.zeros((dimension, dimension))
    for start in range(0, count, CHUNK):
        part = np.asarray(vectors[start : start + CHUNK], dtype=np.float64)
        mean += part.sum(axis=0) / count
        products += part.T @ part / count
    _, directions = np.linalg.eigh(products - np.outer(mean, mean))
    axes = directions[:, ::-1][:, :2]
    if axes.shape[1] < 2:
        axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    # The sign of a direction is chance.
    axes = axes * np.where(axes.sum(axis=0) < 0, -1.0, 1.0)
    points = [
        (np.asarray(vectors[start : start + CHUNK], dtype=np.float64) - mean) @ axes
        for start in range(0, count, CHUNK)
    ]
    return np.concatenate(points).astype(np.float32)


def turned(points: Points, onto: Points) -> Points:
    """``points`` moved, turned and mirrored to lie as near to ``onto`` as they can, and as wide.

    The scale that brings them nearest would make a map that has little to do with the other one
    vanish in a dot.
    """
    here, there = points - points.mean(axis=0), onto - onto.mean(axis=0)
    u, _, vt = np.linalg.svd(here.T.astype(np.float64) @ there)
    spread = [float((part.astype(np.float64) ** 2).sum()) for part in (here, there)]
    scale = (spread[1] / spread[0]) ** 0.5 if spread[0] > 0 else 1.0
    return ((here @ (u @ vt)) * scale + onto.mean(axis=0)).astype(np.float32)


def quantised(points: Points, *beside: Points) -> NDArray[np.uint16]:
    """(n, 2) places in a square of 65,536 steps, for the page; both axes have the same scale.

    Points of other maps that lie on the same plane have their place in the square too.
    """
    everything = np.concatenate([points, *beside])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    return np.round((points - (low + high) / 2) / size * 65535 + 32767.5).astype(np.uint16)


class Maps:
    """The maps of one model, or of two on the same plane: the second starts from the first."""

    def __init__(self, lenses: list[Lens]) -> None:
        self.lenses = lenses
        self.share = 0.0
        self._process: subprocess.Popen[str] | None = None
        self._ended = False
        self.refining = False

    def path(self, lens: int, kind: str) -> Path:
        """Where the map of a model is kept."""
        first, own = self.lenses[0], self.lenses[lens]
        beside = f"-on-{first.digest[:12]}" if lens else ""
        return own.folder / f"{kind}{beside}.npy"

    def points(self, lens: int, kind: str) -> Points | None:
        """(n, 2) places, or None while they are being computed."""
        if kind == PCA:
            return kept(self.path(lens, PCA), lambda: self._pca(lens))
        return find_kept(self.path(lens, kind))

    def _pca(self, lens: int) -> Points:
        own = pca(self.lenses[lens].vectors)
        first = self.points(0, PCA) if lens else None
        return own if first is None else turned(own, np.asarray(first))

    @property
    def kinds(self) -> list[str]:
        """The maps that are ready for all models."""
        ready = all(self.path(n, UMAP).is_file() for n in range(len(self.lenses)))
        return [PCA, UMAP] if ready else [PCA]

    @property
    def pending(self) -> str | None:
        """What is still to come, in words."""
        if not self.refining or UMAP in self.kinds:
            return None
        return f"A better map (UMAP) is on its way: {self.share:.0%}"

    # ---- UMAP, in a process of its own: it would hold up the answers of this one

    def refine(self) -> None:
        """Make the first maps, and begin to compute the better ones."""
        for n in range(len(self.lenses)):
            self.points(n, PCA)
        if UMAP in self.kinds or len(self.lenses[0]) < FEWEST:
            return
        if find_spec("umap") is None:
            say("The map is a PCA; for a better one: pip install 'clusterns[umap]'.")
            return
        for lens in self.lenses:  # their bars come before the address of the page
            _ = lens.neighbours
        self.refining = True
        shown = bar(total=100, desc="UMAP", unit="%", leave=False)
        threading.Thread(target=self._refine_all, args=(shown,), daemon=True).start()

    def _refine_all(self, shown: Any) -> None:
        with shown:
            for n in range(len(self.lenses)):
                if not self._ended and find_kept(self.path(n, UMAP)) is None:
                    self._refine(n, shown)
        self.refining = False

    def _refine(self, lens: int, shown: Any) -> None:
        _ = self.points(0, PCA)
        start = self.path(0, UMAP if lens else PCA)
        part = self.path(lens, "umap-raw")
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "clusterns.explore.umap_process",
                self.lenses[lens].folder,
                start,
                part,
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is for this process, which then ends that one
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.share = (lens + float(line)) / len(self.lenses)
            shown.update(round(100 * self.share) - shown.n)
        if self._process.wait() == 0:
            points = np.asarray(find_kept(part))
            first = find_kept(self.path(0, UMAP)) if lens else None
            keep(self.path(lens, UMAP), points if first is None else turned(points, first))
            part.unlink(missing_ok=True)
        elif not self._ended:
            say("UMAP failed; the map stays a PCA.")

    def end(self) -> None:
        """Stop what is under way."""
        self._ended = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
