"""What a request needs of its key: one table for all routes, present and to come.

A route that is not named here reads with `read` and does anything else with
`write`. A table of addresses, since it must hold for a route that nobody thought of.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from bethink.accounts import ADMIN, CHAT, READ, WRITE
from bethink.errors import NotAllowed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.principal import Principal

_SAFE = frozenset({"GET", "HEAD"})
_ANY = frozenset({READ, WRITE, CHAT, ADMIN})

_Rule = tuple[str, "re.Pattern[str]", frozenset[str]]


def _rule(methods: str, path: str, *rights: str) -> _Rule:
    return methods, re.compile(path), frozenset(rights)


_RULES: Sequence[_Rule] = (
    _rule("*", r"/users(/.*)?", ADMIN),
    _rule("*", r"/metrics", ADMIN),
    _rule("POST", r"/mcp-servers/.*", ADMIN),
    # Each call of a tool is judged by its own effect.
    _rule("*", r"/mcp", *_ANY),
    _rule("*", r"/session", *_ANY),
    _rule("*", r"/health", *_ANY),
    _rule("POST", r"/conversations(/[^/]+/(chat|files))?", CHAT),
    _rule("POST", r"/runs/[^/]+/cancel", CHAT),
    _rule("POST", r"/vault/ask", CHAT),
    _rule("POST", r"/v1/(chat/completions|responses|embeddings)", CHAT),
    _rule("*", r"/v1/responses/[^/]+/cancel", CHAT),
    _rule("DELETE", r"/v1/responses/[^/]+", CHAT),
    _rule("GET", r"/v1/responses/[^/]+(/input_items)?", READ, CHAT),
    _rule("GET", r"/runs/[^/]+/events", READ, CHAT),
    _rule("GET", r"/v1/models(/.*)?", READ, CHAT),
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
        message = (
            f"This key may not do that: it has the scopes {has}, and {method} {path} needs "
            f"{' or '.join(sorted(rights))}."
        )
        raise NotAllowed(message)
