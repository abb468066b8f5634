from __future__ import annotations

import http.client
import json
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from clusterns.errors import UserError
from clusterns.explorer.server import MAX_BODY, listen
from tests.helpers.commands import start_cli
from tests.helpers.texts import SUBJECTS


def call(
    address: str,
    path: str,
    body: bytes | dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
    method: str | None = None,
) -> tuple[int, dict[str, str], bytes]:
    """One request as it is, without a browser's manners."""
    content = json.dumps(body).encode() if isinstance(body, dict) else body
    method = method or ("GET" if body is None else "POST")
    with closing(http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)) as connection:
        connection.request(method, path, content, headers or {})
        answer = connection.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def answered(address: str, path: str, body: dict[str, Any] | None = None) -> Any:
    status, _, content = call(address, path, body)
    assert status == 200, content
    return json.loads(content)


def refused(answer: tuple[int, dict[str, str], bytes], status: int) -> str:
    """The one short sentence of a refusal, which is JSON and no traceback."""
    assert answer[0] == status
    assert answer[1]["content-type"] == "application/json"
    content = json.loads(answer[2])
    assert list(content) == ["error"]
    assert len(content["error"]) < 200
    assert "Traceback" not in content["error"]
    return content["error"]


def test_the_page_comes_with_headers_that_keep_the_corpus_from_becoming_a_script(address):
    kinds = {"/": "text/html", "/app.js": "text/javascript", "/style.css": "text/css"}
    for path, kind in kinds.items():
        status, headers, content = call(address, path)
        assert status == 200
        assert headers["content-type"].startswith(kind)
        assert "default-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert content


def test_search_with_both_models_by_words_and_among_the_rows_with_a_value(address, texts):
    body = {"query": texts[7], "top": 50}
    found = answered(address, "/api/search", {**body, "top": 5})
    assert [model["name"] for model in found["models"]] == ["mean pooling", "max pooling"]
    for model in found["models"]:
        assert len(model["hits"]) == 5
        assert model["hits"][0]["text"] == texts[7]
        assert model["hits"][0]["score"] == pytest.approx(1, abs=1e-3)
    found = answered(address, "/api/search", {**body, "by": "words"})["models"][0]["hits"]
    assert found[0]["text"] == texts[7]
    assert all(hit["words"] and hit["cosine"] is None for hit in found)
    found = answered(address, "/api/search", {**body, "column": "kind", "value": "odd"})
    for model in found["models"]:
        assert model["hits"]
        assert all(hit["id"] % 2 for hit in model["hits"])
    refused(call(address, "/api/search", {**body, "column": "none", "value": "odd"}), 400)


def test_a_sentence_has_its_neighbours_with_what_was_gained_and_lost(address, explorer):
    opened = answered(address, "/api/sentence", {"id": 3})
    now, before = ([hit["id"] for hit in model["hits"]] for model in opened["models"])
    vectors = np.asarray(explorer.corpora[0].vectors, dtype=np.float32)
    cosines = vectors @ vectors[3]
    cosines[3] = -2
    assert now == np.argsort(-cosines)[:10].tolist()
    for model, other, kind in zip(opened["models"], (before, now), ("gained", "lost"), strict=True):
        for hit in model["hits"]:
            assert hit["mark"] == ("kept" if hit["id"] in other else kind)


def test_the_arrays_of_the_map_have_a_place_a_topic_and_a_change_for_each_sentence(
    address, explorer
):
    about = answered(address, "/api/corpus")
    assert about["count"] == len(explorer)
    for model in (0, 1):
        places = np.frombuffer(call(address, f"/api/map/{model}/pca")[2], "<u2").reshape(-1, 2)
        assert len(places) == len(explorer)
        assert len(np.unique(places, axis=0)) > 0.9 * len(explorer)
    topics = np.frombuffer(call(address, "/api/topics")[2], "<i2")
    assert topics.tolist() == explorer.topics.labels.tolist()
    assert np.bincount(topics[topics >= 0]).tolist() == [t["size"] for t in about["topics"]]
    change = np.frombuffer(call(address, "/api/change")[2], np.uint8)
    assert change.tolist() == np.round(255 * (1 - explorer.change.shared / 10)).tolist()
    assert sum(about["change"]["histogram"]) == len(explorer)
    (column,) = about["columns"]
    kinds = np.frombuffer(call(address, "/api/column/0")[2], "<i2")
    assert [column["values"][kind] for kind in kinds[:3]] == ["even", "odd", "even"]


def test_a_selection_has_typical_words_and_topics(address, texts):
    found = answered(address, "/api/selection", {"ids": [*range(0, 120, 3)]})
    assert found["count"] == 40
    assert set(found["words"][:5]) <= {*SUBJECTS["sea"]}
    assert sum(one["count"] for one in found["topics"]) == 40
    assert found["sentences"][0]["text"] == texts[0]


