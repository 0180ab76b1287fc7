"""One answer of an OpenAI-compatible server: received bytes to deltas, failures to sentences of Bethink.

`openai_wire` feeds it; there is no network here. A stream of events and one whole JSON document are told
apart by their first character, since content types are often wrong. A failure's sentence names the model,
what happened and what to check. It never holds the key, also where the server quotes it.
Source of the events: WHATWG HTML, section 9.2.6, "Interpreting an event stream"; only their data is kept.
"""

from __future__ import annotations

import email.utils
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

from bethink.errors import ContextTooLong, InvalidResponse, LlmError, RateLimited, Refused, Unreachable
from bethink.events import ReasoningDelta, TextDelta
from bethink.llm import Delta, Finish, FinishReason, ToolCallDelta
from bethink.llm.openai_shapes import (
    CallPiece,
    Chunk,
    DeltaContent,
    ErrorDetail,
    Part,
    UsageCount,
    decode_chunk,
    gather,
)

if TYPE_CHECKING:
    from bethink.messages import ModelOrigin


_QUOTED_CHARACTERS: Final = 300
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|context[ _-](?:length|window|size)"
    r"|prompt is too long|input is too long|too many (?:input )?tokens|truncate_prompt",
    re.IGNORECASE,
)
"""OpenAI's code, llama.cpp's type, and the words of vLLM, Anthropic, Ollama and DIAL."""
_NO_CREDIT = re.compile(r"insufficient_quota|insufficient_credits|billing|credit balance", re.IGNORECASE)
_RATE = re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)
_MILLISECONDS: Final = 1000
_REFUSALS: Final = frozenset({400, 413, 415, 422})
_HIDDEN_REFUSALS: Final = frozenset({404, 500, 501})
"""OpenRouter's and llama.cpp's for pictures that no model of theirs sees; of others when they say so."""
_SEES_NONE = re.compile(
    r"(?:image|vision|multi-?modal).{0,60}(?:not supported|unsupported|only supported|not enabled)"
    r"|support.{0,40}(?:image|vision|multi-?modal)|not a multi-?modal|at most 0 image|mmproj"
    r"|unknown variant .?image_url|content.{0,40}(?:must|should) be a (?:valid )?string",
    re.IGNORECASE,
)
_SPOILT = re.compile(r"format|dimension|corrupt|decode|download|too large", re.IGNORECASE)
"""Words about one picture: others may be seen."""


class Disconnected(Unreachable):
    """The model's server closed the connection without an answer."""


