"""One answer of an OpenAI-compatible server: received bytes to deltas, without any network.

`openai_wire` feeds it. A stream of events and one whole JSON document are told
apart by their first character, since content types are often wrong.
Source of the events: WHATWG HTML, section 9.2.6, "Interpreting an event stream"; only their data is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from bethink.errors import InvalidResponse, LlmError
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, FinishReason, ToolCallDelta
from bethink.llm.openai_shapes import (
    CallPiece,
    Chunk,
    Content,
    ErrorDetail,
    Part,
    UsageCount,
    decode_chunk,
    gather,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from bethink.messages import Origin


MAX_EVENT_BYTES: Final = 8 * 1024 * 1024
"""More than any answer's single event: a picture in base64 fits."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class SseParser:
    """The data of complete events, whatever pieces the bytes come in.

    An event that the stream ends within is dropped, as the standard has it.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_event_bytes = max_event_bytes
        self._line: list[bytes] = []  # pieces of a line without its end
        self._data: list[bytes] = []  # lines of an event without its end
        self._held_bytes = 0
        self._ended_in_cr = False
        self._at_start = True

    def feed(self, received: bytes) -> list[bytes]:
        """The data of each event that `received` completes, in order; lines joined by a line feed.

        Raises:
            InvalidResponse: an event is larger than `max_event_bytes`.
        """
        if self._ended_in_cr or b"\r" in received:
            received = self._with_line_feeds(received)
        if b"\n" not in received:
            self._hold(self._line, received)
            return []
        lines = received.split(b"\n")
        if self._line:
            lines[0] = b"".join((*self._line, lines[0]))
        if self._at_start:
            self._at_start = False
            lines[0] = lines[0].removeprefix(_BYTE_ORDER_MARK)
        rest = lines.pop()
        events = self._events(lines)
        self._line = []
        self._held_bytes = sum(map(len, self._data))
        self._hold(self._line, rest)
        return events

    def _events(self, lines: list[bytes]) -> list[bytes]:
        events: list[bytes] = []
        data = self._data
        for line in lines:
            if not line:
                if data:
                    events.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line.startswith(b"data:"):
                data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                data.append(b"")
        return events

    def _hold(self, pieces: list[bytes], piece: bytes) -> None:
        if piece:
            pieces.append(piece)
            self._held_bytes += len(piece)
        if self._held_bytes > self._max_event_bytes:
            raise InvalidResponse(
                f"The model's server sent an event of more than {self._max_event_bytes} bytes."
            )

    def _with_line_feeds(self, received: bytes) -> bytes:
        """Every line end as one line feed, a CRLF cut in two by the network included."""
        if not received:
            return received
        if self._ended_in_cr and received[:1] == b"\n":
            received = received[1:]
            self._ended_in_cr = False
            if not received:
                return received
        self._ended_in_cr = received[-1:] == b"\r"
        return received.replace(b"\r\n", b"\n").replace(b"\r", b"\n")


_DONE: Final = b"[DONE]"
_REASONS: Final[dict[str, FinishReason]] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
}
"""Finish reasons of several providers; every other one is an ordinary end."""
_SNIFFED_BYTES: Final = 1
_MOST_EXTRA_BYTES: Final = 256 * 1024
"""Of a provider's own fields of one message or call: signatures and long reasoning fit, pictures do not."""
_MOST_EXTRA_DEPTH: Final = 32


@dataclass(slots=True)
class _Call:
    """A tool call in the making."""

    index: int
    id: str
    name: str = ""
    is_passed_on: bool = False
    text: list[str] = field(default_factory=list[str])
    extra: dict[str, Any] = field(default_factory=dict[str, Any])

    def begin(self) -> ToolCallDelta:
        """All that came so far."""
        self.is_passed_on = True
        return ToolCallDelta(self.index, self.id, self.name, "".join(self.text))


