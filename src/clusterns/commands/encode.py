"""``clusterns encode``: encode a corpus of any size into shards of embeddings."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from annotated_types import Ge
from pydantic import Field

from clusterns.commands.options import Devices, EncoderOptions, OutputFolder, Texts, as_list
from clusterns.commands.request import Cli, function, same_as
from clusterns.commands.workers import WorkerOptions, program
from clusterns.console import log, stdout
from clusterns.data.sources import check_sources
from clusterns.encoder.locate import check_model
from clusterns.errors import UserError
from clusterns.files import read_json
from clusterns.vectors.settings import EncodeSettings, Partition

if TYPE_CHECKING:
    from clusterns.vectors.encode import EncodeReport


class EncodeRequest(EncodeSettings, EncoderOptions):
    """Encode a corpus of any size into shards of embeddings.

    To resume an interrupted call, repeat it.

    ```python
    from clusterns import encode

    report = encode("minibert", "corpus.txt", "vectors", pooling="mean")
    print(report.texts, report.shards, report.truncated)
    ```
    """

    corpus: Texts = Field(kw_only=False)
    """Text to encode: .txt, .md, .markdown, .rst, .html, .htm, .json, .jsonl, .ndjson, .csv, .tsv or .parquet files
    (also .gz, .xz, .bz2, .zst), folders of them, or Hub datasets as owner/name[:config[:split]]. Every line or row
    gets an embedding, in order; a row without text gets that of the empty text."""
    output: OutputFolder = Field(kw_only=False)
    """Folder to write. Finished shards in it are kept; shards of another model, corpus or setting are refused."""
    keep: Annotated[tuple[str, ...], Cli(list[str], metavar="COLUMN")] = same_as(
        EncodeSettings, "keep", ()
    )
    update: bool = False
    """Update the folder to a changed corpus: texts that it already holds are not encoded again (float32 only)."""
    shard: Annotated[str, Cli(metavar="I/N")] = "0/1"
    """Encode only shards I, I+N, I+2N, ..., to divide the work by hand; I counts from 0 to N-1."""
    batch_size: Annotated[int, Ge(1)] = 32
    """Batch size. May change on resume."""
    device: Devices = ()
    """Device: cpu, cuda:0, ... May be repeated: one process each. Default: every accelerator, else the CPU."""

    @property
    def partition(self) -> Partition:
        """The shards that this call encodes."""
        return Partition.parse(self.shard)

    def run(self) -> EncodeReport:
        """Encode the missing shards."""
        self.check()
        from clusterns.encoder.load import check_devices, load_model
        from clusterns.vectors.embed import all_devices
        from clusterns.vectors.encode import encode_corpus

        devices = check_devices(as_list(self.device) or all_devices())
        if len(devices) > 1:  # else Python reports leaked locks
            os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
        first = devices[0] if len(devices) == 1 else "cpu"
        return encode_corpus(
            as_list(self.corpus),
            load_model(str(self.model), device=first, **self.loading.model_dump()),
            Path(self.output),
            EncodeSettings(**self.model_dump(include=set(EncodeSettings.model_fields))),
            name=str(self.model),
            loading=self.loading,
            partition=self.partition,
            batch_size=self.batch_size,
            devices=devices,
            update=self.update,
        )

    def check(self) -> None:
        """Validate the request before heavy imports."""
        from clusterns.vectors.store import read_manifest

        if self.partition.count > 1 and self.update:
            raise UserError("--update and --shard cannot be combined: one call updates the folder.")
        check_sources(as_list(self.corpus))
        read_manifest(Path(self.output))
        check_model(str(self.model), self.pooling)


class EncodeCommand(EncodeRequest, WorkerOptions):
    """Encode a corpus of any size into shards of embeddings.

    A first one:   clusterns encode runs/first corpus.txt --output vectors

    Search them:   clusterns search runs/first "came too late" vectors

    To resume after an interruption, run the same command again: finished shards are kept, the result is the same.

    On a cluster, add --on ray --workers 16, or --on slurm; killed workers are replaced.

    On four machines without a cluster: run the same command with --shard 0/4, 1/4, 2/4 and 3/4

    To save space, add: --normalize --precision int8

    To use the ids of a table, add: --column body --id-column key
    """

    on: Literal["local", "ray", "slurm"] | None = None
    """Distribute the shards: over local processes, Ray (the cluster at RAY_ADDRESS, else this machine) or Slurm.
    Default: encode in this process."""

    def perform(self) -> None:
        """Encode in this process or in workers."""
        if self.on is None:
            super().perform()
        else:
            self._distribute(self.on)

    def resume_hint(self) -> str:
        return "Finished shards are kept: run the same command again to continue."

    def show(self, result: EncodeReport) -> None:
        """Report the work of this call, and how to open the shards once they are complete."""
        log(f"{result.encoded:,} of {result.texts:,} texts were encoded in this call.")
        if result.truncated:
            log(
                f"{result.truncated:,} of them ({result.truncated / result.encoded:.1%}) are longer than "
                f"{result.max_length} tokens and were truncated."
            )
        if result.empty:
            log(f"{result.empty:,} of them are empty.")
        if result.missing:
            count = self.partition.count
            left = sorted({number % count for number in result.missing})
            log(
                f"{len(result.missing):,} of {result.shards:,} shards are missing. Encode them with --shard "
                f"{', '.join(f'{index}/{count}' for index in left)}."
            )
        else:
            self._how_to_open(result.texts, result.shards)

    @property
    def scratch(self) -> Path:
        """A folder next to the output for the logs of the workers and the files of submitit."""
        output = Path(self.output).resolve()
        return output.with_name(f".{output.name}.encode")

    def _distribute(self, on: str) -> None:
        """Let each worker encode a share; finished shards of a killed worker are kept."""
        if self.shard != "0/1":
            raise UserError(
                f"--shard {self.shard}: --on divides the shards itself. Remove one of the two options."
            )
        self.check()
        from clusterns.lab.launch import Task, launch
        from clusterns.vectors.store import COMPLETE

        tasks = []
        for index in range(self.workers):
            share = self.model_copy(update={"shard": f"{index}/{self.workers}", "on": None})
            work = program("encode", share, self.scratch / f"share-{index}.txt")
            tasks.append(Task(f"share {index} of {self.workers}", work))
        with self.launcher(on, self.scratch) as launcher:
            failed = launch(tasks, launcher, self.workers, unit="share", title="Encode")
        if failed:
            name, why = next(iter(failed.items()))
            raise UserError(f"{len(failed)} of {self.workers} shares failed, first {name}: {why}")
        shutil.rmtree(self.scratch, ignore_errors=True)
        found = read_json(Path(self.output) / COMPLETE)
        self._how_to_open(found["texts"], found["shards"])

    def _how_to_open(self, texts: int, shards: int) -> None:
        from clusterns.vectors.store import Store

        stdout.print(  # not wrapped, for copying
            f"{texts:,} texts in {shards:,} shards in {self.output}:\n"
            + Store.open(Path(self.output)).how_to_open(),
            soft_wrap=True,
        )


encode = function(EncodeRequest)
