"""Who may ask the server what: this machine's own page, in small questions."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
HEADERS = {
    # Whatever the corpus holds, it cannot become a script or load anything.
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}


class Refusal(Exception):  # noqa: N818 - an answer
    """A short answer to a bad question."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Guard:
    """Refuses other hosts and origins (a page from elsewhere must not read the corpus), and adds
    the headers that every answer has.

    Starlette's own check of the host answers in plain text and knows nothing of origins.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = refusal_of(Headers(scope=scope))
        if refused is not None:
            await answer(refused)(scope, receive, send_guarded)
            return
        await self.app(scope, receive, send_guarded)


def refusal_of(headers: Headers) -> Refusal | None:
    """Why a request with these headers is refused, if it is."""
    hosts = headers.getlist("host")
    if len(hosts) != 1 or _name(f"//{hosts[0]}") not in HOSTS:
        return Refusal(403, "this server answers to 127.0.0.1 and localhost only")
    origin = headers.get("origin")
    if origin is not None and origin != f"http://{hosts[0]}":
        return Refusal(403, "this server answers to its own page only")
    return None


def answer(refusal: Refusal) -> JSONResponse:
    """A refusal as JSON."""
    return JSONResponse({"error": str(refusal)}, status_code=refusal.status)


def _name(address: str) -> str | None:
    try:
        return urlsplit(address).hostname
    except ValueError:
        return None
