"""2-D maps of sentences: a PCA at once, and a UMAP computed in the background; both are stored."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clusterns.console import bar, log
from clusterns.explorer.corpus import EmbeddedCorpus, cached_array, load_array, save_array

Points = NDArray[np.float32]
MIN_UMAP = 50  # sentences
PCA, UMAP = "pca", "umap"


def pca(vectors: NDArray[np.float32]) -> Points:
    """Project onto the two directions of largest variance: (n, 2)."""
    from sklearn import decomposition

    axes = min(2, *vectors.shape)
    points = decomposition.PCA(axes, svd_solver="covariance_eigh", copy=False).fit_transform(
        vectors
    )
    return np.pad(points, ((0, 0), (0, 2 - axes))).astype(np.float32)


def procrustes_align(points: Points, onto: Points) -> Points:
    """Move, rotate and mirror ``points`` to match ``onto``, scaled to the same spread.

    The least-squares scale would shrink a very different map to a dot.
    """
    from scipy.linalg import orthogonal_procrustes

    here, there = points - points.mean(axis=0), onto - onto.mean(axis=0)
    rotation, _ = orthogonal_procrustes(here, there)
    scale = np.linalg.norm(there) / (np.linalg.norm(here) or 1)
    return (here @ rotation * scale + onto.mean(axis=0)).astype(np.float32)


def quantize(points: Points, *others: Points) -> NDArray[np.uint16]:
    """Convert (n, 2) positions to 16-bit integers, with one scale for both axes.

    The range also covers ``others``, further maps of the same plane.
    """
    everything = np.concatenate([points, *others])
    low, high = everything.min(axis=0), everything.max(axis=0)
    size = max(float((high - low).max()), 1e-12)
    return np.round((points - (low + high) / 2) / size * 65535 + 32767.5).astype(np.uint16)


class Projections:
    """The maps of one model, or of two models on one plane: the second map starts from the first."""

    def __init__(self, corpora: Sequence[EmbeddedCorpus]) -> None:
        self.corpora = corpora
        self.progress = 0.0
        self.running = False
        self._process: subprocess.Popen[str] | None = None
        self._stopped = False

    def path(self, model: int, kind: str) -> Path:
        """The file of the map of a model."""
        first, own = self.corpora[0], self.corpora[model]
        return own.folder / f"{kind}{f'-on-{first.digest[:12]}' if model else ''}.npy"

    def points(self, model: int, kind: str) -> Points | None:
        """(n, 2) positions; None while they are being computed."""
        path = self.path(model, kind)
        return cached_array(path, lambda: self._pca(model)) if kind == PCA else load_array(path)

    def _pca(self, model: int) -> Points:
        return self._aligned(pca(self.corpora[model].vectors), model, PCA)

    def _aligned(self, points: Points, model: int, kind: str) -> Points:
        onto = self.points(0, kind) if model else None
        return points if onto is None else procrustes_align(points, onto)

    @property
    def kinds(self) -> list[str]:
        """The maps that are ready for all models."""
        ready = all(self.path(n, UMAP).is_file() for n in range(len(self.corpora)))
        return [PCA, UMAP] if ready else [PCA]

    @property
    def pending(self) -> str | None:
        """Describe the computation in progress, if any."""
        if not self.running or UMAP in self.kinds:
            return None
        return f"Computing a better map (UMAP): {self.progress:.0%}"

    # ---- UMAP runs in a separate process, so that it does not delay responses

    def start(self) -> None:
        """Compute the PCA, then start UMAP in the background."""
        for n in range(len(self.corpora)):
            self.points(n, PCA)
        if UMAP in self.kinds or len(self.corpora[0]) < MIN_UMAP:
            return
        if find_spec("umap") is None:
            log("The map is a PCA. For a better one: pip install 'clusterns[umap]'")
            return
        for corpus in self.corpora:  # show these progress bars before the address of the page
            _ = corpus.neighbors
        self.running = True
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            with bar(total=100, desc="UMAP", unit="%", leave=False) as shown:
                for n in range(len(self.corpora)):
                    if not self._stopped and load_array(self.path(n, UMAP)) is None:
                        self._umap(n, shown)
        except Exception as error:
            log(f"UMAP failed ({error}). The map stays a PCA.")
        finally:
            self.running = False

    def _umap(self, model: int, shown: Any) -> None:
        start = self.path(0, UMAP if model else PCA)
        raw = self.path(model, "umap-raw")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "clusterns.explorer.umap_process",
             self.corpora[model].folder, start, raw],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            start_new_session=True,  # Ctrl-C goes to this process, which then stops the other one
        )  # fmt: skip
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.progress = (model + float(line)) / len(self.corpora)
            shown.update(round(100 * self.progress) - shown.n)
        if self._process.wait() and not self._stopped:
            raise RuntimeError(f"exit code {self._process.returncode}")
        points = load_array(raw)
        if points is not None:
            save_array(self.path(model, UMAP), self._aligned(np.asarray(points), model, UMAP))
            raw.unlink()

    def stop(self) -> None:
        """Stop the computation."""
        self._stopped = True
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()
