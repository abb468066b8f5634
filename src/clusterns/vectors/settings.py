"""Settings that determine the shards of an encoded corpus, and the partition of one process."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from annotated_types import Ge

from clusterns.data.settings import Unit as Unit
from clusterns.encoder.settings import DType as DType
from clusterns.errors import UserError
from clusterns.settings import Settings

By = Literal["both", "vectors", "words"]
Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]


class Loading(Settings):
    """How a model is loaded, which affects its embeddings."""

    pooling: str | None = None
    """Pooling of a plain encoder: cls, mean, max, lasttoken, first-last-avg, embedding-last-avg or embedding-avg."""
    max_length: Annotated[int | None, Ge(3)] = None
    """Maximum number of tokens per text. Default: the model's own limit."""
    prompt_name: str | None = None
    """Name of the model's prompt to put before each text. Default: the model's default prompt, if any."""
    truncate_dim: Annotated[int | None, Ge(1)] = None
    """Truncate embeddings to this many dimensions. Default: keep all."""
    dtype: DType = "float32"
    """Data type of the weights and the computation; float16 and bfloat16 are for accelerators."""


class EncodeSettings(Settings):
    """Settings that, with the model and the corpus, determine the shards; the same on every machine."""

    precision: Precision = "float32"
    """Precision of the embeddings. int8 and uint8 cover the range of the first 10,000 texts in each dimension, which
    the manifest keeps; binary and ubinary keep the signs, eight to a byte."""
    normalize: bool = False
    """Scale embeddings to length 1, before their precision is reduced."""
    shard_size: Annotated[int, Ge(1)] = 50_000
    """Texts per shard. An interruption loses at most one shard."""
    column: str | None = None
    """Column of the text in tables and JSON lines: a name, or a number from 1 if a table has no header. A text
    file is then read as tab-separated columns."""
    id_column: str | None = None
    """Column of the ids (strings or whole numbers, written as strings); rows with neither id nor text are skipped.
    Default: the number of the row, from 0 over all of the corpus."""
    unit: Unit = "row"
    """Unit of text that gets an embedding. row: every line or row, empty ones too. sentence: their sentences. passage:
    paragraphs of hard-wrapped text and of Markdown, other lines and rows, cut after a sentence if longer than the
    model reads."""
    keep: tuple[str, ...] = ()
    """Column to keep with the text, for display and filters in search. May be repeated."""
    text: bool = True
    """Keep the texts with their embeddings, for search."""


def check_device_name(name: str) -> str:
    """Refuse invalid device names before PyTorch is imported."""
    if re.fullmatch(r"(cpu|cuda|mps|xpu|hpu|npu|mlu|musa|xla|privateuseone)(:\d+)?", name) is None:
        raise UserError(f"--device {name}: a device is cpu, cuda, cuda:1, mps or the like.")
    return name


@dataclass(frozen=True)
class Partition:
    """The shards that this process encodes: every ``count``-th one, starting at ``index``."""

    index: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Partition:
        """Read ``i/n``; i counts from 0."""
        found = re.fullmatch(r"(\d+)/(\d+)", text, re.ASCII)
        if found is None or int(found[1]) >= int(found[2]):
            raise UserError(
                f"--shard {text}: write i/n for part i of n, counted from 0, such as 0/4 to 3/4."
            )
        return cls(int(found[1]), int(found[2]))

    def __contains__(self, number: int) -> bool:
        return number % self.count == self.index
