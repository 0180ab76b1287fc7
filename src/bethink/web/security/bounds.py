"""What a request may be before anything of it is parsed: its address, its headers, the size of its body.

`security` asks for every request. Parsing and validating hold the event loop, so
that nothing which a stranger chooses may make them long: every bound here is far
above what people and programs send, and far below a quarter of a second of work.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from bethink.errors import BadInput, TooLarge
from bethink.json_bounds import JsonBounds

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope

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
_TEXTS: Final = re.compile(r"/conversations/[^/]+/chat|/v1/.*|/mcp|/vault(?:/.*)?")
"""What takes a whole text of its owner's."""
_TURNS: Final = re.compile(r"/v1/.*|/openai/.*")
_UNBOUNDED: Final = frozenset({"/memories/import", "/import"})
"""The routes that read a file as it comes, and count it by a setting."""
_FILES: Final = re.compile(r"/conversations/[^/]+/files")
"""The route that takes files, as large as a setting says."""


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
    if path in _UNBOUNDED:
        return BodyBounds(None)
    if _FILES.fullmatch(path) and "app" in scope.get("state", {}):
        return BodyBounds(scope["state"]["app"].settings.max_file_bytes + _FORM_BYTES, values=None)
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
        message = (
            f"The address is too long: at most {MAX_ADDRESS_BYTES // 1024} KB, {_MAX_PARAMETERS} parameters."
        )
        raise TooLarge(message)
    if len(scope["headers"]) > _MAX_HEADERS:
        raise TooLarge(f"The request has more than {_MAX_HEADERS} headers.")
    if len(Headers(scope=scope).get("content-type", "")) > _MAX_MEDIA_TYPE_BYTES:
        message = "The header Content-Type is too long to be one."
        raise BadInput(message)


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