def test_long_sentences_are_cut_in_lists_and_whole_where_they_are_opened(address, texts):
    row = texts.index("x" * 10_000)
    (shown,) = answered(address, "/api/texts", {"ids": [row]})["sentences"]
    assert len(shown["text"]) < 500
    assert answered(address, "/api/sentence", {"id": row})["text"] == texts[row]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/api/search", b"not json", 400),
        ("/api/search", b'{"query": ""}', 400),
        ("/api/search", b'{"query": "a\\u0000b"}', 400),
        ("/api/search", b'{"query": "\\ud800"}', 400),
        ("/api/search", b'{"query": "' + b"\xff\xfe" + b'"}', 400),
        ("/api/search", b'{"query": 3}', 400),
        ("/api/search", b'{"query": "a", "top": "10"}', 400),
        ("/api/search", b'{"query": "a", "top": 1000000}', 400),
        ("/api/search", b'{"query": "a", "more": 1}', 400),
        ("/api/search", json.dumps({"query": "a" * 2001}).encode(), 400),
        ("/api/search", json.dumps({"query": "a " * 500_000}).encode(), 413),
        ("/api/sentence", b'{"id": -1}', 400),
        ("/api/sentence", b'{"id": 1000000000000000000000000}', 400),
        ("/api/sentence", b'{"id": 100000}', 404),
        ("/api/texts", b'{"ids": []}', 400),
        ("/api/texts", b'{"ids": [99999]}', 404),
        ("/api/selection", b'{"ids": "all"}', 400),
        ("/api/changed", b'{"count": 0}', 400),
    ],
)  # fmt: skip
def test_a_bad_question_gets_one_short_sentence(address, path, body, status):
    refused(call(address, path, body), status)
    assert answered(address, "/api/corpus")["count"]


@pytest.mark.parametrize(
    "path",
    [
        "/nothing", "/api", "/api/nothing", "/api/map/2/pca", "/api/map/0/tsne", "/api/map/x/pca",
        "/server.py", "/../server.py", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd", "/index.html/../../explorer.py", "/page/index.html", "/index.html%00",
        "/api/map/0/..%2f..%2fpca", "/api/map/99999999999999999999999/pca",
    ],
)  # fmt: skip
def test_no_other_path_gives_anything(address, path):
    refused(call(address, path), 404)


def test_other_methods_are_refused(address):
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        refused(call(address, "/api/corpus", b"{}", method=method), 405)
    refused(call(address, "/api/search"), 405)


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "example.com"}, {"Host": "example.com:8000"}, {"Host": ""}, {"Host": "[::1"},
        {"Host": "127.0.0.1.example.com"}, {"Host": "0.0.0.0"}, {"Host": "localhost@example.com"},
        {"Origin": "http://example.com"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1"}, {"Origin": "file://"},
    ],
)  # fmt: skip
def test_other_hosts_and_origins_are_refused(address, headers):
    for path, body in [("/api/corpus", None), ("/api/search", {"query": "a"}), ("/", None)]:
        answer = call(address, path, body, headers)
        if "Host" in headers:  # the middleware of Starlette
            assert (answer[0], answer[2]) == (400, b"Invalid host header")
        else:
            refused(answer, 403)
    for host in (f"{name}:{urlsplit(address).port}" for name in ("127.0.0.1", "localhost")):
        own = {"Host": host, "Origin": f"http://{host}"}  # the page itself may ask
        assert call(address, "/api/search", {"query": "ship"}, own)[0] == 200


def test_a_question_that_never_ends_is_cut_off(address):
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
        head = f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{where.port}\r\n"
        connection.sendall(f"{head}Content-Length: {10**12}\r\n\r\n".encode())
        connection.sendall(b"a" * (MAX_BODY + 1))
        assert b" 413 " in connection.recv(4096).split(b"\r\n")[0]


def test_a_fault_of_the_program_shows_nothing_of_it(address, explorer, monkeypatch):
    def broken(**_: object) -> None:
        raise RuntimeError("secret /etc/path")

    monkeypatch.setattr(explorer, "search", broken)
    said = refused(call(address, "/api/search", {"query": "a"}), 500)
    assert "secret" not in said


def test_fifty_clients_at_once_are_all_answered_rightly(address, texts):
    def client(number: int) -> bool:
        good = True
        for turn in range(4):
            text = texts[(number * 7 + turn) % 120]
            found = answered(address, "/api/search", {"query": text, "top": 3})
            good &= found["models"][0]["hits"][0]["text"] == text
            good &= answered(address, "/api/sentence", {"id": number})["id"] == number
            good &= call(address, "/api/map/0/pca")[0] == 200
        return good

    with ThreadPoolExecutor(50) as pool:
        assert all(pool.map(client, range(50), timeout=120))


def test_it_listens_on_this_machine_only_and_a_taken_port_is_one_sentence():
    with listen(0) as where:
        host, port = where.getsockname()
        assert host == "127.0.0.1"
        assert port > 0
        with pytest.raises(UserError, match=f"--port {port} is not available"):
            listen(port)


def test_the_command_says_where_it_listens_and_ends_well_with_ctrl_c(tiny_bert, tmp_path, texts):
    corpus, out, err = (tmp_path / name for name in ("corpus.txt", "out", "err"))
    corpus.write_text("\n".join(texts[:40]), "utf-8")
    process = start_cli(
        "explore", tiny_bert, corpus, "--pooling", "mean", "--k", 3, out=out, err=err,
        env={"CLUSTERNS_CACHE": str(tmp_path / "cache")},
    )  # fmt: skip
    while not (out.is_file() and out.read_text().endswith("\n")):
        assert process.poll() is None, err.read_text()
        time.sleep(0.05)
    address = out.read_text().removeprefix("Open ").strip().rstrip("/")
    assert answered(address, "/api/corpus")["count"] == 40
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert err.read_text().rstrip().endswith("Stopped.")
    assert "Traceback" not in err.read_text()
