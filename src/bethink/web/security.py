"""Who may speak to the web door at all: checked before any route, for every request.

A page on the internet can make a browser send requests to this machine, and by
DNS rebinding even read the answers; so the Host must name this machine and an
Origin must be the page's own. A proxy would hide who asks: what it forwards is
refused while Bethink has no users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from bethink.accounts import is_loopback
from bethink.errors import BethinkError, NotAllowed, TooLarge
from bethink.web.problems import of_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 12 * 1024 * 1024
"""Room for the longest message in JSON's escapes; files travel otherwise."""

_UNBOUNDED = "/memories/import"
"""The route that counts for itself, by a setting."""
_FILES = re.compile(r"/conversations/[^/]+/files")
"""The route that takes files, as large as a setting says."""
_FORM_BYTES = 64 * 1024
"""What a form takes beside its file."""

_FORWARDED = ("forwarded", "x-forwarded-", "x-real-ip")
"""What the names of headers begin with by which a proxy tells for whom it asks."""
_CSP = (
    "default-src 'self'; img-src 'self' data:; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
_HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, slots=True)
class Guard:
    """An ASGI application that lets only fit requests through, and fits out every answer."""

    app: ASGIApp
    max_body_bytes: int = MAX_BODY_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        limit = self._limit(scope)
        try:
            self._check(scope, limit)
        except BethinkError as error:
            await of_error(error)(scope, receive, send_safely)
        else:
            limited = receive if limit is None else _Limited(receive, limit)
            await self.app(scope, limited, send_safely)

    def _limit(self, scope: Scope) -> int | None:
        """The longest body of this route, in bytes; None where it counts for itself."""
        if scope["path"] == _UNBOUNDED:
            return None
        if _FILES.fullmatch(scope["path"]) and "app" in scope.get("state", {}):
            return scope["state"]["app"].settings.max_file_bytes + _FORM_BYTES
        return self.max_body_bytes

    def _check(self, scope: Scope, limit: int | None) -> None:
        headers = Headers(scope=scope)
        if forwarded := next((name for name in headers if name.startswith(_FORWARDED)), None):
            message = (
                f"The request was forwarded by a proxy ({forwarded}). This Bethink has no users, so it "
                "answers only requests of this machine itself."
            )
            raise NotAllowed(message)
        host = _checked_host(headers)
        _check_origin(headers, f"{scope['scheme']}://{host}".lower())
        length = headers.get("content-length", "0")
        if limit is not None and length.isdecimal() and int(length) > limit:
            raise _too_large(limit)


@dataclass(slots=True)
class _Limited:
    """The request's body as it comes, up to a limit that its length header may hide."""

    receive: Receive
    limit: int
    taken: int = 0

    async def __call__(self) -> Message:
        message = await self.receive()
        self.taken += len(message.get("body", b""))
        if self.taken > self.limit:
            # The framework turns any other exception of a body into a 400.
            raise HTTPException(413, _too_large(self.limit).message)
        return message


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request's body is larger than {max(1, limit // 1024 // 1024)} MB. Send less, or in parts."
    )


def _checked_host(headers: Headers) -> str:
    hosts = headers.getlist("host")
    if len(hosts) == 1 and is_loopback(_name(hosts[0])):
        return hosts[0]
    message = (
        f"The Host header is {', '.join(hosts) or 'missing'}: this Bethink has no users, so it answers only "
        "to this machine's own names, such as 127.0.0.1 or localhost."
    )
    raise NotAllowed(message)


def _check_origin(headers: Headers, own: str) -> None:
    for origin in headers.getlist("origin"):
        if origin.lower() != own:
            message = f"The page {origin} is not Bethink's own: it may not send requests here."
            raise NotAllowed(message)
    # Browsers leave the Origin out of a plain GET, and say this instead.
    is_own = headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if not (is_own or is_link):
        message = "Another site's page asked for this: it may not send requests here."
        raise NotAllowed(message)


def _name(host: str) -> str:
    """The name or address in a Host header, without its port; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    is_plain = not (parts.path or parts.query or parts.fragment or "@" in host)
    return (parts.hostname or "") if is_plain else ""
