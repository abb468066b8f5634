"""UMAP from precomputed neighbors, in a separate process.

    python -m clusterns.explorer.umap_process FOLDER START OUTPUT

FOLDER holds the stored neighbors, START the (n, 2) initial positions; OUTPUT receives the
(n, 2) result. Progress goes to stdout, one fraction per line.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clusterns.explorer.corpus import NEAREST_FILE, save_array


class ShareWriter:
    """A file for a progress bar; prints the progress as a fraction."""

    def write(self, text: str) -> int:
        """Print ``done / total`` from a line of the bar."""
        found = re.search(r"(\d+)/(\d+)", text)
        if found and int(found[2]):
            print(int(found[1]) / int(found[2]), flush=True)
        return len(text)

    def flush(self) -> None:
        """Do nothing: writes are not buffered."""


def umap_points(
    neighbors: NDArray[np.int32], cosines: NDArray[np.float32], start: NDArray[np.float32]
) -> NDArray[np.float32]:
    """UMAP from given neighbors and initial positions: (n, 2), the same on every call."""
    import umap

    count, k = neighbors.shape
    indices = np.column_stack([np.arange(count), neighbors]).astype(np.int64)
    distances = np.column_stack([np.zeros(count), 1 - np.clip(cosines, -1, 1)]).astype(np.float32)
    distances[indices < 0] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapper = umap.UMAP(
            n_neighbors=k + 1,
            metric="cosine",
            min_dist=0.2,
            spread=1.2,
            init=np.array(start, dtype=np.float32),
            precomputed_knn=(indices, distances),
            force_approximation_algorithm=True,
            random_state=0,
            n_jobs=1,
            tqdm_kwds={"disable": False, "file": ShareWriter(), "bar_format": "{n}/{total}"},
        )
        # The input is not used: the neighbors are precomputed.
        return mapper.fit_transform(np.zeros((count, 2), dtype=np.float32) + start[:, :2])


if __name__ == "__main__":
    folder, start, output = map(Path, sys.argv[1:4])
    nearest = np.load(folder / NEAREST_FILE, allow_pickle=False)
    begin = np.load(start, allow_pickle=False)
    save_array(output, umap_points(nearest["row"], nearest["cosine"], begin))
