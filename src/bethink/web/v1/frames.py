"""A run's events as chunks of a chat completion, and as a whole one. `chat` and `conversations` send them.

What every chunk has in common is encoded once, so that a token costs the
encoding of its text. The text is the model's alone: of Bethink's own tools
nothing is told there, but for a call that waits for its owner and, at the end,
where the files are that they made.
Source: OpenAI API reference, "The chat completion chunk object".
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.agent.history_match import FILE_NOTICE, NOTICE
from bethink.agent.request import BOUND_REACHED
from bethink.events import (
    ApprovalNeeded,
    MessageSaved,
    ReasoningDelta,
    RunDone,
    RunFailed,
    RunStarted,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolRequested,
    Usage,
)
from bethink.web.v1.errors import error_body

if TYPE_CHECKING:
    from bethink.agent.records import NumberedEvent
    from bethink.errors import BethinkError
    from bethink.events import Event, StopReason
    from bethink.messages import Attachment

_SECOND_US: Final = 1_000_000
_FAILED: Final = 502
_STATUS: Final = {"no_model": 404, "rate_limited": 429, "context_too_long": 400}
"""Of runs that failed, where OpenAI has a status of its own for that; others failed behind Bethink."""
_STOPPED: Final = 409
_FINISHES: Final[dict[str, str]] = {
    **dict.fromkeys(("length", *BOUND_REACHED), "length"),
    "content_filter": "content_filter",
    "client_tools": "tool_calls",
}
"""OpenAI's words for the ends of runs; any other is its `stop`."""


_STOPPED_EARLY: Final = {
    "cancelled": "The answer was stopped before its end; what was said by then is in its conversation.",
    "interrupted": "The answer broke off, as Bethink ended; what was said by then is in its conversation.",
}
"""Ends for which OpenAI has no word; its `stop` would say that the answer is whole."""
_PROFILE: Final = "openai"


@dataclass(frozen=True, slots=True)
class Reply:
    """What an answer says of itself: `id` and `model` as the client is told, `page` where a person approves.

    With `activity`, Bethink's own calls are told in the reasoning; `functions` are the names of
    the client's, which are not.
    """

    id: str
    model: str
    page: str
    functions: frozenset[str] = frozenset()
    usage: bool = False
    activity: bool = False


@dataclass(slots=True)
class AnswerTally:
    """What a run's events tell a client, in whichever frames: texts as they come, the rest added up."""

    reply: Reply
    created: int = 0
    used: list[Usage] = field(default_factory=list[Usage])
    error: RunFailed | None = None
    reason: StopReason = "interrupted"
    _open: dict[str, ToolRequested] = field(default_factory=dict[str, ToolRequested])
    _files: list[Attachment] = field(default_factory=list["Attachment"])
    _characters: int = 0
    _between: str = ""

    def take(self, event: Event) -> tuple[str, str]:
        """More of the text, and more of the reasoning; each may be empty."""
        match event:
            case TextDelta():
                return self.said(event.text), ""
            case ReasoningDelta():
                return "", event.text
            case MessageSaved(role="assistant"):
                self._end_part()
            case TextSoFar():
                if len(event.text) < self._characters:
                    # What was told as the answer were thoughts: it begins below them.
                    self._end_part()
                return self.said(event.text[self._characters :]), ""
            case RunStarted():
                self.created = event.at // _SECOND_US
            case _:
                return self._take_rarer(event)
        return "", ""

    def said(self, text: str) -> str:
        """A text of the answer, apart from what stood before it where it is another one."""
        if not text:
            return ""
        self._characters += len(text)
        between, self._between = self._between, ""
        return between + text

    def _take_rarer(self, event: Event) -> tuple[str, str]:
        match event:
            case ToolRequested():
                self._open[event.call] = event
                if self.reply.activity and event.name not in self.reply.functions:
                    return "", f"{event.label}\n"
            case ApprovalNeeded():
                self._end_part()
                return self.said(self._notice(event)), ""
            case ToolFinished():
                self._open.pop(event.call, None)
                self._files += event.attachments
                if self.reply.activity and event.error is not None:
                    return "", f"{event.name} failed: {event.text}\n"
            case Usage():
                self.used.append(event)
            case RunFailed():
                self.error = event
            case RunDone():
                self.reason = event.reason
                # The files that tools made come last, so that a client's history begins with what was said.
                files, self._files = self._files, []
                self._end_part()
                return self.said("\n".join(map(self._place, files))), ""
            case _:
                pass
        return "", ""

    def _notice(self, event: ApprovalNeeded) -> str:
        return f"{NOTICE}{event.label}: this waits for your approval, at {self.reply.page}"

    def _place(self, file: Attachment) -> str:
        origin = self.reply.page.partition("/conversations/")[0]
        return f"{FILE_NOTICE}{file.name}: {origin}{file.url}"

    def begin_part(self, *, is_first: bool) -> None:
        """The part that is being told begins anew."""
        self._characters, self._between = 0, "" if is_first else "\n\n"

    def _end_part(self) -> None:
        if self._characters:
            self._characters, self._between = 0, "\n\n"

    @property
    def calls(self) -> list[ToolRequested]:
        """The calls that are left to the client, once it has ended: all others have a result."""
        return list(self._open.values()) if self.reason == "client_tools" else []

    @property
    def finish(self) -> str:
        """Why it ended, in OpenAI's word."""
        return _FINISHES.get(self.reason, "stop")

    @property
    def bound(self) -> dict[str, str]:
        """Which bound ended it, as fields of Bethink's own; none if no bound did."""
        message = BOUND_REACHED.get(self.reason)
        return {} if message is None else {"stop_reason": self.reason, "stop_message": message}

    @property
    def tokens(self) -> tuple[int, int]:
        """Tokens in and out, of all the run's requests."""
        return sum(one.input_tokens for one in self.used), sum(one.output_tokens for one in self.used)

    @property
    def failure(self) -> dict[str, Any] | None:
        """What ended it early, as OpenAI tells it."""
        if self.error is None:
            return None
        return error_body(self.failed_with, self.error.code, self.error.message)

    @property
    def stopped(self) -> dict[str, Any] | None:
        """That it was stopped before its end: chat completions have no word for it but an error."""
        said = _STOPPED_EARLY.get(self.reason)
        return None if said is None else error_body(_STOPPED, self.reason, f"{said} {self.reply.page}")

    @property
    def failed_with(self) -> int:
        """The status of what ended it early."""
        return _STOPPED if self.error is None else _STATUS.get(self.error.code, _FAILED)


