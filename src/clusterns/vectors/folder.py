"""A finished folder of vectors, opened again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.vectors.manifest import COMPLETE, MANIFEST, Manifest, read_manifest
from clusterns.vectors.precision import decoded


@dataclass(frozen=True)
class VectorFolder:
    """What ``clusterns encode`` has written and finished."""

    path: Path
    manifest: Manifest
    shards: int
    texts: int

    @classmethod
    def open(cls, path: Path) -> VectorFolder:
        """Open a folder; refuse one that is not there, not of vectors, or not finished."""
        manifest = read_manifest(path) if (path / MANIFEST).is_file() else None
        if manifest is None:
            raise UserError(
                f"cannot read the vectors in {path}: it is no folder that `clusterns encode` wrote."
            )
        try:
            counts = read_json(path / COMPLETE)
            return cls(path, manifest, counts["shards"], counts["texts"])
        except FileNotFoundError:
            raise UserError(
                f"{path} is not complete: go on with the command that has begun it."
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"cannot read {path / COMPLETE}: {error}.") from error

    @property
    def dimension(self) -> int:
        """Numbers a vector, when its bits are decoded."""
        if self.manifest.model.dimension is not None:
            return self.manifest.model.dimension
        _, stored = self.manifest.shards(self.path).read(0)
        return stored.shape[1] * (8 if "binary" in self.manifest.settings.precision else 1)

    def blocks(self) -> Iterator[tuple[pa.Table, NDArray[np.float32]]]:
        """Yield the rows (id and text) and the (n, d) vectors of each shard."""
        shards, size = self.manifest.shards(self.path), self.manifest.settings.shard_size
        for number in range(self.shards):
            if not shards.is_done(number, min(size, self.texts - number * size)):
                raise UserError(
                    f"{shards.path(number)} is missing, damaged or of another model: give the "
                    "`clusterns encode` command again, which makes it anew."
                )
            rows, stored = shards.read(number)
            yield rows, decoded(stored, self.manifest)

    def check_model(self, fingerprint: str, name: str) -> None:
        """Refuse to compare vectors of two models."""
        if fingerprint != self.manifest.model.fingerprint:
            raise UserError(
                f"the vectors in {self.path} are of another model ({self.manifest.model.name}, "
                f"fingerprint {self.manifest.model.fingerprint[:8]}) than {name} "
                f"({fingerprint[:8]}): name that model, or encode the text with this one."
            )
