"""The application: who may ask, how much, and in which thread the answer is made."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import threading
from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from latentclass.page._answers import Refused
from latentclass.page._session import QUESTIONS, Session

LARGEST_BODY, PATIENCE = 2**20, 10.0
"""Bytes of a request, and seconds that a client may take to send them."""

AT_ONCE, MOST_WAITING = 2, 64
"""Requests that are answered at once, each in a thread, and those that may wait for that."""

TOKEN_HEADER = "x-latentclass-token"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; style-src-attr 'unsafe-inline'; "
    "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}

KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html"}
FILES = {
    "/": ("page", "static/index.html"),
    "/page.css": ("page", "static/page.css"),
    "/report.css": ("reports", "report.css"),
    **{f"/{name}.js": ("page", f"static/{name}.js")
       for name in ("main", "api", "dom", "ask", "draw", "rows", "structure")},
}  # fmt: skip
"""All files that can be asked for, by their address. There is no folder to walk out of."""

logger = logging.getLogger("latentclass")


def make_app(session: Session, token: str) -> SafeHeaders:
    """The application of one session, for those who know the token."""
    gate = Gate()

    def answer(name: str) -> Callable[[Request], Any]:
        async def respond(request: Request) -> Response:
            _check_sender(request, token)
            body = await _read_body(request)
            try:
                return JSONResponse(await gate.run(lambda: session.answer(name, body)))
            except (HTTPException, Refused):
                raise
            except Exception as error:
                return _fail(error)

        return respond

    routes = [Route(path, _file(*home), methods=["GET"]) for path, home in FILES.items()]
    routes += [Route(f"/ask/{name}", answer(name), methods=["POST"]) for name in QUESTIONS]
    own_host = Middleware(TrustedHostMiddleware, allowed_hosts=["127.0.0.1", "localhost"])
    app = Starlette(
        routes=routes,
        middleware=[own_host],
        exception_handlers={HTTPException: _say, Refused: _refuse},
    )
    return SafeHeaders(app)  # around all of it: what goes wrong has the headers too


class Gate:
    """Lets a few calls run in threads, and a limited number wait.

    The threads are daemons: a long answer does not keep the program from ending.
    """

    def __init__(self) -> None:
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def run(self, call: Callable[[], Any]) -> Any:
        """The result of a call in a thread."""
        if self._waiting >= MOST_WAITING:
            raise HTTPException(503, "The model is busy. Ask again in a moment.")
        self._waiting += 1
        try:
            async with self._slots:
                return await _in_thread(call)
        finally:
            self._waiting -= 1


async def _in_thread(call: Callable[[], Any]) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def deliver(error: BaseException | None, value: Any) -> None:
        if not future.done():
            future.set_result(value) if error is None else future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        value = None
        try:
            value = call()
        except StopIteration as stop:  # a future cannot hold one
            error = RuntimeError(str(stop))
        except BaseException as caught:
            error = caught
        try:
            loop.call_soon_threadsafe(deliver, error, value)
        except RuntimeError:  # the server has ended in the meantime
            return

    threading.Thread(target=run, daemon=True, name="answer").start()
    return await future


def _check_sender(request: Request, token: str) -> None:
    """Refuse requests of other pages, and of programs that do not know the token."""
    host, origin = request.headers.get("host", ""), request.headers.get("origin", "")
    if origin != f"http://{host}":
        raise HTTPException(403, "Requests of other pages are refused.")
    given = request.headers.get(TOKEN_HEADER, "")
    if not secrets.compare_digest(given.encode(), token.encode()):
        raise HTTPException(
            403, "The token is missing or wrong. Open the whole address that latentclass printed."
        )
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        raise HTTPException(415, "A question is JSON: content-type must be application/json.")


async def _read_body(request: Request) -> dict[str, Any]:
    too_large = HTTPException(413, f"A question has at most {LARGEST_BODY} bytes.")
    told = request.headers.get("content-length", "0")
    if not told.isdecimal() or len(told) > 12 or int(told) > LARGEST_BODY:
        raise too_large
    parts, size = [], 0
    try:
        async with asyncio.timeout(PATIENCE):
            async for part in request.stream():
                size += len(part)
                if size > LARGEST_BODY:  # whatever the header said
                    raise too_large
                parts.append(part)
    except TimeoutError:
        raise HTTPException(408, f"The question took more than {PATIENCE:g} seconds.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The question ended early.") from None
    try:
        body = json.loads(b"".join(parts).decode())
    except (ValueError, RecursionError):
        raise HTTPException(400, "The question is not valid JSON.") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "A question is a JSON object.")
    return body


def _file(package: str, name: str) -> Callable[[Request], Any]:
    content = resources.files(f"latentclass.{package}").joinpath(name).read_bytes()
    kind = KINDS[name.rpartition(".")[2]]

    async def respond(_: Request) -> Response:
        return Response(content, media_type=kind)

    return respond


# ----------------------------------------------------------------------- what went wrong


async def _say(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = {"connection": "close"} if error.status_code in (408, 413) else None
    return JSONResponse({"error": error.detail}, error.status_code, headers)


async def _refuse(_: Request, error: Exception) -> Response:
    return JSONResponse({"error": str(error)}, 400)


def _fail(error: Exception) -> Response:
    logger.warning("The live page: %s: %s", type(error).__name__, error)
    return JSONResponse(
        {"error": f"The model could not answer ({type(error).__name__}). Try another question."},
        500,
    )


class SafeHeaders:
    """Adds the headers that keep the page to itself to every response."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""

        async def safe(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((name.encode(), value.encode()) for name, value in HEADERS.items()),
                ]
            await send(message)

        await self._app(scope, receive, safe)
