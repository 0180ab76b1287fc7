"""The built interface's files, and its page for the addresses that are its rooms.

The build names its assets by their hashes, so that they may be kept for ever;
the page itself is asked for anew each time. Without a built interface the API
works all the same, and `/` says how to build it.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import NotModifiedResponse, PathLike, StaticFiles

from bethink.accounts.register import is_loopback
from bethink.web.shares import SHARED_HEADERS

if TYPE_CHECKING:
    import os

    from starlette.types import ASGIApp, Message, Receive, Scope, Send


ENCODINGS: Final = {"br": ".br", "gzip": ".gz"}
"""What the build makes of each file, the smallest first, and how its name ends."""
_WORTH_BYTES: Final = 2_000
"""What is shorter goes in one or two packets either way."""
_LEVEL: Final = 5
_JSON: Final = re.compile(r"application/(?:[\w.-]+\+)?json\b")
_NOTHING: Final = re.compile(r"\s*q\s*=\s*[0.]{1,5}\s*")


def accepted(scope: Scope) -> list[str]:
    """The encodings of ours that a request accepts, the best first (RFC 9110, section 12.5.3)."""
    asked = ",".join(Headers(scope=scope).getlist("accept-encoding")).split(",")
    # Taken apart by its commas: one expression for all of it takes minutes for what a stranger sends.
    codings = [coding.partition(";") for coding in asked]
    wanted = {name.strip().lower(): _NOTHING.fullmatch(weight) is None for name, _, weight in codings}
    return [name for name in ENCODINGS if wanted.get(name, wanted.get("*", False))]


@dataclass(frozen=True, slots=True)
class Compressed:
    """An ASGI application that compresses the JSON which `app` answers in one piece."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on; compress its answer if that pays."""
        if scope["type"] != "http" or not _is_far(scope) or "gzip" not in accepted(scope):
            await self.app(scope, receive, send)
            return
        held: list[Message] = []

        async def compressing(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_json(message):
                held.append(message)
                return
            if held:
                start = held.pop()
                body: bytes = message.get("body", b"")
                if not message.get("more_body", False) and len(body) >= _WORTH_BYTES:
                    body = await anyio.to_thread.run_sync(gzip.compress, body, _LEVEL)
                    message = {**message, "body": body}
                    headers = MutableHeaders(raw=list(start["headers"]))
                    headers["content-encoding"] = "gzip"
                    headers["content-length"] = str(len(body))
                    headers.add_vary_header("Accept-Encoding")
                    start = {**start, "headers": headers.raw}
                await send(start)
            await send(message)

        await self.app(scope, receive, compressing)


def _is_far(scope: Scope) -> bool:
    """Whether the reader is on another machine, or a proxy asks for one."""
    client = scope.get("client")
    return client is None or not is_loopback(client[0]) or "x-forwarded-for" in Headers(scope=scope)


def _is_json(start: Message) -> bool:
    headers = Headers(raw=start["headers"])
    return bool(_JSON.match(headers.get("content-type", ""))) and "content-encoding" not in headers


_PAGE = "index.html"
_ASSETS = "/assets/"
_FRAME = ".frame.html"
"""How the names of documents end that the page shows in a frame: their scripts are others'."""
_SHARED = frozenset(
    {
        "settings",
        "vault",
        "documents",
        "tasks",
        "calendar",
        "schedules",
        "share",
        "today",
        "prompts",
        "authorize",
    }
)
"""First parts of addresses that are a room for a person's browser and data for a program."""

_BY_LINK = "/share/"
"""What is read by a link alone."""
_ASKING: Final = "/authorize"
"""Where a person is asked whether another program may use this."""
_SHARED_FILE: Final = re.compile(r"/share/[^/]+/files/")

_MEDIA_TYPES = {
    ".css": "text/css",
    ".html": "text/html",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
}
"""What a build is made of. The machine's own table is not asked: some call scripts plain text."""

NOT_BUILT = """\
Bethink is running, but its web interface is not built.

Build it with `make ui` in the source tree (it downloads Node.js if there is no version 20 or
newer) and load this page again. The API works without it: see /openapi.json and /health.
"""


class Interface:
    """An ASGI application before the API: it gives browsers the page where both share an address.

    `file` answers what the API has no route for.
    """

    def __init__(self, api: ASGIApp, directory: Path | None = None) -> None:
        self._api = api
        folder = directory or Path(str(resources.files("bethink"))) / "static"
        self._files = _Files(directory=folder, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with the page, or hand on to the API, which has other methods of `/`."""
        is_room = scope["type"] == "http" and scope["path"].split("/")[1] in _SHARED
        if is_room and _wants_page(scope) and not _SHARED_FILE.match(scope["path"]):
            await (await self._page(scope))(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == "/" and scope["method"] in {"GET", "HEAD"}:
            await self.file(scope, receive, send)
        else:
            await self._api(scope, receive, send)

    async def file(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A file of the interface; its page for an address that only the interface knows.

        Raises:
            HTTPException: 404, there is neither.
        """
        response = await self._file(scope)
        await response(scope, receive, send)

    async def _file(self, scope: Scope) -> Response:
        path: str = scope["path"]
        if scope["method"] not in {"GET", "HEAD"}:
            raise HTTPException(404)
        if path == "/":
            return await self._page(scope)
        try:
            response = await self._files.get_response(path.lstrip("/"), scope)
        except HTTPException:
            if _wants_page(scope) and not path.startswith(_ASSETS):
                return await self._page(scope)
            raise
        if path.endswith(_FRAME):
            response.headers.update(FRAME_HEADERS)
        is_hashed = path.startswith(_ASSETS)
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
        return response

    async def _page(self, scope: Scope) -> Response:
        try:
            response = await self._files.get_response(_PAGE, scope)
        except HTTPException:
            return PlainTextResponse(NOT_BUILT, 200 if scope["path"] == "/" else 404)
        response.headers["cache-control"] = "no-cache"
        if scope["path"].startswith(_BY_LINK):
            response.headers.update(SHARED_HEADERS)
        if scope["path"] == _ASKING:
            # A client may have opened it beside its own page, which waits to hear of the end.
            response.headers["cross-origin-opener-policy"] = "unsafe-none"
        response.headers.add_vary_header("Accept")
        return response


class _Files(StaticFiles):
    """The build's files, each in the smallest form that the reader accepts."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        for encoding in accepted(scope):
            try:
                response = await super().get_response(f"{path}{ENCODINGS[encoding]}", scope)
            except HTTPException:
                continue
            response.headers["content-encoding"] = encoding
            return response
        return await super().get_response(path, scope)

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        plain = Path(full_path)
        plain = plain.with_suffix("") if plain.suffix in ENCODINGS.values() else plain
        media_type = _MEDIA_TYPES.get(plain.suffix, "application/octet-stream")
        response = FileResponse(full_path, status_code, media_type=media_type, stat_result=stat_result)
        response.headers["vary"] = "Accept-Encoding"
        if self.is_not_modified(response.headers, Headers(scope=scope)):
            return NotModifiedResponse(response.headers)
        return response


def _wants_page(scope: Scope) -> bool:
    """Whether a person's browser asks for a page: a program asks for JSON, and a calendar is a file."""
    if scope["method"] not in {"GET", "HEAD"} or scope["path"].endswith(".ics"):
        return False
    return "text/html" in Headers(scope=scope).get("accept", "")


FRAME_HEADERS: Final = {
    "content-security-policy": (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'self'"
    ),
    "x-frame-options": "SAMEORIGIN",
    "x-dns-prefetch-control": "off",
}
