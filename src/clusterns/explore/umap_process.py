"""UMAP of one model's neighbours, in a process of its own.

    python -m clusterns.explore.umap_process FOLDER START OUTPUT

FOLDER holds neighbours.npy and cosines.npy, START the (n, 2) points to start from; OUTPUT gets the
(n, 2) points. The share that is done goes to stdout, a line each.
"""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clusterns.explore.kept import keep


class Share:
    """A file that a progress bar writes to: the share that is done, for another process."""

    def write(self, text: str) -> int:
        """Read ``done/all`` out of a line of the bar."""
        found = re.search(r"(\d+)/(\d+)", text)
        if found and int(found[2]):
            print(int(found[1]) / int(found[2]), flush=True)
        return len(text)

    def flush(self) -> None:
        """Nothing is held back."""


def refined(
    neighbours: NDArray[np.int32], cosines: NDArray[np.float32], start: NDArray[np.float32]
) -> NDArray[np.float32]:
    """UMAP from given neighbours and a given start: (n, 2); the same on every call."""
    import umap

    count, k = neighbours.shape
    indices = np.column_stack([np.arange(count), neighbours]).astype(np.int64)
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
            tqdm_kwds={"disable": False, "file": Share(), "bar_format": "{n}/{total}"},
        )
        # The vectors are not looked at: their neighbours are known.
        return mapper.fit_transform(np.zeros((count, 2), dtype=np.float32) + start[:, :2])


if __name__ == "__main__":
    folder, start, output = map(Path, sys.argv[1:4])
    keep(
        output,
        refined(
            np.load(folder / "neighbours.npy", allow_pickle=False),
            np.load(folder / "cosines.npy", allow_pickle=False),
            np.load(start, allow_pickle=False),
        ),
    )
