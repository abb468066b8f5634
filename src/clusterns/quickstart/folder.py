"""The folder of a quickstart: replaces an earlier quickstart and touches nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

from clusterns.errors import UserError
from clusterns.files import LOCK_INSIDE, is_partial, wrap_os_errors
from clusterns.locks import lock_file, locked
from clusterns.training.folder import RunFolder

RECIPE = "cpu-small"
# Next to the run of the static embeddings in the same folder.
CLUSTERNS, SCORES, INDEX = "clusterns", "proof.json", "index"


def check_folder(output: Path, overwrite: bool) -> None:
    """Refuse a folder that the quickstart must not write to or replace."""
    folder = RunFolder(output)
    if not folder.is_run:
        folder.check(resume=False)
        return
    if "docstrings" not in folder.record["corpus"]:
        raise UserError(f"{output} holds a run that is not a quickstart. Choose another folder.")
    if not overwrite:
        raise UserError(f"{output} holds a quickstart. Add --overwrite to replace it.")
    own = {*(each.name for each in folder.entries), CLUSTERNS, SCORES, INDEX}
    own |= {LOCK_INSIDE, *(lock_file(output / name).name for name in own)}
    for path in (output, output / CLUSTERNS):
        for entry in path.iterdir() if path.is_dir() else ():
            if entry.name not in own and not is_partial(entry):
                raise UserError(
                    f"{entry} was not made by the quickstart, and --overwrite removes only its own files. Move it "
                    "away, or choose another folder with --output."
                )


def remove_earlier(output: Path) -> None:
    """Remove the files of an earlier quickstart; the folder itself stays."""
    with locked(output), wrap_os_errors(output):
        check_folder(output, overwrite=True)
        # Delete the record last: after an interruption, the folder is still recognized as a quickstart.
        for entry in sorted(output.iterdir(), key=lambda path: path == RunFolder(output).run_file):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            elif entry.name != LOCK_INSIDE:
                entry.unlink(missing_ok=True)
