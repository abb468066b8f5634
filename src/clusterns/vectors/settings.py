"""What decides the files of an encoded corpus, and which of them one process makes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from clusterns.errors import UserError
from clusterns.settings import Settings

Format = Literal["parquet", "npy"]
Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]


class EncodeSettings(Settings):
    """What decides the shards of a model and a corpus; the same on every machine."""

    format: Format = "parquet"
    """Kind of the files."""
    precision: Precision = "float32"
    """Kind of the numbers in them."""
    normalize: bool = False
    """Scale vectors to length 1, before their precision is lowered."""
    shard_size: int = Field(default=50_000, ge=1)
    """Texts a file."""
    column: str | None = None
    """Column of the text. None: "text", "sentence", or the only one there is."""
    id_column: str | None = None
    """Column of the ids. None: the number of the row, from 0."""
    text: bool = True
    """Keep the texts beside their vectors, which a search shows."""


@dataclass(frozen=True)
class Share:
    """Which shards this process makes: every ``count``-th one, from number ``index`` on."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Share:
        """Read ``i/n``; i counts from 0."""
        found = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
        if found is None or int(found[1]) >= int(found[2]):
            raise UserError(
                f"--shard {text}: write i/n for share i of n, counted from 0, such as 0/4 to 3/4."
            )
        return cls(int(found[1]), int(found[2]))

    def __contains__(self, number: int) -> bool:
        return number % self.count == self.index
