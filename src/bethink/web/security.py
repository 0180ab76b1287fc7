"""Who may speak to the web door at all: checked before any route, for every request.

A page on the internet can make a browser send requests to this machine, and by
DNS rebinding even read the answers; so the Host must be one of ours and an
Origin must be the page's own. While Bethink has no users, only this machine's own
names are ours, and what a proxy forwards is refused: it would hide who asks. With
users the settings name more, and an address without a name, which no DNS can give away.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from bethink.accounts.addresses import is_address, is_loopback
from bethink.errors import BethinkError, NotAllowed, TooLarge
from bethink.web import cors
from bethink.web.credentials import FOREIGN
from bethink.web.problems import of_error
from bethink.web.visit import Visit

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bethink.app import App

MAX_BODY_BYTES = 12 * 1024 * 1024
"""Room for the longest message in JSON's escapes; files travel otherwise."""

_UNBOUNDED = frozenset({"/memories/import", "/import"})
"""The routes that count for themselves, by a setting."""
_FILES = re.compile(r"/conversations/[^/]+/files")
"""The route that takes files, as large as a setting says."""
DIAL_PATHS = ("/openai/deployments/", "/openai/v1/")
_DIAL_BYTES = 16 * 1024 * 1024
"""What DIAL Core itself takes of a request (`Proxy`)."""
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
        given = dict(_HEADERS)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in given.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        limit = self._limit(scope)
        try:
            if (origin := await _admitted(scope)) is not None:
                scope.setdefault("state", {})[FOREIGN] = True
                given.update(cors.headers(origin))
            _check_length(scope, limit)
        except BethinkError as error:
            await of_error(error)(scope, receive, send_safely)
            return
        if origin is not None and scope["method"] == "OPTIONS":
            await cors.preflight()(scope, receive, send_safely)
            return
        limited = receive if limit is None else _Limited(receive, limit)
        await Visit().run(self.app, scope, limited, send_safely)

    def _limit(self, scope: Scope) -> int | None:
        """The longest body of this route, in bytes; None where it counts for itself."""
        if scope["path"] in _UNBOUNDED:
            return None
        if _dial_hosts(scope) is not None:
            return _DIAL_BYTES
        if _FILES.fullmatch(scope["path"]) and "app" in scope.get("state", {}):
            return scope["state"]["app"].settings.max_file_bytes + _FORM_BYTES
        return self.max_body_bytes


@dataclass(frozen=True, slots=True)
class _House:
    """What of this Bethink decides who may speak to it."""

    has_users: bool = False
    public_urls: Sequence[str] = ()
    cors_origins: Sequence[str] = ()


async def _house(scope: Scope) -> _House:
    app: App | None = scope.get("state", {}).get("app")
    if app is None:
        return _House()
    has_users, settings = await app.accounts.needs_key(), app.settings
    return _House(has_users, settings.public_urls if has_users else (), settings.cors_origins)


async def _admitted(scope: Scope) -> str | None:
    """See `_checked`; DIAL Core is known by its own names and its key."""
    headers = Headers(scope=scope)
    if (hosts := _dial_hosts(scope)) is not None:
        # Core sends its clients' headers along; its key says who asks, which no page can send.
        _check_dial_host(headers, hosts)
        return None
    return _checked(headers, scope["scheme"], await _house(scope))


def _check_length(scope: Scope, limit: int | None) -> None:
    """Refuse a body that is said to be longer than `limit` bytes.

    Raises:
        TooLarge: it is.
    """
    length = Headers(scope=scope).get("content-length", "0")
    if limit is not None and length.isdecimal() and int(length) > limit:
        raise _too_large(limit)


def _checked(headers: Headers, scheme: str, house: _House) -> str | None:
    """The origin of another site's page that may send this; None for our own, and for programs.

    Raises:
        NotAllowed: the request may not come from there, or not by that name.
    """
    forwarded = next((name for name in headers if name.startswith(_FORWARDED)), None)
    if forwarded is not None and not house.has_users:
        message = (
            f"The request was forwarded by a proxy ({forwarded}). This Bethink has no users, so it "
            "answers only requests of this machine itself."
        )
        raise NotAllowed(message)
    host = _checked_host(headers, house)
    named = {url for url in house.public_urls if urlsplit(url).netloc == host.lower()}
    return _foreign(headers, named or {f"{scheme}://{host}".lower()}, house)


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


def _dial_hosts(scope: Scope) -> Sequence[str] | None:
    """The names by which DIAL Core may call, on its paths where the settings enable it; None elsewhere."""
    if not scope["path"].startswith(DIAL_PATHS) or "app" not in scope.get("state", {}):
        return None
    dial = scope["state"]["app"].settings.dial
    return dial.hosts if dial.enabled else None


def _check_dial_host(headers: Headers, allowed: Sequence[str]) -> None:
    hosts = headers.getlist("host")
    if len(hosts) == 1 and (is_loopback(name := _name(hosts[0])) or name in allowed):
        return
    message = (
        f"The Host header is {', '.join(hosts) or 'missing'}: add the name under which DIAL Core calls to "
        "`hosts` of the setting `dial`."
    )
    raise NotAllowed(message)


def _too_large(limit: int) -> TooLarge:
    return TooLarge(
        f"The request's body is larger than {max(1, limit // 1024 // 1024)} MB. Send less, or in parts."
    )


def _checked_host(headers: Headers, house: _House) -> str:
    hosts = headers.getlist("host")
    if len(hosts) == 1 and _is_ours(hosts[0], house):
        return hosts[0]
    told = f"The Host header is {', '.join(hosts) or 'missing'}"
    if house.has_users:
        raise NotAllowed(f"{told}: this Bethink does not know that name. BETHINK_PUBLIC_URLS lists its own.")
    message = (
        f"{told}: this Bethink has no users, so it answers only to this machine's own names, such as "
        "127.0.0.1 or localhost."
    )
    raise NotAllowed(message)


def _is_ours(host: str, house: _House) -> bool:
    name = _name(host)
    if is_loopback(name):
        return True
    is_named = any(urlsplit(url).netloc == host.lower() for url in house.public_urls)
    return house.has_users and (is_named or is_address(name))


def _foreign(headers: Headers, own: AbstractSet[str], house: _House) -> str | None:
    """The origin of another site's page, if it is one that may send requests.

    Raises:
        NotAllowed: it is not.
    """
    foreign: str | None = None
    for origin in headers.getlist("origin"):
        if origin.lower() in own:
            continue
        if origin.lower() not in house.cors_origins:
            message = f"The page {origin} is not Bethink's own: it may not send requests here."
            raise NotAllowed(message)
        if not house.has_users:
            message = (
                f"The page {origin} may send requests once there is a user with a key: `bethink users add`."
            )
            raise NotAllowed(message)
        foreign = origin
    if foreign is not None:
        return foreign
    # Browsers leave the Origin out of a plain GET, and say this instead.
    is_own = headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if not (is_own or is_link):
        message = "Another site's page asked for this: it may not send requests here."
        raise NotAllowed(message)
    return None


def _name(host: str) -> str:
    """The name or address in a Host header, without its port; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    is_plain = not (parts.path or parts.query or parts.fragment or "@" in host)
    return (parts.hostname or "") if is_plain else ""
