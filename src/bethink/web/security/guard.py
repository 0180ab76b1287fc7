"""Who may speak to the web door at all: checked before any route, for every request.

A page on the internet can make a browser send requests to this machine, and by
DNS rebinding even read the answers; so the Host must be one of ours and an
Origin must be the page's own. While Bethink has no users, only this machine's own
names are ours, and what a proxy forwards is refused: it would hide who asks. With
users the settings name more, and an address without a name, which no DNS can give away.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response

from bethink.accounts.register import is_address, is_loopback
from bethink.audio import MAX_AUDIO_BYTES
from bethink.errors import BadInput, BethinkError, NotAllowed, TooLarge
from bethink.json_bounds import JsonBounds
from bethink.telemetry import Correlation, Span, Tracing, correlated, correlation
from bethink.web.problems import of_error
from bethink.web.request_scope import RequestScope
from bethink.web.security.answers import ANSWERS, AnswerCounts
from bethink.web.security.credentials import FOREIGN, credential_of, keep_own_cookies, takes_basic

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bethink.app import App


MAX_BODY_BYTES: Final = 12 * 1024 * 1024
"""Room for the longest message in JSON's escapes; files travel otherwise."""
MAX_VALUES: Final = 20_000
"""Objects, lists and their items in one body: 0.3 s of work if every one of them is wrong."""
MAX_TURN_VALUES: Final = 100_000
"""Of a client that sends its whole history each time: 5,000 messages with their parts and calls."""
STRANGER_BYTES: Final = 16 * 1024
"""From somebody who has shown no key that opens anything: room to sign in, and no more."""
_USUAL_BYTES: Final = 1024 * 1024
_DIAL_BYTES: Final = 16 * 1024 * 1024
"""What DIAL Core itself takes of a request (`Proxy`)."""
_FORM_BYTES: Final = 64 * 1024
"""What a form takes beside its file."""

MAX_ADDRESS_BYTES: Final = 32 * 1024
_MAX_PARAMETERS: Final = 500
_MAX_HEADERS: Final = 200
_MAX_MEDIA_TYPE_BYTES: Final = 1_000
"""Its parameters are taken apart in time that grows with the square of its length."""

_SIGNING_IN: Final = re.compile(r"/(?:session|users|keys)(?:/.*)?")
_TEXTS: Final = re.compile(
    r"/conversations/[^/]+/chat|/v1/.*|/mcp|/vault(?:/.*)?|/documents/text|/artifacts(?:/[^/]+)?"
)
"""What takes a whole text of its owner's."""
_TURNS: Final = re.compile(r"/v1/.*|/openai/.*")
_UNBOUNDED: Final = re.compile(
    r"/memories/import|/import|/kb/import|/calendar/import|/documents|/v1/files"
    r"|/documents/(?:[^/]+/file|uploads/[^/]+)"
)
"""The routes that read a file as it comes, and count it by a setting."""
_UMS_PATHS: Final = re.compile(r"/health|/conversations(?:/[^/]+(?:/chat)?)?")
"""What the page of spec 001 asks for."""
_DAV: Final = re.compile(r"/dav(?:/.*)?")
_DAV_BYTES: Final = 2 * 1024 * 1024
"""Of one event with its changed instances, or of a question about very many."""
_FILES: Final = re.compile(r"/conversations/[^/]+/files")
"""The route that takes files, as large as a setting says."""
_RECORDINGS: Final = re.compile(r"(?:/v1)?/audio/transcriptions")
_UNKNOWN: Final = 401
DIAL_PATHS = ("/openai/deployments/", "/openai/v1/")

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
    "permissions-policy": "camera=(), geolocation=(), microphone=(self)",
}


REQUEST_ID: Final = "x-request-id"
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/+=-]{0,127}")
"""What proxies and clients make: UUIDs, numbers, Base64. It is logged and sent back."""

_WATCHED: Final = frozenset({"/livez", "/readyz", "/metrics"})

_PREFLIGHT = {
    "access-control-allow-methods": "GET, HEAD, POST, PUT, PATCH, DELETE",
    # Clients add headers of their own: the star is all but the first if there are no credentials.
    "access-control-allow-headers": "authorization, *",
    "access-control-max-age": "600",
}
"""The answer to a browser that asks first, kept for ten minutes."""


