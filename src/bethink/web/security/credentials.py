"""Where a request's key or sign-in stands, and what may not be there. `security`, `caller` and `mcp` ask.

A key comes as `Authorization: Bearer` or in the header `api-key` or `x-api-key`, a sign-in in a
cookie that scripts cannot read. A key in an address is refused whatever it is for:
addresses stand in histories and in the logs of proxies.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from bethink.accounts import ADMIN, CHAT, READ, WRITE
from bethink.accounts.register import SIGN_IN_PREFIX, holds_credential
from bethink.errors import BadInput, NotAllowed

if TYPE_CHECKING:
    from starlette.types import Scope

    from bethink.principal import Principal


_SAFE = frozenset({"GET", "HEAD"})
_ANY = frozenset({READ, WRITE, CHAT, ADMIN})

_Rule = tuple[str, "re.Pattern[str]", frozenset[str]]


def _rule(methods: str, path: str, *rights: str) -> _Rule:
    return methods, re.compile(path), frozenset(rights)


_RULES: Sequence[_Rule] = (
    _rule("*", r"/(users(/.*)?|metrics|settings/changes|models/.*|backups)", ADMIN),
    _rule("GET", r"/mcp-servers/.*", READ),
    _rule("*", r"/mcp-servers/.*", ADMIN),
    _rule("PATCH", r"/settings", ADMIN),
    _rule("POST", r"/setup", ADMIN),
    # A folder of this machine is read with the rights of the server.
    _rule("POST", r"/documents/folders", ADMIN),
    # Each call of a tool is judged by its own effect, and what is granted is no more than who grants it has.
    _rule("*", r"/(mcp|session|authorize|health)", *_ANY),
    _rule("POST", r"/conversations(/[^/]+/(chat|files))?", CHAT),
    _rule("POST", r"/runs/[^/]+/cancel", CHAT),
    _rule("POST", r"/vault/ask", CHAT),
    _rule("POST", r"/kb/[^/]+/search", READ),
    _rule("POST", r"/v1/(chat/completions|responses|embeddings)", CHAT),
    _rule("POST", r"(/v1)?/audio/(transcriptions|speech)", CHAT),
    _rule("*", r"/v1/responses/[^/]+/cancel", CHAT),
    _rule("DELETE", r"/v1/responses/[^/]+", CHAT),
    _rule("GET", r"/v1/responses/[^/]+(/input_items)?", READ, CHAT),
    _rule("GET", r"/runs/[^/]+/events", READ, CHAT),
    _rule("GET", r"/v1/models(/.*)?", READ, CHAT),
    _rule("PROPFIND", r"/(dav(/.*)?)?", READ),
    _rule("REPORT", r"/dav(/.*)?", READ),
    _rule("OPTIONS", r"/dav(/.*)?", READ),
)
"""The first that fits holds: any one of its rights is enough."""


def needed(method: str, path: str) -> frozenset[str]:
    """The rights of which one is needed for a request."""
    for methods, pattern, rights in _RULES:
        if methods in ("*", "GET" if method == "HEAD" else method) and pattern.fullmatch(path):
            return rights
    return frozenset({READ if method in _SAFE else WRITE})


def check(principal: Principal, method: str, path: str) -> None:
    """Refuse a request that the principal's key may not make.

    Raises:
        NotAllowed: it has none of the rights that are needed.
    """
    rights = needed(method, path)
    if rights.isdisjoint(principal.rights):
        has = ", ".join(sorted(principal.rights)) or "nothing"
        raise NotAllowed(
            f"This key may not do that: it has the scopes {has}, and {method} {path} needs "
            f"{' or '.join(sorted(rights))}."
        )


COOKIE = "bethink_session"
KNOWN_BROWSER = "bethink_browser"
"""A second cookie, which opens nothing: where somebody signed in before, strangers' failures do not count."""
_QUOTES = frozenset('"\\')
FOREIGN = "foreign"
"""In the state of a request that a page of another site sent, by leave of the settings."""
_IN_ADDRESS = (
    "The address of this request contains a key, and histories and logs store addresses. Send the key as "
    "`Authorization: Bearer …` or in the header `api-key`, and replace this one: it may be known now."
)
_TWO = "This request has two different keys: send one, as `Authorization: Bearer …` or as `api-key`."
_KEY_HEADERS: Final = ("api-key", "x-api-key")
"""Azure's clients send the first, many others the second."""
_BEARER = "bearer"
_BASIC = "basic"
_BASIC_PATHS: Final = ("/dav", "/.well-known/caldav")


