"""Secrets of a server's configuration, hidden wherever the server's own words are shown.

A server that ends with a stack trace prints its variables, and an HTTP client's
error quotes the address. `connection.py` and `stdio.py` show nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, unquote, urlsplit

if TYPE_CHECKING:
    from bethink.mcp_client import ServerConfig

HIDDEN = "***"
_SHORTEST = 6
"""A shorter value, such as `true` or a port, is a word of its own in many a sentence."""
_TOKEN_CHARS = 16
"""A step of a path that is as long may be a key: some addresses are."""
_QUERY = re.compile(r"(https?://[^\s?#'\"<>]*)[?#][^\s'\"<>]*")
_USER = re.compile(r"(https?://)[^\s/@'\"<>]+@")
_KEYLIKE = re.compile(r"token|key|secret|passw|auth|credential", re.IGNORECASE)


class SecretMask:
    """Hides what is secret about one server."""

    def __init__(self, config: ServerConfig) -> None:
        values = {part.strip() for value in _values(config) for part in (value, *value.splitlines())}
        kept = {one for one in values if len(one) >= _SHORTEST}
        kept |= {quote(one, safe="") for one in kept} | {unquote(one) for one in kept}
        self._secrets = sorted(kept, key=len, reverse=True)

    def __call__(self, text: str) -> str:
        """The text without them, also where it breaks off within one."""
        for secret in self._secrets:
            text = text.replace(secret, HIDDEN)
        for secret in self._secrets:
            for length in range(min(len(secret) - 1, len(text)), _SHORTEST - 1, -1):
                if text.endswith(secret[:length]):
                    text = text[:-length] + HIDDEN
                    break
        return _USER.sub(rf"\1{HIDDEN}@", _QUERY.sub(rf"\1?{HIDDEN}", text))


def _values(config: ServerConfig) -> Iterator[str]:
    yield from config.env.values()
    for value in config.headers.values():
        yield value
        # `Bearer abc`: the scheme is no secret.
        yield value.rpartition(" ")[2]
    if config.oauth is not None and config.oauth.client_secret:
        yield config.oauth.client_secret
    yield from _of_address(config.url)
    yield from _of_command(config.command)


def _of_address(url: str) -> Iterator[str]:
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield from (parts.password or "", parts.username or "", parts.query, parts.fragment)
    yield from (value for _, value in parse_qsl(parts.query))
    yield from (step for step in parts.path.split("/") if len(step) >= _TOKEN_CHARS)


def _of_command(command: tuple[str, ...]) -> Iterator[str]:
    for before, argument in zip(("", *command), command, strict=False):
        name, _, value = argument.partition("=")
        if value and _KEYLIKE.search(name):
            yield value
        elif before.startswith("-") and "=" not in before and _KEYLIKE.search(before):
            yield argument
        yield from _of_address(argument) if "://" in argument else ()
