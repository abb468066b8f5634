"""The sets of SentEval as the one archive that SimCSE uses, fetched, checked and unpacked."""

from __future__ import annotations

import hashlib
import os
import shutil
import tarfile
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath

from clusterns.console import log
from clusterns.errors import UserError
from clusterns.evaluation.catalog import FETCHED, STS, TRANSFER, read_from
from clusterns.evaluation.download import Advance, discard, download
from clusterns.files import atomic_folder, cache_folder, read_json, write_json
from clusterns.locks import locked

ARCHIVE = "datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
# Not known beforehand: the first fetch puts it on record, and later ones must match.
SHA256: str | None = None
NAME = "senteval"


@dataclass(frozen=True)
class Fetched:
    """Where the sets are, which there are, and what is wrong with others."""

    folder: Path
    sets: list[str]
    troubles: list[str]


def archive_url() -> str:
    """The archive on the Hub, or on the mirror that HF_ENDPOINT names."""
    return f"{os.environ.get('HF_ENDPOINT') or 'https://huggingface.co'}/{ARCHIVE}"


def fetch_senteval(
    url: str | None = None,
    sha256: str | None = None,
    again: bool = False,
    advance: Advance = lambda there, total: None,
) -> Fetched:
    """Download the archive, check it, and unpack it where evaluations look by themselves.

    Args:
        url: another place of the archive.
        sha256: what its checksum must be. None: the one on record, if any.
        again: fetch it although it is there.
        advance: told how many bytes are there, and how many there will be.
    """
    folder = cache_folder(FETCHED) / NAME
    with locked(folder):
        if folder.is_dir() and not again:
            log(f"{folder} is there already (--overwrite downloads it again).")
            return _checked(folder)
        url = url or archive_url()
        archive = cache_folder("downloads") / f"{NAME}.tar"
        announced = download(url, archive, advance)
        digest = digest_of(archive)
        try:
            _check_digest(url, digest, sha256 or SHA256, announced)
            with atomic_folder(folder) as temporary:
                unpack(archive, temporary)
                _checked(temporary)
        finally:
            discard(archive)  # unpacked, or not to be trusted
        write_json(_record_file(), _records() | {url: _note(digest)})
        return _checked(folder)


def digest_of(path: Path) -> str:
    """The sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(2**20):
            digest.update(chunk)
    return digest.hexdigest()


def unpack(archive: Path, folder: Path) -> None:
    """Take the files out of a plain tar archive; anything but files inside ``folder`` is refused."""
    try:
        with tarfile.open(archive, "r:") as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if name.is_absolute() or ".." in name.parts or "\\" in member.name:
                    raise UserError(f"the archive is refused: {member.name!r} leads out of it.")
                if member.isdir():
                    continue
                content = tar.extractfile(member) if member.isfile() else None
                if content is None:
                    raise UserError(f"the archive is refused: {member.name!r} is no plain file.")
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("xb") as file:
                    shutil.copyfileobj(content, file)
                if target.stat().st_size != member.size:
                    raise tarfile.ReadError("unexpected end of data")
    except (tarfile.TarError, EOFError, FileExistsError) as error:
        raise UserError(f"the archive is not a whole tar file: {error}.") from error


def _checked(folder: Path) -> Fetched:
    """Look which sets can be read; none at all is an error."""
    sets, troubles = [], []
    for name in (*STS, *TRANSFER):
        try:
            if read_from(folder, name) is None:
                troubles.append(f"{name} is not in the archive.")
            else:
                sets.append(name)
        except UserError as error:
            troubles.append(str(error))
    if not sets:
        raise UserError("the archive holds none of SentEval's sets.")
    return Fetched(folder, sets, troubles)


def _check_digest(url: str, digest: str, expected: str | None, announced: str | None) -> None:
    if announced is not None and digest != announced:
        raise UserError(
            f"{url} was damaged on the way: sha256 {digest}, announced {announced}. Fetch it again."
        )
    earlier = _records().get(url)
    if expected is not None:
        if digest != expected.lower():
            raise UserError(f"{url} has sha256 {digest}, and not {expected} as it should.")
    elif earlier is not None:
        if digest != earlier["sha256"]:
            raise UserError(
                f"{url} has changed since it was fetched on {earlier['date'][:10]}: sha256 {digest}, "
                f"then {earlier['sha256']}. If you trust it: --sha256 {digest}."
            )
    else:
        more = ", as the Hub announced it" if announced else ""
        log(
            f"The checksum of {url} was not known beforehand, so this first fetch is trusted: "
            f"sha256 {digest}{more}. It is on record in {_record_file()}, and later fetches must "
            "match it."
        )


def _note(digest: str) -> dict[str, str]:
    return {
        "sha256": digest,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _record_file() -> Path:
    return cache_folder("downloads") / "record.json"


def _records() -> dict[str, dict[str, str]]:
    path = _record_file()
    if not path.is_file():
        return {}
    try:
        return dict(read_json(path))
    except (ValueError, TypeError) as error:
        raise UserError(f"{path} is broken: delete it.") from error