def peer_of(scope: Scope, trusted: Sequence[str]) -> str:
    """The address that a request comes from; a trusted proxy tells for whom it asks.

    `trusted` are addresses and networks. What anybody else forwards is not believed.
    """
    client = scope.get("client")
    peer: str = client[0] if client else ""
    if not is_trusted(peer, trusted):
        return peer
    hops = ",".join(HTTPConnection(scope).headers.getlist("x-forwarded-for")).split(",")
    # From the end: what stands before the first hop that is not ours, anybody may have written.
    for hop in reversed(hops):
        if (address := _address(hop.strip())) is None:
            break
        peer = str(address)
        if not is_trusted(peer, trusted):
            break
    return peer


def is_trusted(peer: str, trusted: Sequence[str]) -> bool:
    """Whether an address is one of these, or in one of these networks."""
    address = _address(peer)
    return address is not None and any(address in ip_network(one, strict=False) for one in trusted)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The address that a proxy or the system tells, with a port or without; None if it is none."""
    has_port = text.count(":") == 1 or (text.startswith("[") and not text.endswith("]"))
    host = text.rpartition(":")[0] if has_port else text
    try:
        address = ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return None
    # A socket for both families tells an address of the old one in the form of the new one.
    return getattr(address, "ipv4_mapped", None) or address


def origin_of(scope: Scope, public_urls: Sequence[str]) -> str:
    """The address of this Bethink as who asks knows it; `guard` lets in only names that are its own."""
    host = HTTPConnection(scope).headers.get("host", "").lower()
    # Of the same name by http and https the latter, which sorts behind.
    named = max((url for url in public_urls if urlsplit(url).netloc == host), default=None)
    return named or f"{scope['scheme']}://{host}"


def keep_own_cookies(scope: Scope) -> None:
    """Leave in a request only the cookies that are ours: `security` does before anybody reads them.

    The framework takes quotes and backslashes out of every cookie, strangers' and other programs' included,
    in time that grows with the square of their length. Ours have neither.
    """
    headers = [(name, value) for name, value in scope["headers"] if name != b"cookie"]
    if len(headers) == len(scope["headers"]):
        return
    found = {name: cookie_of(scope, name) for name in (COOKIE, KNOWN_BROWSER)}
    kept = [f"{name}={value}" for name, value in found.items() if value and not _QUOTES & set(value)]
    scope["headers"] = [*headers, (b"cookie", "; ".join(kept).encode("latin-1"))] if kept else headers


def cookie_of(scope: Scope, name: str) -> str:
    """The value of a cookie of ours, as it was sent; empty if there is none."""
    pairs = ";".join(HTTPConnection(scope).headers.getlist("cookie")).split(";")
    values = [
        value.strip() for key, _, value in (pair.partition("=") for pair in pairs) if key.strip() == name
    ]
    return values[-1] if values else ""


def credential_of(scope: Scope) -> str | None:
    """The key, or else the sign-in, that a request shows; None where it shows neither.

    Raises:
        BadInput: it shows two different keys, or one in its address.
    """
    request = HTTPConnection(scope)
    query: bytes = scope.get("query_string", b"")
    if query and holds_credential(query.decode("latin-1")):
        raise BadInput(_IN_ADDRESS)
    keys = set(_keys(request))
    if len(keys) > 1:
        raise BadInput(_TWO)
    if keys:
        key = keys.pop()
        # What a sign-in's cookie holds is no key.
        return "" if key.startswith(SIGN_IN_PREFIX) else key
    held = cookie_of(scope, COOKIE)
    # A page of another site that may come with a key cannot come with somebody's sign-in.
    is_foreign = scope.get("state", {}).get(FOREIGN, False)
    return held if held.startswith(SIGN_IN_PREFIX) and not is_foreign else None


def takes_basic(scope: Scope) -> bool:
    """Whether a key may come as the password of any user name (RFC 7617): calendar clients know no other way.

    Those that know a host alone look for calendars at its root.
    """
    return scope["path"].startswith(_BASIC_PATHS) or scope["method"] == "PROPFIND"


def shows_key(scope: Scope) -> bool:
    """Whether a request shows a key in a header: a program sent it, and not the owner's own page."""
    return bool(_keys(HTTPConnection(scope)))


def _keys(request: HTTPConnection) -> list[str]:
    headers = request.headers
    found = [value.strip() for name in _KEY_HEADERS for value in headers.getlist(name)]
    for value in headers.getlist("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        if scheme.lower() == _BEARER:
            found.append(rest.strip())
        elif scheme.lower() == _BASIC and takes_basic(request.scope):
            found.append(_password(rest.strip()))
    return [key for key in found if key]


def _password(text: str) -> str:
    """The password of Basic authentication; what is none opens nothing."""
    try:
        return base64.b64decode(text, validate=True).decode().partition(":")[2] or "-"
    except (binascii.Error, UnicodeDecodeError):
        return "-"
