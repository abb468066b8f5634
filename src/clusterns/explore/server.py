"""The explorer's server: one page and a few questions, on this machine only."""

from __future__ import annotations

import socket
from importlib.resources import files
from typing import Annotated, Any, TypeVar

import uvicorn
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from clusterns.errors import UserError
from clusterns.explore.explorer import Scene
from clusterns.explore.guard import Guard, Refusal, answer

LARGEST = 64 * 1024  # bytes of a question
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


class Question(BaseModel):
    """What the page asks; anything else is refused."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _plain(text: str) -> str:
    """A query without what no keyboard types."""
    text = " ".join(text.split())
    if not text:
        raise ValueError("the query is empty")
    if any(ord(character) < 32 or 0x7F <= ord(character) < 0xA0 for character in text):
        raise ValueError("the query has control characters")
    return text


Row = Annotated[int, Field(ge=0, lt=2**31)]


class Search(Question):
    """Sentences near to a query."""

    query: Annotated[str, Field(max_length=2000), AfterValidator(_plain)]
    top: Annotated[int, Field(ge=1, le=100)] = 20


class One(Question):
    """A sentence with its neighbours."""

    id: Row


class Some(Question):
    """Sentences."""

    ids: Annotated[list[Row], Field(min_length=1, max_length=5000)]


class Most(Question):
    """So many sentences."""

    count: Annotated[int, Field(ge=1, le=1000)] = 100


Q = TypeVar("Q", bound=Question)


class Server:
    """Answers of a scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        # Read once, by name: no path of a request ever reaches the disk.
        self.page = {
            entry.name: entry.read_bytes()
            for entry in files("clusterns.explore").joinpath("page").iterdir()
            if entry.name.rpartition(".")[2] in KINDS
        }

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/", self.file),
                Route("/{name:str}", self.file),
                Route("/api/scene", self.about),
                Route("/api/topics", self.topics),
                Route("/api/change", self.change),
                Route("/api/map/{lens:int}/{kind:str}", self.map),
                Route("/api/search", self.search, methods=["POST"]),
                Route("/api/sentence", self.sentence, methods=["POST"]),
                Route("/api/texts", self.texts, methods=["POST"]),
                Route("/api/selection", self.selection, methods=["POST"]),
                Route("/api/changed", self.changed, methods=["POST"]),
            ],
            middleware=[Middleware(Guard)],
            exception_handlers={
                Refusal: _refused,
                HTTPException: _http,
                ClientDisconnect: _gone,
                Exception: _bug,
            },
        )

    async def file(self, request: Request) -> Response:
        """A file of the page."""
        name = request.path_params.get("name", "index.html")
        if name not in self.page:
            raise Refusal(404, "there is no such page")
        return Response(self.page[name], media_type=KINDS[name.rpartition(".")[2]])

    async def about(self, _: Request) -> Response:
        """What there is."""
        return JSONResponse(await run_in_threadpool(self.scene.about))

    async def topics(self, _: Request) -> Response:
        """The topic of each sentence."""
        return _numbers(self.scene.topic_of_each())

    async def change(self, _: Request) -> Response:
        """How much the neighbourhood of each sentence changed."""
        return _numbers(await run_in_threadpool(self.scene.change_of_each))

    async def map(self, request: Request) -> Response:
        """Places of the sentences."""
        lens, kind = request.path_params["lens"], request.path_params["kind"]
        return _numbers(await run_in_threadpool(self.scene.map, lens, kind))

    async def search(self, request: Request) -> Response:
        """Sentences near to a query."""
        asked = await _read(request, Search)
        return JSONResponse(await run_in_threadpool(self.scene.search, asked.query, asked.top))

    async def sentence(self, request: Request) -> Response:
        """A sentence and its neighbours."""
        asked = await _read(request, One)
        self._check([asked.id])
        return JSONResponse(await run_in_threadpool(self.scene.opened, asked.id))

    async def texts(self, request: Request) -> Response:
        """The beginnings of sentences."""
        asked = await _read(request, Some)
        self._check(asked.ids)
        return JSONResponse({"sentences": [self.scene.sentence(row) for row in asked.ids[:100]]})

    async def selection(self, request: Request) -> Response:
        """What sentences have in common."""
        asked = await _read(request, Some)
        self._check(asked.ids)
        return JSONResponse(await run_in_threadpool(self.scene.selection, asked.ids))

    async def changed(self, request: Request) -> Response:
        """Where most changed."""
        asked = await _read(request, Most)
        found = await run_in_threadpool(self.scene.changed, asked.count)
        return JSONResponse({"sentences": found})

    def _check(self, rows: list[int]) -> None:
        if max(rows) >= len(self.scene):
            raise Refusal(404, f"there is no sentence {max(rows)}")


async def _read(request: Request, kind: type[Q]) -> Q:
    """The question in a request's body, which is read no further than it may be long."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > LARGEST:
            raise Refusal(413, f"a question has at most {LARGEST // 1024} kB")
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise Refusal(400, f"{where}: {message}" if where else message) from None


def _numbers(content: bytes | None) -> Response:
    if content is None:
        raise Refusal(404, "there is no such map")
    return Response(content, media_type="application/octet-stream")


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return answer(error)


async def _http(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer(Refusal(error.status_code, error.detail.lower()))


async def _gone(_: Request, __: Exception) -> Response:
    return answer(Refusal(400, "the question broke off"))


async def _bug(_: Request, __: Exception) -> Response:
    return answer(Refusal(500, "a fault of the program; its terminal has the details"))


def listen(port: int) -> socket.socket:
    """A socket on this machine only; port 0 is any free one."""
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind(("127.0.0.1", port))
        made.listen(128)  # whoever comes before the answers do waits
    except OSError as error:
        made.close()
        raise UserError(
            f"--port {port} cannot be had ({error.strerror}): name another, or none for a free one."
        ) from None
    return made


def server_of(scene: Scene) -> uvicorn.Server:
    """What answers for a scene."""
    settings: dict[str, Any] = {"log_level": "error", "access_log": False, "lifespan": "off"}
    return uvicorn.Server(
        uvicorn.Config(
            Server(scene).app(), server_header=False, timeout_graceful_shutdown=2, **settings
        )
    )


def serve(scene: Scene, where: socket.socket) -> None:
    """Answer until Ctrl-C."""
    try:
        server_of(scene).run(sockets=[where])
    except KeyboardInterrupt:  # which uvicorn raises again after it has ended well
        pass
    finally:
        scene.maps.end()
        where.close()
