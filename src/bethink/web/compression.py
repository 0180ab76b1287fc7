"""Answers in fewer bytes: `ui` picks a file's form that the build made, JSON is compressed here if it pays.

It pays over a network: a reader on this machine gets JSON as it is. Streams are
never touched, so that nothing waits in a buffer.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders

from bethink.accounts.addresses import is_loopback

if TYPE_CHECKING:
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