class CallPieces:
    """Pieces of tool calls, put to the call they belong to.

    By `index` where the server sends it; a new id and name under a used index
    is a new call all the same. Without an index, a new id or, without ids, a
    name begins a call. A name that is sent again counts once; one that comes in
    pieces is joined until arguments come.
    """

    def __init__(self, new_id: Callable[[], str]) -> None:
        self._new_id = new_id
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}

    def __len__(self) -> int:
        return len(self._calls)

    def take(self, piece: CallPiece, extra: dict[str, Any]) -> list[ToolCallDelta]:
        """The deltas that this piece makes; `extra` are its fields beside. Calls begin in their order."""
        function = piece.function
        name = (function and function.name) or ""
        arguments = function.arguments if function else None
        text = arguments if isinstance(arguments, str) else ""
        if isinstance(arguments, dict):
            text = msgspec.json.encode(arguments).decode()
        call = self._call_of(piece, name)
        call.text.append(text)
        if extra:
            gather(call.extra, extra)
        if call.is_passed_on:
            return [ToolCallDelta(call.index, arguments=text)] if text else []
        if name != call.name:
            call.name += name
        if not (call.name and any(call.text)):
            return []
        return [one.begin() for one in self._calls[: call.index + 1] if one.name and not one.is_passed_on]

    def end(self) -> Iterator[ToolCallDelta]:
        """What is left: calls without arguments, and what providers want back with calls."""
        for call in self._calls:
            if not call.is_passed_on:
                yield call.begin()
            if call.extra and _is_kept(call.extra):
                yield ToolCallDelta(call.index, extra=call.extra)

    def incomplete(self) -> bool:
        """Whether a call lacks its name or its arguments are cut off."""
        return any(not call.name or not _is_json("".join(call.text)) for call in self._calls)

    def nameless(self) -> bool:
        """Whether a call never got a name."""
        return any(not call.name for call in self._calls)

    def _call_of(self, piece: CallPiece, name: str) -> _Call:
        if piece.index is not None:
            call = self._by_index.get(piece.index)
            another = call is not None and bool(piece.id) and bool(name) and piece.id != call.id
            return self._begin(piece) if call is None or another else call
        if piece.id:
            known = next((call for call in self._calls if call.id == piece.id), None)
            return known or self._begin(piece)
        last = self._calls[-1] if self._calls else None
        return self._begin(piece) if last is None or (name and last.name) else last

    def _begin(self, piece: CallPiece) -> _Call:
        call = _Call(len(self._calls), piece.id or self._new_id())
        self._calls.append(call)
        if piece.index is not None:
            self._by_index[piece.index] = call
        return call


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text or "{}", type=msgspec.Raw)
    except (msgspec.MsgspecError, UnicodeError):
        return False
    return True


