"""Events as server-sent events (WHATWG HTML, "Server-sent events"): chat and `GET /runs/{id}/events`.

Each frame's id is the reader's place after it, so that a client which comes
back with `Last-Event-ID` gets exactly what it missed. The stream ends with
`data: [DONE]`; one that ends without broke off, and can be continued.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar, cast

import anyio
import msgspec
from starlette.responses import Response

from bethink.errors import BethinkError
from bethink.events import Event, Warned
from bethink.telemetry import log
from bethink.web.request_scope import REQUEST_SCOPE

if TYPE_CHECKING:
    from anyio import CancelScope
    from pydantic import BaseModel
    from starlette.types import Receive, Scope, Send

    from bethink.agent.records import NumberedEvent

STREAM: Final = "text/event-stream"
"""The media type of a stream of events."""
KEEP_ALIVE_S = 15
"""Silence after which a comment is sent: proxies and clients give up on quieter streams after 30 s."""

_DONE = b"data: [DONE]\n\n"
_log = log("web")


_T = TypeVar("_T")
_Told_contra = TypeVar("_Told_contra", contravariant=True)


def event_stream(
    description: str, what: str = "an `Event`", place: str = "The reader's place: `sequence.characters`."
) -> dict[str, Any]:
    """The OpenAPI response of a stream: `what` each frame holds, and the `place` that is its id."""
    return {
        "description": description,
        "content": {
            STREAM: {
                "schema": {
                    "type": "object",
                    "description": f"One frame. `data` is {what} as JSON, and `[DONE]` at the end.",
                    "properties": {
                        "id": {"type": "string", "description": place},
                        "data": {"type": "string"},
                    },
                    "required": ["data"],
                }
            }
        },
    }


async def begun(parts: AsyncGenerator[_T]) -> AsyncGenerator[_T]:
    """The same parts, once the first one is there: what refuses to begin is an answer of its own."""
    first = await anext(parts, None)

    async def all_of_them() -> AsyncGenerator[_T]:
        async with aclosing(parts):
            if first is not None:
                yield first
            async for part in parts:
                yield part

    return all_of_them()


class Frames(Protocol[_Told_contra]):
    """How events are written for one reader."""

    def written(self, batch: Sequence[_Told_contra]) -> bytes:
        """The frames of some events; none where they mean nothing to the reader."""
        ...

    def broken(self, error: BethinkError) -> bytes:
        """The last frame of a stream that broke off."""
        ...


class OwnFrames:
    """Our events as they are, each with the reader's place after it."""

    def written(self, batch: Sequence[NumberedEvent]) -> bytes:
        """A frame an event."""
        return b"".join(_frame(item.event, str(item.place)) for item in batch)

    def broken(self, error: BethinkError) -> bytes:
        """A warning."""
        return _frame(Warned(part="events", message=error.message))


@dataclass(frozen=True, slots=True)
class JsonFrames(Generic[_T]):
    """Each thing as the JSON of a model; `place_of` gives the id from which a reader goes on."""

    shown: Callable[[_T], BaseModel]
    place_of: Callable[[_T], int] | None = None

    def written(self, batch: Sequence[_T]) -> bytes:
        """A frame each; a comment if there is none."""
        frames: list[str] = []
        for one in batch:
            place = f"id: {self.place_of(one)}\n" if self.place_of else ""
            frames.append(f"{place}data: {self.shown(one).model_dump_json()}\n\n")
        return "".join(frames).encode() or b": open\n\n"

    def broken(self, error: BethinkError) -> bytes:
        """A comment: the reader comes back by itself."""
        del error
        return b": the server ended this stream\n\n"


class EventStream(Response, Generic[_T]):
    """Events to one reader, who may leave at any time: a run goes on.

    What would go on for ever ends, unfinished, when `until` is set: its reader comes back. Who comes while it
    is set is told what there is.
    """

    media_type = "text/event-stream"

    def __init__(
        self,
        batches: AsyncGenerator[Sequence[_T], None],
        frames: Frames[_T] | None = None,
        *,
        until: anyio.Event | None = None,
        keep_alive_s: float = KEEP_ALIVE_S,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        fixed = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(headers={**fixed, **(headers or {})})
        del self.headers["content-length"]
        self._batches = batches
        self._frames = frames or cast("Frames[_T]", OwnFrames())
        self._until = until
        self._keep_alive_s = keep_alive_s
        self._sent_at = 0.0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events as they come, until their end or until the reader leaves."""
        if (request_scope := scope.get("state", {}).get(REQUEST_SCOPE)) is not None:
            request_scope.streams(self._frames.broken)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async with anyio.create_task_group() as tasks, aclosing(self._batches):
            tasks.start_soon(_until_left, receive, tasks.cancel_scope)
            tasks.start_soon(self._keep_alive, send)
            if self._until is not None and not self._until.is_set():
                tasks.start_soon(self._end, self._until, send, tasks.cancel_scope)
            await self._send_all(send)
            tasks.cancel_scope.cancel()

    async def _send_all(self, send: Send) -> None:
        try:
            async for batch in self._batches:
                if frames := self._frames.written(batch):
                    self._sent_at = anyio.current_time()
                    await _body(send, frames)
                if self._until is not None and self._until.is_set():
                    await _body(send, b"", more=False)
                    return
        except BethinkError as error:
            # The answer has begun: what is left is to say so, and to let the reader come back.
            _log.warning("a stream of events broke off: %s", error)
            await _body(send, self._frames.broken(error), more=False)
        else:
            await _body(send, _DONE, more=False)

    @staticmethod
    async def _end(until: anyio.Event, send: Send, scope: CancelScope) -> None:
        await until.wait()
        await _body(send, b"", more=False)
        scope.cancel()

    async def _keep_alive(self, send: Send) -> None:
        self._sent_at = anyio.current_time()
        while True:
            await anyio.sleep_until(self._sent_at + self._keep_alive_s)
            if anyio.current_time() >= self._sent_at + self._keep_alive_s:
                self._sent_at = anyio.current_time()
                await _body(send, b": keep-alive\n\n")


async def _until_left(receive: Receive, scope: CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _body(send: Send, body: bytes, *, more: bool = True) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


def _frame(event: Event, place: str | None = None) -> bytes:
    """One event; JSON holds no line break, so that it is one `data` line."""
    head = b"" if place is None else b"id: " + place.encode() + b"\n"
    return head + b"data: " + msgspec.json.encode(event) + b"\n\n"