@dataclass(frozen=True, slots=True)
class Guard:
    """An ASGI application that lets only fit requests through, and fits out every answer."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request or hand it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        counted: AnswerCounts | None = scope.get("state", {}).get(ANSWERS)
        with correlated(Correlation(request_id=request_id(scope))):
            if counted is None:
                await self._serve(scope, receive, send)
            else:
                with _traced(scope) as span, counted.counting(scope, send, span) as counting:
                    await self._serve(scope, receive, counting)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = {**_HEADERS, REQUEST_ID: correlation().request_id or ""}

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in given.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
                if message["status"] == _UNKNOWN and takes_basic(scope):
                    headers["www-authenticate"] = 'Basic realm="Bethink", charset="UTF-8"'
            await send(message)

        try:
            check_head(scope)
            keep_own_cookies(scope)
            if (origin := await _admitted(scope)) is not None:
                scope.setdefault("state", {})[FOREIGN] = True
                given |= {
                    "access-control-allow-origin": origin,
                    "access-control-expose-headers": "*",
                    "vary": "Origin",
                }
            is_dial = _dial_hosts(scope) is not None
            bounds = body_bounds(
                scope, is_dial=is_dial, is_stranger=not is_dial and await _is_stranger(scope)
            )
            bounds.check_length(scope)
        except BethinkError as error:
            await of_error(error)(scope, receive, send_safely)
            return
        if origin is not None and scope["method"] == "OPTIONS":
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, send_safely)
            return
        await RequestScope().run(self.app, scope, bounds.counting(receive), send_safely)


def _traced(scope: Scope) -> AbstractContextManager[Span]:
    """A span of the request; its name comes with its route, since an address may hold somebody's words.

    What supervises asks every few seconds: of that there is none.
    """
    tracing = Tracing() if scope["path"] in _WATCHED else scope["state"]["app"].ports.tracing
    told = {"http.request.method": scope["method"], "url.scheme": scope["scheme"]}
    return tracing.begin("request", told, kind="server", headers=Headers(scope=scope))


def request_id(scope: Scope) -> str:
    """The id of a request: the one that its client or a proxy gave it, if it is one, else a new one."""
    given = Headers(scope=scope).getlist(REQUEST_ID)
    return given[0] if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) else uuid4().hex


@dataclass(frozen=True, slots=True)
class _OwnNames:
    """The names and pages that this Bethink answers to."""

    has_users: bool = False
    public_urls: Sequence[str] = ()
    cors_origins: Sequence[str] = ()
    ums_pages: Sequence[str] = ()
    """Pages of this machine that may ask without a key, as there are no users."""


async def _admitted(scope: Scope) -> str | None:
    """See `_checked`; DIAL Core is known by its own names and its key."""
    headers = Headers(scope=scope)
    if (hosts := _dial_hosts(scope)) is not None:
        # Core sends its clients' headers along; its key says who asks, which no page can send.
        sent = headers.getlist("host")
        if len(sent) == 1 and (is_loopback(name := _name(sent[0])) or name in hosts):
            return None
        raise NotAllowed(
            f"The Host header is {', '.join(sent) or 'missing'}: add the name under which DIAL Core calls to "
            "`hosts` of the setting `dial`."
        )
    ours = _OwnNames()
    app: App | None = scope.get("state", {}).get("app")
    if app is not None:
        has_users, settings = await app.accounts.needs_key(), app.settings
        is_theirs = not has_users and _UMS_PATHS.fullmatch(scope["path"])
        ours = _OwnNames(
            has_users,
            settings.public_urls if has_users else (),
            settings.cors_origins,
            settings.ums_pages if is_theirs else (),
        )
    return _checked(headers, scope["scheme"], ours)


async def _is_stranger(scope: Scope) -> bool:
    """Whether somebody asks who needs a key to be let in, and shows none that opens anything."""
    app: App | None = scope.get("state", {}).get("app")
    if app is None or not await app.accounts.needs_key():
        return False
    try:
        return not await app.accounts.recognises(credential_of(scope))
    except BethinkError:
        return True


def _checked(headers: Headers, scheme: str, ours: _OwnNames) -> str | None:
    """The origin of another site's page that may send this; None for our own, and for programs."""
    forwarded = next((name for name in headers if name.startswith(_FORWARDED)), None)
    if forwarded is not None and not ours.has_users:
        raise NotAllowed(
            f"The request was forwarded by a proxy ({forwarded}). This Bethink has no users, so it "
            "answers only requests of this machine itself."
        )
    host = _checked_host(headers, ours)
    named = {url for url in ours.public_urls if urlsplit(url).netloc == host.lower()}
    return _foreign(headers, named or {f"{scheme}://{host}".lower()}, ours)


def _dial_hosts(scope: Scope) -> Sequence[str] | None:
    """The names by which DIAL Core may call, on its paths where the settings enable it; None elsewhere."""
    if not scope["path"].startswith(DIAL_PATHS) or "app" not in scope.get("state", {}):
        return None
    dial = scope["state"]["app"].settings.dial
    return dial.hosts if dial.enabled else None


def _checked_host(headers: Headers, ours: _OwnNames) -> str:
    hosts = headers.getlist("host")
    if len(hosts) == 1:
        name = _name(hosts[0])
        is_named = any(urlsplit(url).netloc == hosts[0].lower() for url in ours.public_urls)
        if is_loopback(name) or (ours.has_users and (is_named or is_address(name))):
            return hosts[0]
    told = f"The Host header is {', '.join(hosts) or 'missing'}"
    if ours.has_users:
        raise NotAllowed(f"{told}: this Bethink does not know that name. BETHINK_PUBLIC_URLS lists its own.")
    raise NotAllowed(
        f"{told}: this Bethink has no users, so it answers only to this machine's own names, such as "
        "127.0.0.1 or localhost."
    )