class Answer:
    """What one response says so far.

    `done` turns true when the server says that nothing follows, `finishing`
    as soon as it gave the reason for the end: only usage may follow then.
    """

    def __init__(
        self,
        model: str,
        *,
        new_id: Callable[[], str],
        origin: Origin,
        error: Callable[[ErrorDetail], LlmError],
        max_event_bytes: int,
        max_bytes: int,
    ) -> None:
        self.done = False
        self.finishing = False
        self._model = model
        self._origin = origin
        self._extra: dict[str, Any] = {}
        self._reasoning = ""
        self._error = error
        self._parser = SseParser(max_event_bytes=max_event_bytes)
        self._calls = CallPieces(new_id)
        self._max_bytes = max_bytes
        self._bytes = 0
        self._document: list[bytes] | None = None
        self._reason: str | None = None
        self._usage: UsageCount | None = None
        self._said = False
        self._failure: LlmError | None = None
        self._feed = self._begin

    def feed(self, received: bytes) -> list[Delta]:
        """The deltas that these bytes complete, in order.

        Raises:
            InvalidResponse: a page instead of an answer, or too large a one.
        """
        self._bytes += len(received)
        if self._bytes > self._max_bytes:
            raise InvalidResponse(f"{self._model} answered with more than {self._max_bytes} bytes.")
        return self._feed(received)

    def end(self) -> list[Delta]:
        """The last deltas and the `Finish`, after all bytes were fed.

        Raises:
            InvalidResponse: the answer broke off, cannot be understood or says nothing.
            LlmError: the server says what went wrong.
        """
        if self._failure is not None:
            raise self._failure
        deltas: list[Delta] = []
        if self._document is not None:
            self._take(b"".join(self._document), deltas)
            self.done = True
        if not self.done and not self.finishing:
            said = "broke off in the middle of its answer" if self._said else "ended without an answer"
            raise InvalidResponse(f"{self._model} {said}. Ask again.")
        if self._calls.nameless() or (not self.finishing and self._calls.incomplete()):
            raise InvalidResponse(f"{self._model} asked for a tool but broke off inside the call. Ask again.")
        finish = self._finish()
        deltas += self._calls.end()
        return [*deltas, finish]

    def _begin(self, received: bytes) -> list[Delta]:
        """Decide by the first character that is no white space."""
        text = received.lstrip(b" \t\r\n")
        if not text:
            return []
        if text[:_SNIFFED_BYTES] == b"<":
            raise InvalidResponse(
                f"A web page came instead of an answer of {self._model}: the base URL is probably wrong"
                " (it often ends in /v1), or a proxy asks for a sign-in."
            )
        if text[:_SNIFFED_BYTES] == b"{":
            self._document = []
            self._feed = self._feed_document
        else:
            self._feed = self._feed_events
        return self._feed(received)

    def _feed_document(self, received: bytes) -> list[Delta]:
        if self._document is not None:
            self._document.append(received)
        return []

    def _feed_events(self, received: bytes) -> list[Delta]:
        deltas: list[Delta] = []
        for payload in self._parser.feed(received):
            if payload == _DONE:
                self.done = True
                break
            try:
                self._take(payload, deltas)
            except LlmError as error:
                # What came before it stands: `end` raises it once that is passed on.
                self._failure = error
                self.done = True
                break
        return deltas

    def _take(self, payload: bytes, deltas: list[Delta]) -> None:
        try:
            chunk = decode_chunk(payload)
            choice = chunk.choices[0] if chunk.choices else None
            given = choice and (choice.delta or choice.message)
            if given and choice and not choice.index:
                self._take_content(given, deltas)
        except (msgspec.MsgspecError, RecursionError) as error:
            raise InvalidResponse(
                f"{self._model} answered with something that is no chat completion ({error})."
            ) from error
        if choice is not None and choice.finish_reason is not None:
            self._reason = choice.finish_reason
            self.finishing = True
        if chunk.usage is not None or chunk.error is not None:
            self._take_rest(chunk)

    def _take_rest(self, chunk: Chunk) -> None:
        if chunk.error is not None:
            raise self._error(ErrorDetail.of(chunk.error))
        self._usage = chunk.usage

    def _take_content(self, given: dict[str, Any], deltas: list[Delta]) -> None:
        text = given.get("content")
        if len(given) == 1 and text and isinstance(text, str):
            # Nearly every token.
            self._said = True
            deltas.append(TextDelta(text=text))
            return
        content, extra = Content.of(given)
        if extra:
            gather(self._extra, extra)
        text = content.content or content.refusal
        if text:
            if isinstance(text, list):
                text = _joined(text)
            self._said = True
            deltas.append(TextDelta(text=text))
        reasoning = content.reasoning_content or content.reasoning
        if reasoning:
            self._reasoning = "reasoning_content" if content.reasoning_content else "reasoning"
            deltas.append(ReasoningDelta(text=reasoning))
        pieces = [CallPiece.of(one) for one in content.tool_calls or ()]
        if content.function_call is not None and not pieces:
            pieces = [(CallPiece(index=0, function=content.function_call), dict[str, Any]())]
        for piece, beside in pieces:
            self._said = True
            deltas += self._calls.take(piece, beside)

    def _finish(self) -> Finish:
        reason: FinishReason = "tool_calls" if len(self._calls) else "stop"
        reason = _REASONS.get((self._reason or "").lower(), reason)
        if not self._said and reason == "stop":
            raise InvalidResponse(f"{self._model} sent an empty answer. Ask again.")
        usage = self._usage or UsageCount()
        return Finish(
            reason,
            self._model,
            input_tokens=None if usage.prompt_tokens is None else int(usage.prompt_tokens),
            output_tokens=None if usage.completion_tokens is None else int(usage.completion_tokens),
            cost_usd=usage.cost,
            origin=msgspec.structs.replace(
                self._origin, reasoning=self._reasoning, extra=self._extra if _is_kept(self._extra) else {}
            ),
        )


def _is_kept(value: object, depth: int = 0) -> bool:
    """Whether a provider's own fields can be kept: what they hold is bounded in size and depth."""
    if depth == 0 and len(msgspec.json.encode(value)) > _MOST_EXTRA_BYTES:
        return False
    inner: Iterable[object] = ()
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).values()
    elif isinstance(value, list):
        inner = cast("list[object]", value)
    return depth <= _MOST_EXTRA_DEPTH and all(_is_kept(one, depth + 1) for one in inner)


def _joined(parts: list[Part]) -> str:
    return "".join(part.text or "" for part in parts)
