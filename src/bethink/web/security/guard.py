"""Who may speak to the web door at all: checked before any route, for every request.

A page on the internet can make a browser send requests to this machine, and by
DNS rebinding even read the answers; so the Host must be one of ours and an
Origin must be the page's own. While Bethink has no users, only this machine's own
names are ours, and what a proxy forwards is refused: it would hide who asks. With
users the settings name more, and an address without a name, which no DNS can give away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders

from bethink.accounts.addresses import is_address, is_loopback
from bethink.errors import BethinkError, NotAllowed
from bethink.web.problems import of_error
from bethink.web.request_scope import Visit
from bethink.web.security import cors
from bethink.web.security.bounds import body_bounds, check_head
from bethink.web.security.credentials import FOREIGN, credential_of, keep_own_cookies

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bethink.app import App

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
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


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
        given = dict(_HEADERS)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in given.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        try:
            check_head(scope)
            keep_own_cookies(scope)
            if (origin := await _admitted(scope)) is not None:
                scope.setdefault("state", {})[FOREIGN] = True
                given.update(cors.headers(origin))
            is_dial = _dial_hosts(scope) is not None
            bounds = body_bounds(
                scope, is_dial=is_dial, is_stranger=not is_dial and await _is_stranger(scope)
            )
            bounds.check_length(scope)
        except BethinkError as error:
            await of_error(error)(scope, receive, send_safely)
            return
        if origin is not None and scope["method"] == "OPTIONS":
            await cors.preflight()(scope, receive, send_safely)
            return
        await Visit().run(self.app, scope, bounds.counting(receive), send_safely)


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


async def _is_stranger(scope: Scope) -> bool:
    """Whether somebody asks who needs a key to be let in, and shows none that opens anything."""
    app: App | None = scope.get("state", {}).get("app")
    if app is None or not await app.accounts.needs_key():
        return False
    try:
        return not await app.accounts.recognises(credential_of(scope))
    except BethinkError:
        return True


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