class ChatFrames:
    """The chunks of one answer."""

    def __init__(self, reply: Reply, tally: AnswerTally | None = None) -> None:
        self._tally = tally or AnswerTally(reply)
        self._reply = reply
        self._head = b""
        self._content = b""

    def written(self, batch: Sequence[NumberedEvent]) -> bytes:
        """The chunks of some events."""
        return b"".join([self._frame(item.event) for item in batch])

    def broken(self, error: BethinkError) -> bytes:
        """An error, as OpenAI tells one inside of a stream."""
        return _data(error_body(error.status, error.code, error.message))

    def _frame(self, event: Event) -> bytes:
        text, reasoning = self._tally.take(event)
        if text:
            said = self._said(text)
            return said + self._end() if isinstance(event, RunDone) else said
        if reasoning:
            return self._chunk({"reasoning_content": reasoning})
        match event:
            case RunStarted():
                return self._begin()
            case RunFailed():
                return _data(self._tally.failure or {})
            case RunDone():
                return self._end()
            case _:
                return b""

    def _said(self, text: str) -> bytes:
        return self._content + msgspec.json.encode(text) + b'},"finish_reason":null}]}\n\n'

    def _begin(self, model: str | None = None) -> bytes:
        same = {
            "id": self._reply.id,
            "object": "chat.completion.chunk",
            "created": self._tally.created,
            "model": model or self._reply.model,
        }
        self._head = b"data: " + msgspec.json.encode(same)[:-1]
        self._content = self._head + b',"choices":[{"index":0,"delta":{"content":'
        return self._chunk({"role": "assistant", "content": ""})

    def _end(self) -> bytes:
        if self._tally.error is not None:
            return b""
        if (stopped := self._tally.stopped) is not None:
            return _data(stopped)
        hands_over = self._tally.reason == "client_tools"
        told = [self._chunk({"tool_calls": _calls(self._tally, indexed=True)})] if hands_over else []
        told.append(self._chunk({}, **_ending(self._tally)))
        if self._reply.usage:
            counted = msgspec.json.encode(usage_of(self._tally))
            told.append(self._head + b',"choices":[],"usage":' + counted + b"}\n\n")
        return b"".join(told)

    def _chunk(self, delta: dict[str, Any], **ending: str) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": None, **ending}
        return self._head + b',"choices":[' + msgspec.json.encode(choice) + b"]}\n\n"


