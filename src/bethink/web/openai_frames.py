"""A run's answer in the frames of spec 001's API: the conversation's id, then deltas as OpenAI writes them.

Sent by `POST /conversations/{id}/chat` to clients that accept
`text/event-stream; profile=openai`. Such a client knows of text alone: what a
run needs of a person and where the files are that it made is said in the text,
and the rest is left out.
Sources: spec 001, "Data Flow", and its companion api.md; OpenAI's
`chat.completion.chunk`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.agent.request import BOUND_REACHED
from bethink.events import (
    ApprovalNeeded,
    MessageSaved,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    TextSoFar,
    ToolFinished,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.agent.records import NumberedEvent
    from bethink.errors import BethinkError
    from bethink.events import Event
    from bethink.messages import Attachment

PROFILE = "openai"

_FINISHES = {
    **dict.fromkeys(("length", *BOUND_REACHED), "length"),
    "content_filter": "content_filter",
}
"""OpenAI's words for an end that is none of the model's own will; any other is its `stop`."""
STOPPED = {
    "cancelled": "The answer was stopped before its end; what was said by then is in its conversation.",
    "interrupted": "The answer broke off, as Bethink ended; what was said by then is in its conversation.",
}
"""Ends for which OpenAI has no word; its `stop` would say that the answer is whole."""
_SECOND_US = 1_000_000
_APART = "\n\n"


def asks_for_profile(accept: str | None) -> bool:
    """Whether an Accept header asks for these frames (RFC 9110, 12.5.1: parameters behind a semicolon)."""
    for media_type in (accept or "").lower().split(","):
        name, *parameters = (part.strip() for part in media_type.split(";"))
        given = (parameter.partition("=") for parameter in parameters)
        if name == "text/event-stream" and any(
            key.strip() == "profile" and value.strip().strip('"') == PROFILE for key, _, value in given
        ):
            return True
    return False


class OpenAiFrames:
    """The frames of one answer in `conversation`."""

    def __init__(self, conversation: str, run: str) -> None:
        self._first = _data({"conversation_id": conversation})
        self._run = run
        self._head = _head(run, "bethink", at=0)
        self._characters = 0
        self._between = ""
        self._files: list[Attachment] = []

    def written(self, batch: Sequence[NumberedEvent]) -> bytes:
        """The frames of some events. A token costs the encoding of its text alone."""
        return b"".join([self._frame(item.event) for item in batch])

    def broken(self, error: BethinkError) -> bytes:
        """An error, as OpenAI tells one inside of a stream."""
        return _error(error.code, error.message)

    def _frame(self, event: Event) -> bytes:
        match event:
            case TextDelta():
                return self._delta(event.text)
            case MessageSaved(role="assistant"):
                self._end_part()
                return b""
            case RunStarted():
                self._head = _head(event.run, event.model or "bethink", at=event.at)
                return self._first + self._chunk({"role": "assistant", "content": ""})
            case TextSoFar():
                return self._anew(event.text)
            case ApprovalNeeded():
                self._end_part()
                where = f"POST /runs/{self._run}/approvals/{event.call}"
                told = self._delta(f"{event.label}: this waits for your approval, in Bethink or by {where}.")
                self._end_part()
                return told
            case RunFailed():
                return _error(event.code, event.message)
            case ToolFinished():
                self._files += event.attachments
                return b""
            case RunDone(reason="cancelled" | "interrupted" as reason):
                return self._made() + _error(reason, STOPPED[reason])
            case RunDone():
                return self._made() + self._chunk({}, finish=_FINISHES.get(event.reason, "stop"))
            case _:
                return b""

    def _anew(self, text: str) -> bytes:
        """What is missing of a text; if what was told were thoughts, it begins below them."""
        if len(text) < self._characters:
            self._end_part()
        return self._delta(text[self._characters :])

    def _made(self) -> bytes:
        """Where the files are that tools made, below everything else that was said."""
        files, self._files = self._files, []
        if not files:
            return b""
        self._end_part()
        told = self._delta("\n".join(f"{file.name}: GET {file.url}" for file in files))
        self._end_part()
        return told

    def _end_part(self) -> None:
        """What follows is a text of its own: one line below what was told."""
        if self._characters:
            self._characters, self._between = 0, _APART

    def _delta(self, text: str) -> bytes:
        if not text:
            return b""
        self._characters += len(text)
        content = msgspec.json.encode(self._between + text)
        self._between = ""
        return b"".join((self._head, b'{"content":', content, b'},"finish_reason":null}]}\n\n'))

    def _chunk(self, delta: dict[str, str], finish: str | None = None) -> bytes:
        end = b',"finish_reason":' + msgspec.json.encode(finish) + b"}]}\n\n"
        return self._head + msgspec.json.encode(delta) + end


def _head(run: str, model: str, *, at: int) -> bytes:
    """What is the same in every chunk, encoded once. `at` is microseconds."""
    same = {"id": run, "object": "chat.completion.chunk", "created": at // _SECOND_US, "model": model}
    return b"data: " + msgspec.json.encode(same)[:-1] + b',"choices":[{"index":0,"delta":'


def _error(code: str, message: str) -> bytes:
    return _data({"error": {"message": message, "type": "server_error", "code": code}})


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
