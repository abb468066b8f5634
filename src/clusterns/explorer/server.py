"""The explorer's server: serves one page and its API, on this machine only."""

from __future__ import annotations

import socket
import webbrowser
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any, TypeVar

import uvicorn
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clusterns.console import log, stdout
from clusterns.errors import UserError
from clusterns.explorer.explorer import Explorer
from clusterns.vectors.settings import By

HEADERS = {
    # Text of the corpus must not run as a script or load anything.
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
MAX_BODY = 64 * 1024  # bytes
TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def _clean_query(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise ValueError("the query is empty")
    if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in text):
        raise ValueError("the query contains control characters")
    return text


Row = Annotated[int, Field(ge=0, lt=2**31)]


class Body(BaseModel):
    """A request of the page; unknown keys are rejected."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SearchBody(Body):
    """A query."""

    query: Annotated[str, Field(max_length=2000), AfterValidator(_clean_query)]
    top: Annotated[int, Field(ge=1, le=100)] = 20
    by: By = "both"
    column: Annotated[str, Field(max_length=200)] = ""
    value: Annotated[str, Field(max_length=2000)] = ""


class RowBody(Body):
    """A sentence."""

    id: Row


class RowsBody(Body):
    """Some sentences."""

    ids: Annotated[list[Row], Field(min_length=1, max_length=5000)]


class CountBody(Body):
    """A number of sentences to list."""

    count: Annotated[int, Field(ge=1, le=1000)] = 100


B = TypeVar("B", bound=Body)


def make_app(explorer: Explorer) -> Starlette:
    """Create the application that serves an explorer."""
    # Read once: no request path ever reaches the disk.
    page = {
        entry.name: entry.read_bytes()
        for entry in files("clusterns.explorer").joinpath("page").iterdir()
        if entry.name.rpartition(".")[2] in TYPES
    }

    async def file(request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in page:
            raise HTTPException(404)
        return Response(page[name], media_type=TYPES[name.rpartition(".")[2]])

    def known(*rows: int) -> list[int]:
        if max(rows) >= len(explorer):
            raise HTTPException(404, f"There is no sentence {max(rows)}.")
        return [*rows]

    def search(body: SearchBody) -> Any:
        if body.column and body.column not in explorer.corpora[0].rows.columns:
            raise HTTPException(400, f"There is no column {body.column!r}.")
        return explorer.search(**body.model_dump())

    return Starlette(
        routes=[
            Route("/", file),
            Route("/{name:str}", file),
            _get("/api/corpus", lambda: explorer.about()),
            _get("/api/topics", lambda: explorer.topic_labels()),
            _get("/api/change", lambda: explorer.change_levels()),
            _get("/api/column/{number:int}", lambda **of: explorer.column(**of)),
            _get("/api/map/{model:int}/{kind:str}", lambda **of: explorer.map(**of)),
            _post("/api/search", SearchBody, search),
            _post("/api/sentence", RowBody, lambda body: explorer.opened(*known(body.id))),
            _post("/api/texts", RowsBody, lambda body: explorer.previews(known(*body.ids)[:100])),
            _post("/api/selection", RowsBody, lambda body: explorer.selection(known(*body.ids))),
            _post("/api/changed", CountBody, lambda body: explorer.changed(body.count)),
        ],
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=_same_origin),
            Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"]),
        ],
        exception_handlers={
            HTTPException: _error,
            ClientDisconnect: _error,
            Exception: _error,
        },
    )


def _get(path: str, answer: Callable[..., Any]) -> Route:
    async def endpoint(request: Request) -> Response:
        return _response(await run_in_threadpool(answer, **request.path_params))

    return Route(path, endpoint)


def _post(path: str, kind: type[B], answer: Callable[[B], Any]) -> Route:
    async def endpoint(request: Request) -> Response:
        return _response(await run_in_threadpool(answer, await _read(request, kind)))

    return Route(path, endpoint, methods=["POST"])


async def _read(request: Request, kind: type[B]) -> B:
    """Read and validate the body of a request, up to the size limit."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MAX_BODY:
            raise HTTPException(413, f"A request may have at most {MAX_BODY // 1024} kB.")
    try:
        return kind.model_validate_json(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise HTTPException(400, f"{where}: {message}" if where else message) from None


def _response(answer: Any) -> Response:
    if answer is None:
        raise HTTPException(404)
    if isinstance(answer, bytes):
        return Response(answer, media_type="application/octet-stream")
    return JSONResponse(answer)


async def _same_origin(request: Request, call_next: RequestResponseEndpoint) -> Response:
    """Reject requests from other pages, which must not read the corpus; add the headers."""
    origin = request.headers.get("origin")
    if origin in (None, f"http://{request.headers.get('host')}"):
        response = await call_next(request)
    else:
        response = _refusal(403, "This server accepts requests only from its own page.")
    response.headers.update(HEADERS)
    return response


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)


async def _error(_: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        return _refusal(error.status_code, error.detail)
    if isinstance(error, ClientDisconnect):
        return _refusal(400, "The request was cut off.")
    return _refusal(500, "Internal error; the terminal has the details.")


# ---- running


def listen(port: int) -> socket.socket:
    """Open a socket on this machine only; port 0 picks a free one."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(128)  # the page may connect before the server runs
    except OSError as error:
        made.close()
        raise UserError(
            f"--port {port} is not available ({error.strerror}): choose another one, or omit "
            "--port to use a free one."
        ) from None
    return made


def make_server(explorer: Explorer) -> uvicorn.Server:
    """Create a server for an explorer, without starting it."""
    config = uvicorn.Config(
        make_app(explorer), log_level="error", access_log=False, lifespan="off",
        server_header=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    return uvicorn.Server(config)


def serve(explorer: Explorer, listening: socket.socket, open_browser: bool = False) -> None:
    """Serve on a socket until Ctrl-C."""
    explorer.maps.start()
    _ = explorer.change
    address = f"http://127.0.0.1:{listening.getsockname()[1]}/"
    stdout.print(f"Open {address}")
    log("Press Ctrl-C to stop.")
    if open_browser:
        webbrowser.open(address)
    try:
        make_server(explorer).run(sockets=[listening])
    except KeyboardInterrupt:  # uvicorn raises it again after it has shut down
        pass
    finally:
        explorer.maps.stop()
    log("Stopped.")
