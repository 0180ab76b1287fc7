"""Answers without what filters hide from a program, whatever a route tells. `visit` sends by it.

The vault's own routes answer through views. What others tell (memories,
conversations, exports, logs, errors) may say the same, and is looked through here
as it leaves. Streams tell of runs, which read for those who began them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import UnknownId
from bethink.web.problems import of_error

if TYPE_CHECKING:
    from starlette.types import Message, Scope, Send

    from bethink.visibility.reader_filter import ReaderFilter

SHADE: Final = "shade"
"""Where in the state of a request it stands what its caller is not told."""
_TEXTS: Final = ("application/json", "application/problem+json", "application/x-ndjson", "text/")
_STREAM: Final = "text/event-stream"
_RUNS: Final = re.compile(r"/conversations/[^/]+/chat|/v1/chat/completions|/v1/responses")
"""What answers by a run, which read for who asks: their own words are told them again as they said them."""
_APART: Final = ("/vault", "/health", "/openapi.json", "/session", "/v1/models")
"""What answers by itself, and what tells nothing of the owner's."""


@dataclass(slots=True)
class Veiling:
    """Sends the answer to one request."""

    scope: Scope
    sent: Send
    _start: Message | None = None
    _parts: list[bytes] = field(default_factory=list[bytes])

    async def send(self, message: Message) -> None:
        """Send on a message, or keep it until the whole answer is there."""
        shade: ReaderFilter | None = self.scope["state"].get(SHADE)
        if shade is None:
            await self.sent(message)
        elif message["type"] == "http.response.start" and _is_text(message) and not self._is_apart:
            self._start = message
        elif self._start is None:
            await self.sent(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._end(shade, self._start)

    @property
    def _is_apart(self) -> bool:
        return any(self.scope["path"].startswith(path) for path in _APART)

    async def _end(self, shade: ReaderFilter, start: Message) -> None:
        if self.scope["method"] == "POST" and _RUNS.fullmatch(self.scope["path"]):
            shade = shade.plain
        said = b"".join(self._parts).decode("utf-8", "replace")
        told = await anyio.to_thread.run_sync(shade.document, said)
        if told is None:
            await of_error(UnknownId())(self.scope, _nothing, self.sent)
            return
        body = told.encode()
        headers = [
            # A file's name may be a conversation's title.
            (name, b"attachment" if name.lower() == b"content-disposition" else value)
            for name, value in start["headers"]
            if name.lower() != b"content-length"
        ]
        await self.sent({**start, "headers": [*headers, (b"content-length", str(len(body)).encode())]})
        await self.sent({"type": "http.response.body", "body": body, "more_body": False})


def _is_text(start: Message) -> bool:
    kinds = [value.decode("latin-1") for name, value in start["headers"] if name.lower() == b"content-type"]
    return any(kind.startswith(_TEXTS) and not kind.startswith(_STREAM) for kind in kinds)


async def _nothing() -> Message:
    return {"type": "http.disconnect"}