class _PlainTally(AnswerTally):
    """As spec 001's clients are told, who know of text alone: with addresses of this API."""

    def _notice(self, event: ApprovalNeeded) -> str:
        where = f"POST /runs/{self.reply.id}/approvals/{event.call}"
        return f"{event.label}: this waits for your approval, in Bethink or by {where}."

    def _place(self, file: Attachment) -> str:
        return f"{file.name}: GET {file.url}"


class OpenAiFrames(ChatFrames):
    """Spec 001's frames of one answer: the conversation's id, then chunks with text alone.

    Sent by `POST /conversations/{id}/chat` to clients that accept
    `text/event-stream; profile=openai`. Sources: spec 001, "Data Flow", and its companion api.md.
    """

    def __init__(self, conversation: str, run: str) -> None:
        reply = Reply(id=run, model="bethink", page="")
        super().__init__(reply, _PlainTally(reply))
        self._first = _data({"conversation_id": conversation})

    def broken(self, error: BethinkError) -> bytes:
        """An error, as OpenAI tells one inside of a stream."""
        return _error(error.code, error.message)

    def _frame(self, event: Event) -> bytes:
        text, _ = self._tally.take(event)
        said = self._said(text) if text else b""
        if text and isinstance(event, RunDone):
            # A run that waited goes on behind its first end.
            self._tally.begin_part(is_first=False)
        match event:
            case RunStarted():
                return self._first + self._begin(event.model)
            case RunFailed():
                return _error(event.code, event.message)
            case RunDone(reason="cancelled" | "interrupted" as reason):
                return said + _error(reason, _STOPPED_EARLY[reason])
            case RunDone():
                return said + self._chunk({}, finish_reason=self._tally.finish)
            case _:
                return said


def asks_for_profile(accept: str | None) -> bool:
    """Whether an Accept header asks for these frames (RFC 9110, 12.5.1: parameters behind a semicolon)."""
    for media_type in (accept or "").lower().split(","):
        name, *parameters = (part.strip() for part in media_type.split(";"))
        given = (parameter.partition("=") for parameter in parameters)
        if name == "text/event-stream" and any(
            key.strip() == "profile" and value.strip().strip('"') == _PROFILE for key, _, value in given
        ):
            return True
    return False


def _error(code: str, message: str) -> bytes:
    return _data({"error": {"message": message, "type": "server_error", "code": code}})


async def collected(
    batches: AsyncGenerator[Sequence[NumberedEvent], None], tally: AnswerTally
) -> tuple[str, str]:
    """The whole text and the whole reasoning of a run, once it has ended."""
    texts: list[str] = []
    reasonings: list[str] = []
    part = 0
    async for batch in batches:
        for numbered in batch:
            if isinstance(numbered.event, TextSoFar):
                del texts[part:], reasonings[part:]
                tally.begin_part(is_first=not any(texts))
            text, reasoning = tally.take(numbered.event)
            if isinstance(numbered.event, TextSoFar):
                reasoning = numbered.event.reasoning
            if isinstance(numbered.event, MessageSaved):
                part = len(texts)
            texts.append(text)
            reasonings.append(reasoning)
    return "".join(texts), "".join(reasonings)


def completion_of(tally: AnswerTally, text: str, reasoning: str) -> dict[str, Any]:
    """The whole chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": text, "refusal": None}
    if reasoning:
        message["reasoning_content"] = reasoning
    if tally.reason == "client_tools":
        message |= {"content": text or None, "tool_calls": _calls(tally)}
    return {
        "id": tally.reply.id,
        "object": "chat.completion",
        "created": tally.created,
        "model": tally.reply.model,
        "choices": [{"index": 0, "message": message, "logprobs": None, **_ending(tally)}],
        "usage": usage_of(tally),
    }


def _ending(tally: AnswerTally) -> dict[str, str]:
    """Why it ended: in OpenAI's word, and which bound it was, for which OpenAI has none."""
    return {"finish_reason": tally.finish, **tally.bound}


def usage_of(tally: AnswerTally) -> dict[str, int]:
    """What it cost, in tokens."""
    given, made = tally.tokens
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _calls(tally: AnswerTally, *, indexed: bool = False) -> list[dict[str, Any]]:
    return [
        {
            **({"index": place} if indexed else {}),
            "id": call.call,
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(tally.calls)
    ]


def _data(value: dict[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(value) + b"\n\n"
