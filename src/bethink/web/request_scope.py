"""One request from start to end: it ends with the key that it came with, and its answer is filtered.

`security.guard` opens a scope around every request; `deps` says whose it is. The vault's own routes
answer through views; what others answer (memories, conversations, exports, logs, errors) is filtered
here as it leaves. Streams tell of runs, which read for those who began them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.lowlevel
import anyio.to_thread

from bethink.errors import BethinkError, NotSignedIn, UnknownId
from bethink.web.problems import of_error

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bethink.accounts import Accounts
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter


READER_FILTER: Final = "reader_filter"
"""Where in the state of a request it stands what its caller is not told."""
_TEXTS: Final = ("application/json", "application/problem+json", "application/x-ndjson", "text/")
_STREAM: Final = "text/event-stream"
_RUNS: Final = re.compile(r"/conversations/[^/]+/chat|/v1/chat/completions|/v1/responses")
"""What answers by a run, which read for who asks: their own words are told them again as they said them."""
_APART: Final = ("/vault", "/health", "/openapi.json", "/session", "/v1/models")
"""What answers by itself, and what tells nothing of the owner's."""
REQUEST_SCOPE = "request_scope"
"""Its place in the state of the request."""
_ENDED = "The key or sign-in of this request has ended: it was revoked, or its time is over."


@dataclass(slots=True)
class RequestScope:
    """A request that is being answered."""

    _cancel: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _stack: ExitStack = field(default_factory=ExitStack)
    _has_begun: bool = False
    _is_over: bool = False
    _broken: Callable[[BethinkError], bytes] | None = None

    def enter(self, accounts: Accounts, principal: Principal) -> None:
        """Whose request it is: it is broken off when they may not come in any more."""
        if principal.came_with is not None:
            self._stack.enter_context(accounts.watched(principal, self._cancel.cancel))

    def leave(self) -> None:
        """Have it answered to its end, since it is itself what ends the key or sign-in that it came with."""
        self._stack.close()

    def streams(self, broken: Callable[[BethinkError], bytes]) -> None:
        """Say how the answer, a stream, tells that it breaks off."""
        self._broken = broken

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; one that is broken off is told why, as far as there is still room to."""

        async def noting(message: Message) -> None:
            # The run of who may not come in any more is cancelled at once with the request: what that
            # leaves to say may be here before this task has noticed, and is no answer.
            if self._cancel.cancel_called:
                await anyio.lowlevel.checkpoint_if_cancelled()
            self._has_begun = True
            self._is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        scope.setdefault("state", {})[REQUEST_SCOPE] = self
        with self._stack, self._cancel:
            await app(scope, receive, ResponseFilter(scope, noting).send)
        if not self._cancel.cancelled_caught or self._is_over:
            return
        error = NotSignedIn(_ENDED)
        if not self._has_begun:
            await of_error(error)(scope, receive, send)
        elif self._broken is not None:
            await send({"type": "http.response.body", "body": self._broken(error), "more_body": False})


@dataclass(slots=True)
class ResponseFilter:
    """Sends the answer to one request."""

    scope: Scope
    sent: Send
    _start: Message | None = None
    _parts: list[bytes] = field(default_factory=list[bytes])

    async def send(self, message: Message) -> None:
        """Send on a message, or keep it until the whole answer is there."""
        reader_filter: ReaderFilter | None = self.scope["state"].get(READER_FILTER)
        is_apart = self.scope["path"].startswith(_APART)
        if reader_filter is None:
            await self.sent(message)
        elif message["type"] == "http.response.start" and _is_text(message) and not is_apart:
            self._start = message
        elif self._start is None:
            await self.sent(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._end(reader_filter, self._start)

    async def _end(self, reader_filter: ReaderFilter, start: Message) -> None:
        if self.scope["method"] == "POST" and _RUNS.fullmatch(self.scope["path"]):
            reader_filter = reader_filter.plain
        said = b"".join(self._parts).decode("utf-8", "replace")
        told = await anyio.to_thread.run_sync(reader_filter.document, said)
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
