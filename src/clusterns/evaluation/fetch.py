"""Download SimCSE's archive of SentEval's sets from the Hub and unpack it into the cache."""

from __future__ import annotations

import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

from clusterns.console import log
from clusterns.errors import UserError, one_line
from clusterns.evaluation.catalog import CATALOG, FETCHED, read_from
from clusterns.files import atomic_folder, cache_folder, wrap_os_errors
from clusterns.locks import locked

REPO, ARCHIVE, NAME = "princeton-nlp/datasets-for-simcse", "senteval.tar", "senteval"


@dataclass(frozen=True)
class Fetched:
    """The download folder, the sets that can be read, and the problems of the rest."""

    folder: Path
    sets: list[str]
    problems: list[str]


def fetch_senteval(revision: str = "main", overwrite: bool = False) -> Fetched:
    """Download the archive and unpack it where evaluations look by default.

    Args:
        revision: branch, tag or commit of the dataset on the Hub.
        overwrite: download it again even if it is there.
    """
    folder = cache_folder(FETCHED) / NAME
    with locked(folder):
        if folder.is_dir() and not overwrite:
            log(f"{folder} exists already; use --overwrite to download it again.")
            return _checked(folder)
        downloads = cache_folder("downloads")
        with wrap_os_errors(downloads):
            downloads.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=downloads) as temporary:
                archive = _download(revision, temporary)
                with atomic_folder(folder) as unpacked:
                    _unpack(archive, unpacked)
                    _checked(unpacked)
        return _checked(folder)


def _download(revision: str, folder: str) -> Path:
    from huggingface_hub import HfApi, hf_hub_download

    try:
        commit = HfApi().dataset_info(REPO, revision=revision).sha
        log(f"Downloading {ARCHIVE} of {REPO} at {commit} (pin it with --revision).")
        return Path(
            hf_hub_download(REPO, ARCHIVE, repo_type="dataset", revision=commit, local_dir=folder)
        )
    except Exception as error:  # offline, no such revision, a server error, a cut connection
        raise UserError(
            f"cannot download {ARCHIVE} of {REPO} at {revision}: {one_line(error)}"
        ) from error


def _unpack(archive: Path, folder: Path) -> None:
    """Extract the archive; refuse entries that would leave ``folder``."""
    try:
        with tarfile.open(archive, "r:") as tar:
            tar.extractall(folder, filter="data")
    except (tarfile.TarError, EOFError) as error:
        raise UserError(f"the archive cannot be unpacked: {error}.") from error


def _checked(folder: Path) -> Fetched:
    """Find out which sets can be read; raise if there are none."""
    sets, problems = [], []
    for name in (name for name, each in CATALOG.sets.items() if each.source == NAME and each.suite):
        try:
            if read_from(folder, name) is None:
                problems.append(f"{name} is not in the archive.")
            else:
                sets.append(name)
        except UserError as error:
            problems.append(str(error))
    if not sets:
        raise UserError("the archive does not contain any of SentEval's sets.")
    return Fetched(folder, sets, problems)