def _foreign(headers: Headers, own: AbstractSet[str], ours: _OwnNames) -> str | None:
    """The origin of another site's page, if it is one that may send requests."""
    foreign: str | None = None
    for origin in headers.getlist("origin"):
        if origin.lower() in own:
            continue
        if origin.lower() in ours.ums_pages and is_loopback(urlsplit(origin).hostname or ""):
            foreign = origin
            continue
        if origin.lower() not in ours.cors_origins:
            raise NotAllowed(f"The page {origin} is not Bethink's own: it may not send requests here.")
        if not ours.has_users:
            raise NotAllowed(
                f"The page {origin} may send requests once there is a user with a key: `bethink users add`."
            )
        foreign = origin
    if foreign is not None:
        return foreign
    # Browsers leave the Origin out of a plain GET, and say this instead.
    is_own = headers.get("sec-fetch-site", "none") in {"none", "same-origin"}
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if not (is_own or is_link):
        raise NotAllowed("Another site's page asked for this: it may not send requests here.")
    return None


def _name(host: str) -> str:
    """The name or address in a Host header, without its port; empty where it is none."""
    try:
        parts = urlsplit(f"//{host}")
    except ValueError:
        return ""
    is_plain = not (parts.path or parts.query or parts.fragment or "@" in host)
    return (parts.hostname or "") if is_plain else ""


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """The longest body in bytes, None where its route counts; the most values of JSON, None for a file."""

    size: int | None
    values: int | None = MAX_VALUES

    def check_length(self, scope: Scope) -> None:
        """Refuse a body that is said to be too long.

        Raises:
            TooLarge: it is.
        """
        length = Headers(scope=scope).get("content-length", "0")
        # More digits than any length has are not read: their time grows with their square.
        if self.size is not None and length.isdecimal() and (len(length) > 18 or int(length) > self.size):  # noqa: PLR2004 - digits of 2**63
            raise _too_large(self.size)

    def counting(self, receive: Receive) -> Receive:
        """The body as it comes, up to these bounds, which its length header may hide."""
        if self.size is None:
            return receive
        counted = None if self.values is None else JsonBounds(self.values)
        return _Counted(receive, self.size, counted)


def body_bounds(scope: Scope, *, is_dial: bool, is_stranger: bool) -> BodyBounds:
    """What the body of this request may be."""
    path: str = scope["path"]
    if is_dial:
        return BodyBounds(_DIAL_BYTES, MAX_TURN_VALUES)
    if is_stranger or _SIGNING_IN.fullmatch(path):
        return BodyBounds(STRANGER_BYTES)
    if _UNBOUNDED.fullmatch(path):
        return BodyBounds(None)
    if _DAV.fullmatch(path):
        return BodyBounds(_DAV_BYTES, values=None)
    if _FILES.fullmatch(path) and "app" in scope.get("state", {}):
        return BodyBounds(scope["state"]["app"].settings.max_file_bytes + _FORM_BYTES, values=None)
    if _RECORDINGS.fullmatch(path):
        return BodyBounds(MAX_AUDIO_BYTES + _FORM_BYTES, values=None)
    size = MAX_BODY_BYTES if _TEXTS.fullmatch(path) else _USUAL_BYTES
    return BodyBounds(size, MAX_TURN_VALUES if _TURNS.fullmatch(path) else MAX_VALUES)


def check_head(scope: Scope) -> None:
    """Refuse an address or headers that no person and no program sends.

    Raises:
        TooLarge: the address, or its headers, are too long or too many.
        BadInput: the media type of the body is none.
    """
    query: bytes = scope.get("query_string", b"")
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    if len(path) + len(query) > MAX_ADDRESS_BYTES or query.count(b"&") >= _MAX_PARAMETERS:
        raise TooLarge(
            f"The address is too long: at most {MAX_ADDRESS_BYTES // 1024} KB, {_MAX_PARAMETERS} parameters."
        )
    if len(scope["headers"]) > _MAX_HEADERS:
        raise TooLarge(f"The request has more than {_MAX_HEADERS} headers.")
    if len(Headers(scope=scope).get("content-type", "")) > _MAX_MEDIA_TYPE_BYTES:
        raise BadInput("The header Content-Type is too long to be one.")


@dataclass(slots=True)
class _Counted:
    receive: Receive
    size: int
    json: JsonBounds | None
    taken: int = 0

    async def __call__(self) -> Message:
        message = await self.receive()
        body = message.get("body", b"")
        self.taken += len(body)
        # The framework turns any other exception of a body into a 400.
        if self.taken > self.size:
            error = _too_large(self.size)
            raise HTTPException(error.status, error.message)
        if self.json is not None:
            try:
                self.json.feed(body)
            except BadInput as error:
                raise HTTPException(error.status, error.message) from error
        return message


def _too_large(limit: int) -> TooLarge:
    shown = f"{limit // 1024 // 1024} MB" if limit >= _USUAL_BYTES else f"{limit // 1024} KB"
    return TooLarge(f"The request's body is larger than {shown}. Send less, or in parts.")
