"""A run's events as those of a response, and the response itself. `responses` sends them.

One class makes both, so that what streams and what is fetched are the same. What
the events of a token have in common is encoded once. An event's number is its place in
what is told, of a text by its characters: however the text was cut into deltas, a client
that comes back with the last number it had gets what is behind it.
Source: OpenAI API reference, "The response object" and "Streaming events".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.events import Event, RunDone, RunStarted, TextDelta, TextSoFar, ToolRequested
from bethink.web.v1.frames import AnswerTally, Reply

if TYPE_CHECKING:
    from bethink.agent.records import NumberedEvent
    from bethink.errors import BethinkError

_DETAILS: Final = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Why a response is incomplete, by the word of chat completions for it."""
_ERRORS: Final = {"rate_limited": "rate_limit_exceeded", "rate_limit": "rate_limit_exceeded"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """How the texts of an item are told: its events begin with `text` and `part`."""

    prefix: str
    index: str
    part_type: str
    part: str
    text: str
    item: Mapping[str, Any]
    parts: str
    more: Mapping[str, Any]

    def of(self, text: str) -> dict[str, Any]:
        """A part of the item."""
        extra: dict[str, Any] = {"annotations": [], "logprobs": []} if self.parts == "content" else {}
        return {"type": self.part_type, "text": text, **extra}


_MESSAGE: Final = _Kind(
    prefix="msg",
    index="content_index",
    part_type="output_text",
    part="response.content_part",
    text="response.output_text",
    item={"type": "message", "role": "assistant"},
    parts="content",
    more={"logprobs": []},
)
_REASONING: Final = _Kind(
    prefix="rs",
    index="summary_index",
    part_type="summary_text",
    part="response.reasoning_summary_part",
    text="response.reasoning_summary_text",
    item={"type": "reasoning"},
    parts="summary",
    more={},
)


class ResponseFrames:
    """The events of one response, and what it is by then. `about` is what its run does not make of it.

    Only what is behind the number `after` is told, and how it ended. `ended` says whether the run came
    to its end, `tally` what its events add up to.
    """

    def __init__(self, reply: Reply, about: Mapping[str, Any], *, after: int = -1) -> None:
        self.tally = AnswerTally(reply)
        self._about = about
        self._key = reply.id.removeprefix("resp_")
        self._number = -1
        self._after = after
        self._items: list[dict[str, Any]] = []
        self._kind: _Kind | None = None
        self._pieces: list[str] = []
        self._head = b""
        self.ended = False

    def written(self, batch: Sequence[NumberedEvent]) -> bytes:
        """The events of some of the run's."""
        return b"".join([self.take(item.event) for item in batch])

    def broken(self, error: BethinkError) -> bytes:
        """An error that ends the stream, and not the run."""
        return self._event("error", code=error.code, message=error.message, param=None)

    def take(self, event: Event) -> bytes:
        """What one of the run's events tells."""
        text, reasoning = self.tally.take(event)
        told = b""
        if isinstance(event, TextSoFar) and self._kind is _MESSAGE and not event.text:
            # What was told as the answer were thoughts: the whole of it does not have them.
            self._pieces.clear()
        if text:
            told = self._said(_MESSAGE, text)
        elif reasoning:
            told = self._said(_REASONING, reasoning)
        match event:
            case RunStarted():
                begun = self._event("response.created", response=self.response())
                return begun + self._event("response.in_progress", response=self.response())
            case RunDone():
                # With the last words there are the files that tools made.
                return told + self._end()
            case TextDelta():
                pass
            case _:
                # A run that waited goes on behind its first end.
                self.ended = False
        return told

    @property
    def status(self) -> str:
        """How it is with the response."""
        if not self.ended:
            return "in_progress"
        if self.tally.error is not None or self.tally.reason == "interrupted":
            return "failed"
        if self.tally.reason == "cancelled":
            return "cancelled"
        return "incomplete" if self.tally.finish in _DETAILS else "completed"

    def response(self) -> dict[str, Any]:
        """The response as it is now."""
        status, (given, made) = self.status, self.tally.tokens
        usage = {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + made,
        }
        details = {"reason": _DETAILS[self.tally.finish]} if status == "incomplete" else None
        return {
            "id": self.tally.reply.id,
            "object": "response",
            "created_at": self.tally.created,
            "status": status,
            "error": self._error() if status == "failed" else None,
            "incomplete_details": details,
            **self.tally.bound,
            "model": self.tally.reply.model,
            "output": [*self._items, *self._unfinished()],
            "usage": usage if self.ended else None,
            **self._about,
        }

    def _error(self) -> dict[str, Any]:
        error = self.tally.error
        if error is None:
            message = "The answer was interrupted: Bethink was stopped. What was said by then is kept."
            return {"code": "server_error", "message": message}
        return {"code": _ERRORS.get(error.code, "server_error"), "message": error.message}

    def _said(self, kind: _Kind, text: str) -> bytes:
        begun = b"" if kind is self._kind else self._close("completed") + self._open(kind)
        self._pieces.append(text)
        self._number += len(text)
        if self._number <= self._after:
            return begun
        text = text[self._after - self._number :]
        return b'%b%b%d,"delta":%b}\n\n' % (begun, self._head, self._number, msgspec.json.encode(text))

    def _open(self, kind: _Kind) -> bytes:
        self._kind, self._pieces = kind, []
        place = self._place(kind)
        item: dict[str, Any] = {"id": place["item_id"], **kind.item, "status": "in_progress", kind.parts: []}
        told = self._event("response.output_item.added", output_index=place["output_index"], item=item)
        told += self._event(f"{kind.part}.added", **place, part=kind.of(""))
        name = f"{kind.text}.delta"
        same = msgspec.json.encode({"type": name, **place, **kind.more})
        self._head = b"event: %b\ndata: %b" % (name.encode(), same[:-1]) + b',"sequence_number":'
        return told

    def _place(self, kind: _Kind) -> dict[str, Any]:
        index = len(self._items)
        return {"item_id": f"{kind.prefix}_{self._key}_{index}", "output_index": index, kind.index: 0}

    def _unfinished(self, status: str = "in_progress") -> list[dict[str, Any]]:
        """The item that is being told."""
        if (kind := self._kind) is None:
            return []
        parts = [kind.of("".join(self._pieces).lstrip("\n"))]
        return [{"id": self._place(kind)["item_id"], **kind.item, "status": status, kind.parts: parts}]

    def _close(self, status: str) -> bytes:
        if (kind := self._kind) is None:
            return b""
        place, (item,) = self._place(kind), self._unfinished(status)
        part = item[kind.parts][0]
        told = self._event(f"{kind.text}.done", **place, text=part["text"], **kind.more)
        told += self._event(f"{kind.part}.done", **place, part=part)
        told += self._event("response.output_item.done", output_index=place["output_index"], item=item)
        self._items.append(item)
        self._kind = None
        return told

    def _end(self) -> bytes:
        self.ended = True
        status = self.status
        told = self._close("completed" if status == "completed" else "incomplete")
        told += b"".join([self._call(call) for call in self.tally.calls])
        # There is no event of OpenAI's for one that was cancelled while it streamed.
        last = "incomplete" if status == "cancelled" else status
        self._after = min(self._after, self._number)
        return told + self._event(f"response.{last}", response=self.response())

    def _call(self, call: ToolRequested) -> bytes:
        index = len(self._items)
        item = {
            "id": f"fc_{self._key}_{index}",
            "type": "function_call",
            "status": "completed",
            "call_id": call.call,
            "name": call.name,
            "arguments": call.arguments,
        }
        self._items.append(item)
        begun = {**item, "status": "in_progress", "arguments": ""}
        place = {"item_id": item["id"], "output_index": index}
        name = "response.function_call_arguments"
        return (
            self._event("response.output_item.added", output_index=index, item=begun)
            + self._event(f"{name}.delta", **place, delta=call.arguments)
            + self._event(f"{name}.done", **place, name=call.name, arguments=call.arguments)
            + self._event("response.output_item.done", output_index=index, item=item)
        )

    def _event(self, type: str, **told: Any) -> bytes:  # noqa: A002, ANN401 - OpenAI's word; JSON
        self._number += 1
        if self._number <= self._after:
            return b""
        data = msgspec.json.encode({"type": type, "sequence_number": self._number, **told})
        return b"event: %b\ndata: %b\n\n" % (type.encode(), data)
