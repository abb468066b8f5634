"""The archive of SentEval's sets from a server on this machine: cut, resumed, damaged, hostile."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from clusterns.cli import app
from clusterns.errors import UserError
from clusterns.evaluation import download, fetch, hub
from clusterns.evaluation.catalog import VARIABLE, EvaluationData


def tar_of(files: dict[str, str], *extra: tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
        for member in extra:
            tar.addfile(member, io.BytesIO(b"x" * member.size))
    return content.getvalue()


MPQA = {"MPQA/mpqa.pos": "good\n" * 3311, "MPQA/mpqa.neg": "bad\n" * 7295}
ARCHIVE = tar_of(MPQA)


class Server(ThreadingHTTPServer):
    """Serves ``content`` under any name, behind a redirect; may cut the answer short."""

    content = ARCHIVE
    etag = '"one"'
    cuts: list[int]
    asked: list[str | None]
    announced = ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.cuts, self.asked = [], []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/resolve/senteval.tar"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path.startswith("/resolve"):
            self.send_response(302)
            self.send_header("Location", "/elsewhere.tar")
            if self.server.announced:
                self.send_header("X-Linked-ETag", f'"{self.server.announced}"')
            self.end_headers()
            return
        asked = self.headers.get("Range")
        self.server.asked.append(asked)
        content, start = self.server.content, 0
        if asked and self.headers.get("If-Range") == self.server.etag:
            start = int(asked.removeprefix("bytes=").removesuffix("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        else:
            self.send_response(200)
        self.send_header("Content-Length", str(len(content) - start))
        self.send_header("ETag", self.server.etag)
        self.end_headers()
        end = self.server.cuts.pop(0) if self.server.cuts else len(content)
        self.wfile.write(content[start:end])
        self.close_connection = True

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, daemon=True)
        thread.start()
        yield running
        running.shutdown()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLUSTERNS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(hub, "reachable", lambda: False)
    return tmp_path / "cache"


def test_fetched_sets_are_found_without_being_named(server: Server, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    found = fetch.fetch_senteval(server.url, advance=lambda *step: seen.append(step))
    assert found.sets == ["MPQA"]
    assert "STS12 is not in the archive." in found.troubles
    assert seen[0] == (0, len(ARCHIVE))
    assert seen[-1] == (len(ARCHIVE), len(ARCHIVE))
    assert len(EvaluationData().task("MPQA").train.texts) == 10606
    assert not list(cache.rglob("*.tar*"))  # it can be had again


def test_a_cut_connection_goes_on_where_it_was(server: Server) -> None:
    server.cuts = [30_000, 50_000]
    assert fetch.fetch_senteval(server.url).sets == ["MPQA"]
    assert server.asked == [None, "bytes=30000-", "bytes=50000-"]


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(server: Server, cache: Path) -> None:
    server.cuts = [1000, 2000, 3000]
    with pytest.raises(UserError, match="3,000 bytes are kept: the same command goes on there"):
        fetch.fetch_senteval(server.url)
    assert not (cache / "data/senteval").exists()
    fetch.fetch_senteval(server.url)
    assert server.asked[-1] == "bytes=3000-"


def test_a_file_that_has_become_another_is_begun_anew(server: Server) -> None:
    server.cuts = [1000, 1000, 1000]
    with pytest.raises(UserError):
        fetch.fetch_senteval(server.url)
    server.content, server.etag = tar_of(MPQA | {"README": "new"}), '"two"'
    found = fetch.fetch_senteval(server.url)
    assert (found.folder / "README").read_text() == "new"


def test_without_a_mark_of_its_version_nothing_is_joined(server: Server) -> None:
    server.etag, server.cuts = 'W/"weak"', [1000]
    assert fetch.fetch_senteval(server.url).sets == ["MPQA"]
    assert server.asked == [None, None]


def test_a_wrong_checksum_leaves_nothing(server: Server, cache: Path) -> None:
    with pytest.raises(UserError, match=f"has sha256 [0-9a-f]{{64}}, and not {'0' * 64}"):
        fetch.fetch_senteval(server.url, sha256="0" * 64)
    assert not (cache / "data/senteval").exists()
    assert not list(cache.rglob("*.tar*"))
    right = hashlib.sha256(ARCHIVE).hexdigest()
    assert fetch.fetch_senteval(server.url, sha256=right.upper()).sets == ["MPQA"]


def test_what_the_hub_announces_is_checked(server: Server) -> None:
    server.announced = "0" * 64
    with pytest.raises(UserError, match="was damaged on the way"):
        fetch.fetch_senteval(server.url)
    server.announced = hashlib.sha256(ARCHIVE).hexdigest()
    assert fetch.fetch_senteval(server.url).sets == ["MPQA"]


def test_the_first_fetch_is_trusted_aloud_and_later_ones_must_match(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    found = fetch.fetch_senteval(server.url)
    digest = hashlib.sha256(ARCHIVE).hexdigest()
    assert f"this first fetch is trusted: sha256 {digest}" in capsys.readouterr().err
    server.content = tar_of(MPQA | {"README": "new"})
    assert fetch.fetch_senteval(server.url).sets == ["MPQA"]  # there already
    with pytest.raises(UserError, match="has changed since it was fetched on"):
        fetch.fetch_senteval(server.url, again=True)
    assert not (found.folder / "README").exists()
    assert (found.folder / "MPQA/mpqa.pos").exists()  # the old one stays
    new = hashlib.sha256(server.content).hexdigest()
    fetch.fetch_senteval(server.url, sha256=new, again=True)
    assert (found.folder / "README").exists()


def link(name: str, target: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = tarfile.SYMTYPE, target
    return member


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"not a tar file at all" * 100, "not a whole tar file"),
        (ARCHIVE[:20_000], "not a whole tar file"),
        (tar_of({"../escaped": "x"} | MPQA), "leads out of it"),
        (tar_of({"/tmp/escaped": "x"} | MPQA), "leads out of it"),
        (tar_of({"a/../../escaped": "x"} | MPQA), "leads out of it"),
        (tar_of(MPQA, link("MPQA/link", "/etc/passwd")), "is no plain file"),
        (tar_of({"README": "empty"}), "none of SentEval's sets"),
    ],
)
def test_bad_archives_are_refused_whole(
    server: Server, cache: Path, content: bytes, says: str
) -> None:
    server.content = content
    with pytest.raises(UserError, match=says):
        fetch.fetch_senteval(server.url)
    assert not list(cache.rglob("*escaped*"))
    assert not (cache / "data/senteval").exists()
    assert not list(cache.rglob("*.partial"))
    assert not list(cache.rglob("*.tar*"))


def test_servers_and_addresses_that_do_not_serve(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="only http and https"):
        fetch.fetch_senteval((tmp_path / "x.tar").as_uri())
    free = server.url.replace(str(server.server_port), "9")
    with pytest.raises(UserError, match="cannot fetch .*refused"):
        fetch.fetch_senteval(free)


def test_the_command(server: Server, cache: Path) -> None:
    shown = CliRunner().invoke(app, ["data", "fetch", "--url", server.url])
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == f"In {cache / 'data/senteval'}: MPQA\n"
    bad = CliRunner().invoke(app, ["data", "fetch", "--sha256", "12"])
    assert isinstance(bad.exception, UserError)


def test_the_archive_comes_from_the_hub_or_its_mirror(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_ENDPOINT", raising=False)
    assert fetch.archive_url() == (
        "https://huggingface.co/datasets/princeton-nlp/datasets-for-simcse/resolve/main/senteval.tar"
    )
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example")
    assert fetch.archive_url().startswith("https://mirror.example/datasets/")
