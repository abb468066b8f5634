"""One file over HTTP: resumed where it was cut, whole or not at all."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path
from typing import IO, Any

from clusterns.errors import UserError
from clusterns.files import read_json, wrap_os_errors, write_json

CHUNK = 2**18
TIMEOUT = 30.0
PAUSES = (0.5, 1.0, 2.0, 4.0)  # seconds before each further try
Advance = Callable[[int, int | None], object]
"""Told how many bytes are there, and how many there will be where that is known."""


@dataclass
class Announced(urllib.request.HTTPRedirectHandler):
    """Follows redirects, and keeps the checksum that the Hub announces in one of them."""

    sha256: str | None = field(default=None)

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any,
        newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        """Note the checksum and go on."""
        self.note(headers)
        return super().redirect_request(req, fp, code, msg, headers, newurl)

    def note(self, headers: Message) -> None:
        """Keep what the Hub says a large file's checksum is."""
        tag = (headers.get("X-Linked-ETag") or "").strip('"')
        if len(tag) == 64:
            self.sha256 = tag


def download(url: str, path: Path, advance: Advance = lambda there, total: None) -> str | None:
    """Fetch ``url`` to ``path``, going on with what an earlier call left in ``path``.part.

    A cut connection is tried again a few times. Returns the checksum that the server announced,
    where it is the Hub.
    """
    if urllib.parse.urlparse(url).scheme not in ("http", "https"):
        raise UserError(f"{url}: only http and https are fetched.")
    redirects = Announced()
    opener = urllib.request.build_opener(redirects)
    path.parent.mkdir(parents=True, exist_ok=True)
    with wrap_os_errors(path):
        for pause in (*PAUSES, None):
            try:
                if _once(opener, redirects, url, path, advance):
                    return redirects.sha256
                trouble = "the connection was cut"
            except urllib.error.HTTPError as error:
                if error.code < 500:
                    raise UserError(
                        f"{url}: the server says {error.code} {error.reason}."
                    ) from None
                trouble = f"the server says {error.code} {error.reason}"
            except (
                urllib.error.URLError,
                http.client.HTTPException,
                ConnectionError,
                TimeoutError,
            ) as error:
                trouble = str(getattr(error, "reason", error)) or type(error).__name__
            if pause is not None:
                time.sleep(pause)
    there = part_of(path).stat().st_size if part_of(path).is_file() else 0
    raise UserError(
        f"cannot fetch {url}: {trouble}. {there:,} bytes are kept: the same command goes on there."
    )


def part_of(path: Path) -> Path:
    """What is there of a file that is not whole yet."""
    return path.with_name(f"{path.name}.part")


def discard(path: Path) -> None:
    """Remove a file, and what there is of it."""
    for each in (path, part_of(path), _state_of(path)):
        each.unlink(missing_ok=True)


def _state_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.part.json")


def _once(
    opener: urllib.request.OpenerDirector,
    redirects: Announced,
    url: str,
    path: Path,
    advance: Advance,
) -> bool:
    """Fetch what is missing; tells whether the file is whole now."""
    part, state = part_of(path), _state_of(path)
    there, mark = _begun(url, part, state)
    request = urllib.request.Request(url, headers={"User-Agent": "clusterns"})
    if there:
        # Only if the file is still the same: else the server sends all of it.
        request.add_header("Range", f"bytes={there}-")
        request.add_header("If-Range", mark)
    try:
        response = opener.open(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        discard(path)  # no such range: the file has become another
        return False
    with response:
        redirects.note(response.headers)
        goes_on = response.status == 206 and _starts_at(response.headers, there)
        if response.status == 206 and not goes_on:
            discard(path)
            return False
        there = there if goes_on else 0
        length = response.headers.get("Content-Length")
        total = there + int(length) if length is not None else None
        mark = response.headers.get("ETag") or response.headers.get("Last-Modified")
        if mark and not mark.startswith("W/"):
            write_json(state, {"url": url, "mark": mark})
        else:
            state.unlink(missing_ok=True)
        with part.open("ab" if goes_on else "wb") as file:
            advance(there, total)
            while chunk := response.read(CHUNK):
                file.write(chunk)
                there += len(chunk)
                advance(there, total)
    if total is not None and there != total:
        return False
    part.replace(path)
    state.unlink(missing_ok=True)
    return True


def _begun(url: str, part: Path, state: Path) -> tuple[int, str]:
    """How much is there of a file that can be gone on with, and what marks its version."""
    try:
        begun = read_json(state)
        if begun["url"] == url and part.stat().st_size:
            return part.stat().st_size, str(begun["mark"])
    except (OSError, json.JSONDecodeError, KeyError, TypeError):
        pass
    return 0, ""


def _starts_at(headers: Message, there: int) -> bool:
    return (headers.get("Content-Range") or "").startswith(f"bytes {there}-")