class PicturesRefused(Refused):
    """The model's server refused a request with pictures. `always` where it says that its model sees none."""

    def __init__(self, message: str, *, always: bool) -> None:
        super().__init__(message)
        self.always = always


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes errors about one model at one address.

    `key_setting` names where the key is set; `key` is what no sentence may hold.
    """

    model: str
    address: str
    key_setting: str
    key: str | None = field(default=None, repr=False)

    def of_status(self, status: int, detail: ErrorDetail, headers: Mapping[str, str]) -> LlmError:
        """The error of a response that is not 200. `headers` are read without regard to case."""
        said = self._said(detail)
        about = f"{detail.code} {detail.message}"
        # A gateway hides a model's 400 in a 5xx now and then: what it says counts for more.
        if _TOO_LONG.search(about) or status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return ContextTooLong(f"The conversation is longer than {self.model} accepts.{said}")
        if status == HTTPStatus.PAYMENT_REQUIRED or _NO_CREDIT.search(about):
            return Refused(f"The account of {self.model} has no credit left ({status}).{said}")
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            wait_s = retry_after_s(headers)
            when = "" if wait_s is None else f" It asks to wait {wait_s:.0f} s."
            return RateLimited(
                f"The provider of {self.model} limits the rate of requests (429).{when}{said}",
                retry_after_s=wait_s,
            )
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status == HTTPStatus.REQUEST_TIMEOUT:
            return Unreachable(
                f"The server of {self.model} at {self.address} has a problem ({status}).{said}"
            )
        return Refused(f"{self._refusal(status)}{said}")

    def of_pictures(self, status: int, detail: ErrorDetail, error: LlmError) -> PicturesRefused | None:
        """The error of a request that showed pictures; None where they are not what was refused."""
        about = f"{detail.code} {detail.message}"
        blind = bool(_SEES_NONE.search(about)) and not _SPOILT.search(about)
        too_long = isinstance(error, ContextTooLong) and status != HTTPStatus.REQUEST_ENTITY_TOO_LARGE
        if too_long or not (status in _REFUSALS or (blind and status in _HIDDEN_REFUSALS)):
            return None
        return PicturesRefused(error.message, always=blind)

    def of_error_object(self, detail: ErrorDetail) -> LlmError:
        """The error of an `error` object inside an answer."""
        about = f"{detail.code} {detail.message}"
        said = self._said(detail)
        if _TOO_LONG.search(about):
            return ContextTooLong(f"The conversation is longer than {self.model} accepts.{said}")
        if _RATE.search(about):
            return RateLimited(f"The provider of {self.model} limits the rate of requests.{said}")
        return InvalidResponse(f"{self.model} failed while it answered.{said} Ask again.")

    def of_exception(self, error: Exception) -> LlmError:
        """The error of a request to which no response came; `error` is aiohttp's or the system's."""
        import aiohttp

        host = self.address.split("/")[2]
        match error:
            case aiohttp.ClientConnectorDNSError():
                return self.unreachable(f"there is no host {host}. Check the base URL and the network.")
            case aiohttp.ClientConnectorCertificateError() | aiohttp.ClientConnectorSSLError():
                return self.unreachable(f"its TLS connection cannot be trusted ({error}).")
            case aiohttp.ConnectionTimeoutError():
                return self.unreachable("no connection in time. Check the base URL and the network.")
            case aiohttp.ClientConnectorError():
                # What the event loop says of it repeats the address in its own way.
                number = error.os_error.errno
                why = os.strerror(number).lower() if number else "no connection"
                return self.unreachable(f"nothing answers there ({why}). Is it started?")
            case aiohttp.ServerDisconnectedError() | aiohttp.ClientOSError():
                return Disconnected(self.unreachable("it closed the connection without an answer.").message)
            case aiohttp.ClientResponseError():
                return InvalidResponse(
                    f"What answers at {self.address} does not speak HTTP. Check the base URL."
                )
            case _:
                return self.unreachable(f"{error}.")

    def unreachable(self, why: str) -> Unreachable:
        """The server did not answer."""
        return Unreachable(f"{self.model} cannot be reached at {self.address}: {why}")

    def broken_off(self) -> InvalidResponse:
        """The connection ended inside an answer."""
        return InvalidResponse(
            f"The connection to {self.model} broke in the middle of its answer. Ask again."
        )

    def _refusal(self, status: int) -> str:
        match status:
            case HTTPStatus.UNAUTHORIZED:
                given = "does not accept the key" if self.key else "asks for a key, and none is set"
                return f"{self.model} {given} (401): check {self.key_setting}."
            case HTTPStatus.FORBIDDEN:
                return (
                    f"{self.model} does not allow this (403): check {self.key_setting} and what it may use."
                )
            case HTTPStatus.NOT_FOUND | HTTPStatus.METHOD_NOT_ALLOWED:
                return (
                    f"{self.model} is not known at {self.address} ({status}):"
                    " check the model's name and the base URL."
                )
            case redirect if HTTPStatus.MULTIPLE_CHOICES <= redirect < HTTPStatus.BAD_REQUEST:
                return (
                    f"{self.address} sends to another address ({status}), which a key must not follow:"
                    " set the base URL to the final one."
                )
            case _:
                return f"{self.model} refused the request ({status})."

    def _said(self, detail: ErrorDetail) -> str:
        """What the server says, as one quoted sentence that holds no key."""
        text = _CONTROL.sub(" ", detail.message).strip()
        if self.key:
            text = text.replace(self.key, "***")
        text = re.sub(r"\b(?:sk|pk|key)-[\w*-]{4,}", "***", text)
        if len(text) > _QUOTED_CHARACTERS:
            text = text[:_QUOTED_CHARACTERS] + "…"
        return f" It says: “{text}”" if text else ""


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """How long the server asks to wait, in seconds, never negative.

    A date counts from the server's own `Date`, so that clocks need not agree.
    Sources: RFC 9110, section 10.2.3; `retry-after-ms` is Azure's.
    """
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / _MILLISECONDS
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    try:
        until = email.utils.parsedate_to_datetime(value)
        now = email.utils.parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):  # TypeError: one of them has no time zone
        return None


def _number(value: str | None) -> float | None:
    if value is None or not re.fullmatch(r"\s*\d{1,9}(?:\.\d{1,9})?\s*", value):
        return None
    return float(value)


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
        origin: ModelOrigin,
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
                f"{self._model} answered with something that is not a chat completion ({error})."
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
        content, extra = DeltaContent.of(given)
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
