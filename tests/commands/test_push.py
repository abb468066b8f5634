"""Push to a stand-in for the Hub: a small server that speaks the part of its API that an upload needs."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pytest
from sentence_transformers import SentenceTransformer

from clusterns import push
from clusterns.errors import UserError
from tests.helpers.commands import run_cli


class Hub(ThreadingHTTPServer):
    """Keeps the files of each repository."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Requests)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files: dict[str, dict[str, bytes]] = {}
        self.created: dict[str, dict[str, object]] = {}
        self.tokens: set[str | None] = set()


class Requests(BaseHTTPRequestHandler):
    server: Hub

    def log_message(self, *args: object) -> None:
        pass

    def answer(self, status: int, values: object) -> None:
        body = json.dumps(values).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self) -> None:
        if self.path.startswith("/api/models/"):
            name = "/".join(self.path.split("/")[3:5])
            self.answer(200, {"id": name, "sha": "0" * 40, "siblings": [], "private": False})
        else:
            self.answer(404, {"error": "Not Found"})

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        hub, body = self.server, self.rfile.read(int(self.headers.get("Content-Length", 0)))
        token = self.headers.get("Authorization")
        hub.tokens.add(token)
        if token != "Bearer hf_test":
            return self.answer(401, {"error": "Invalid username or password."})
        if self.path == "/api/repos/create":
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}"
            status = 409 if name in hub.files else 200
            hub.files.setdefault(name, {})
            hub.created.setdefault(name, asked)
            return self.answer(status, {"url": f"{hub.url}/{name}", "error": "exists"})
        if self.path == "/api/validate-yaml":
            return self.answer(200, {"errors": [], "warnings": []})
        name, _, action = self.path.removeprefix("/api/models/").rpartition("/")[0].rpartition("/")
        if action == "preupload":
            files = json.loads(body)["files"]
            modes = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in files
            ]
            return self.answer(200, {"files": modes})
        assert action == "commit", self.path
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                value = line["value"]
                hub.files[name][value["path"]] = base64.b64decode(value["content"])
        sha = "1" * 40
        commit = f"{hub.url}/{name}/commit/{sha}"
        return self.answer(200, {"success": True, "commitOid": sha, "commitUrl": commit})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", server.url)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("HF_TOKEN", "hf_test")
    yield server
    server.shutdown()
    server.server_close()


def test_a_pushed_run_opens_and_its_card_names_it(hub: Hub, tiny_run: Path, tmp_path: Path) -> None:
    url = push(tiny_run, "owner/name", private=True, quiet=True)
    assert url == f"{hub.url}/owner/name/commit/{'1' * 40}"
    created = hub.created["owner/name"]  # older clients say private: true
    assert created.get("visibility", created.get("private")) in ("private", True)
    for path, content in hub.files["owner/name"].items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(content)
    text = "a river in the town"
    local = SentenceTransformer(str(tiny_run / "model")).encode(text)
    assert (SentenceTransformer(str(tmp_path)).encode(text) == local).all()
    card = (tmp_path / "README.md").read_text("utf-8")
    assert 'SentenceTransformer("owner/name")' in card
    assert str(tiny_run) not in card

    with pytest.raises(UserError, match="owner/name already exists. Add --overwrite"):
        push(tiny_run, "owner/name", quiet=True)
    done = run_cli("push", tiny_run, "owner/name", "--overwrite")
    assert done.code == 0
    assert f"{hub.url}/owner/name/commit/" in done.out


def test_what_cannot_be_pushed_is_refused(
    hub: Hub, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="name is not a name on the Hub"):
        push(tiny_run, "name")
    with pytest.raises(UserError, match="is not a run folder"):
        push(tmp_path / "nothing", "owner/name")
    monkeypatch.setenv("HF_TOKEN", "hf_of_somebody_else")
    with pytest.raises(
        UserError, match="the Hub refused owner/name: .* Log in with `hf auth login`"
    ):
        push(tiny_run, "owner/name", quiet=True)
    assert hub.files == {}
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match="cannot upload|the Hub refused"):
        push(tiny_run, "owner/name", quiet=True)
