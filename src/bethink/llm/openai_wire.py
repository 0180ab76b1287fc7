"""Any server that speaks OpenAI's chat completions, streamed over aiohttp.

`providers.connect` makes it. Azure OpenAI and DIAL are the same wire with other
paths and another header for the key. aiohttp is imported at the first request:
starting Bethink does not pay for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import sys
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import anyio.to_thread
import msgspec

from bethink.errors import ContextTooLong, LlmError
from bethink.events import Warned
from bethink.llm.capabilities import Capabilities, Learnt, Step, step_down
from bethink.llm.endpoint import Endpoint, NativeAnswer, native_request, window_named, window_of
from bethink.llm.openai_answer import MAX_EVENT_BYTES, Answer, Disconnected, Failures, PicturesRefused
from bethink.llm.openai_shapes import ErrorDetail, encode_request, parts_of, without_pictures
from bethink.messages import AssistantMessage, Message, ModelOrigin
from bethink.telemetry import trace_headers

if TYPE_CHECKING:
    import aiohttp

    from bethink.llm import Delta, LlmRequest

    Connections = Callable[[], Awaitable[aiohttp.ClientSession]]

_MAX_ERROR_BYTES: Final = 64 * 1024
_MAX_LIST_BYTES: Final = 16 * 1024 * 1024
"""OpenRouter's list of models is a megabyte."""
_PROBE_S: Final = 5
_USAGE_S: Final = 5
"""How long the count of tokens may take after an answer's end; it is worth no longer wait."""
_DRAIN_S: Final = 1
"""How long a finished response may take to end, so that its connection can be used again."""
_ERROR_BODY_S: Final = 5
_JSON: Final = {"Content-Type": "application/json"}
_REFUSALS: Final = frozenset({400, 404, 422, 500, 501})
"""OpenRouter says 404 of tools, llama.cpp 500 of what a chat template refuses."""
_TOOLLESS: Final = (
    "{name} cannot call tools, its server says: it answers from what it is told, your memories among it, but "
    "stores, looks up and forgets nothing itself. `/remember`, `/recall` and `/forget everything` need none. "
    "BETHINK_MODELS_ROUTED={name} has Bethink ask it for each call."
)
_KEY_REFUSALS: Final = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class WireLimits:
    """How long a server may take, in seconds, and how much it may send.

    `first_byte_s` is long because a model on a processor reads a long prompt
    for minutes, `gap_s` because a reasoning model is silent while it thinks.
    """

    connect_s: float = 10
    first_byte_s: float = 300
    gap_s: float = 180
    event_bytes: int = MAX_EVENT_BYTES
    answer_bytes: int = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Shared:
    """What models may have in common: connections of somebody else's, and what was learnt of servers."""

    connections: Connections | None = None
    learnt: Learnt = field(default_factory=Learnt)


class OpenAiWire:
    """One model behind one endpoint; its connections are shared by all requests made of it.

    A connection is opened for each concurrent request and kept for the next
    ones: of its own, or of the `shared` ones that somebody else closes.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        *,
        context_tokens: int,
        limits: WireLimits | None = None,
        sees: bool = False,
        shared: Shared | None = None,
    ) -> None:
        self.name = name
        self.context_tokens = context_tokens
        self._endpoint = endpoint
        self._limits = limits or WireLimits()
        self._failures = Failures(name, endpoint.address, endpoint.key_setting, endpoint.api_key)
        self._usual = Capabilities(max_tokens=endpoint.max_tokens)
        shared = shared or Shared()
        self._learnt = shared.learnt
        self._origin = f"{name} {urlsplit(endpoint.address).netloc}"
        self._sees = sees
        self._connections = shared.connections
        self._session: aiohttp.ClientSession | None = None
        self._is_learnt = endpoint.window == "nobody"
        self._by_ollama = False

    @property
    def sees(self) -> bool:
        """See `Llm.sees`: as it was told, until the server says that the model sees none."""
        return self._sees

    async def stream(self, request: LlmRequest) -> AsyncGenerator[Delta, None]:
        """See `Llm.stream`. Closing the generator closes the connection at once."""
        limits = self._limits
        response, known, warnings = await self._opened(request)
        toolless = bool(request.tools) and not known.tools
        if toolless and not _was_told(request.messages, self._origin):
            warnings.append(_warned(_TOOLLESS.format(name=self.name)))
        answer = Answer(
            self.name,
            origin=ModelOrigin(model=self._origin, toolless=toolless),
            # Of calls that a server does not name.
            new_id=lambda: uuid.uuid4().hex,
            error=self._failures.of_error_object,
            max_event_bytes=limits.event_bytes,
            max_bytes=limits.answer_bytes,
        )
        watch = _Watch(response, limits.first_byte_s)
        native = NativeAnswer() if self._by_ollama else None
        try:
            for warning in warnings:
                yield warning
            while not answer.done:
                received = await self._read(response, answer, watch)
                if not received:
                    break
                for delta in answer.feed(received if native is None else native.feed(received)):
                    yield delta
                watch.limit_s = _USAGE_S if answer.finishing else limits.gap_s
            for delta in answer.end():
                yield delta
            await _drain(response)
        finally:
            watch.stop()
            # The connection of a response that was read to its end is free already, and stays open.
            response.close()

    async def learn(self) -> None:
        """See `Llm.learn`: its window, and of Ollama whether its own way of asking is there."""
        if self._is_learnt:
            return
        found = await window_of(self._endpoint, self._fetched)
        if found is not None:
            self.context_tokens, self._by_ollama = found.tokens, found.by_ollama

    async def _fetched(self, url: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401 it is JSON
        """See `Fetch`. A model that is loaded meanwhile takes as long as its first answer may."""
        patience_s = _PROBE_S if body is None else self._limits.first_byte_s
        posted = None if body is None else msgspec.json.encode(body)
        received = b""
        try:
            async with (
                asyncio.timeout(patience_s),
                await self._request("GET" if posted is None else "POST", url, posted) as response,
            ):
                self._is_learnt = True
                while len(received) < _MAX_LIST_BYTES and (part := await response.content.readany()):
                    received += part
            return msgspec.json.decode(received) if response.status == HTTPStatus.OK else None
        except TimeoutError:
            # Busy with another answer: no run waits for it again, and a refusal will correct the guess.
            self._is_learnt = True
            return None
        except (LlmError, msgspec.DecodeError, UnicodeDecodeError, *_network_errors()):
            return None

    async def probe(self) -> str | None:
        """See `Llm.probe`: asks for the list of models. A server without one counts as reachable."""
        try:
            async with asyncio.timeout(_PROBE_S):
                async with await self._request("GET", self._endpoint.models_url) as response:
                    detail = await _error_detail(response)
        except TimeoutError:
            return self._failures.unreachable(f"no answer within {_PROBE_S} s.").message
        except LlmError as error:
            return error.message
        if response.status in _KEY_REFUSALS or response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._failures.of_status(response.status, detail, response.headers).message
        return None

    async def close(self) -> None:
        """Close all connections; a later request opens new ones."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    async def _opened(self, request: LlmRequest) -> tuple[aiohttp.ClientResponse, Capabilities, list[Warned]]:
        """A response with status 200, without the pictures if the server refuses them; with what it took."""
        try:
            response, known = await self._open(request)
        except PicturesRefused as refused:
            self._sees = self._sees and not refused.always
            response, known = await self._open(without_pictures(request))
            message = f"{refused.message} Asking again without the pictures, which are only named."
            return response, known, [_warned(message)]
        return response, known, []

    async def _open(self, request: LlmRequest) -> tuple[aiohttp.ClientResponse, Capabilities]:
        """A response with status 200. What a server refuses of a request is left out from then on."""
        known = await self._learnt.of(self._origin, self._usual)
        now, tried = Step(known, known), list[Capabilities]()
        while True:
            tried.append(now.capabilities)
            body = await self._encoded(request, now.capabilities)
            response = await self._post(body)
            if response.status == HTTPStatus.OK:
                if now.lasting != known:
                    await self._learnt.keep(self._origin, now.lasting)
                return response, now.capabilities
            async with response:
                detail = await _error_detail(response)
            error = self._failures.of_status(response.status, detail, response.headers)
            if isinstance(error, ContextTooLong) and (named := window_named(detail.message)):
                self.context_tokens = min(self.context_tokens, named)
            step = None
            if response.status in _REFUSALS and not isinstance(error, ContextTooLong):
                step = step_down(f"{detail.code} {detail.message}", now, parts_of(body))
            if step is None or step.capabilities in tried:
                shown = request.pictures and self._sees
                raise (self._failures.of_pictures(response.status, detail, error) if shown else None) or error
            now = step

    async def _encoded(self, request: LlmRequest, known: Capabilities) -> bytes:
        def encoded() -> bytes:
            return encode_request(
                request, self._endpoint.model, known, origin=self._origin, pictures=self._sees
            )

        if not request.pictures:
            return encoded()
        # Megabytes: other conversations go on meanwhile.
        return await anyio.to_thread.run_sync(encoded)

    async def _post(self, body: bytes) -> aiohttp.ClientResponse:
        url = self._endpoint.chat_url
        if self._by_ollama:
            url, body = f"{self._endpoint.origin}/api/chat", native_request(body, self.context_tokens)
        try:
            async with asyncio.timeout(self._limits.first_byte_s):
                try:
                    return await self._request("POST", url, body)
                except Disconnected:
                    # Most likely a kept connection that the server had closed meanwhile.
                    return await self._request("POST", url, body)
        except TimeoutError as error:
            waited = f"no answer within {self._limits.first_byte_s:g} s."
            raise self._failures.unreachable(waited) from error

    async def _request(self, method: str, url: str, body: bytes | None = None) -> aiohttp.ClientResponse:
        """A response whose body is still to be read.

        Raises:
            Unreachable: there is none.
        """
        session = await self._connected()
        headers = self._endpoint.headers | trace_headers() | (_JSON if body is not None else {})
        limit = _time_limit(self._limits)
        try:
            return await session.request(
                method, url, data=body, headers=headers, allow_redirects=False, timeout=limit
            )
        except _network_errors() as error:
            failure = self._failures.of_exception(error)
            raise failure from error

    async def _connected(self) -> aiohttp.ClientSession:
        if self._connections is not None:
            return await self._connections()
        if self._session is None:
            if "aiohttp" not in sys.modules:
                await anyio.to_thread.run_sync(importlib.import_module, "aiohttp")
            self._session = self._session or _new_session()
        return self._session

    async def _read(self, response: aiohttp.ClientResponse, answer: Answer, watch: _Watch) -> bytes:
        """What has arrived; empty at the end, or where the rest is not worth an error.

        Raises:
            Unreachable: nothing came for too long.
            InvalidResponse: the connection broke.
        """
        watch.start()
        try:
            return await response.content.readany()
        except _network_errors() as error:
            if answer.finishing:
                return b""
            if watch.expired:
                raise self._failures.unreachable(f"nothing came for {watch.limit_s:g} s.") from error
            raise self._failures.broken_off() from error
        finally:
            watch.waiting = False


def _warned(message: str) -> Warned:
    return Warned(part="model", message=message)


def _was_told(messages: Sequence[Message], origin: str) -> bool:
    """Whether a conversation has an answer of this model already for which it had no tools."""
    answers = (message.origin for message in messages if isinstance(message, AssistantMessage))
    return any(one is not None and one.toolless and one.model == origin for one in answers)


class _Watch:
    """Closes a response of which nothing comes for `limit_s` while it is waited for.

    One timer that looks at the clock when it rings: moving the deadline at
    every token costs no timer each.
    """

    def __init__(self, response: aiohttp.ClientResponse, limit_s: float) -> None:
        self.limit_s = limit_s
        self.waiting = False
        self.expired = False
        self._response = response
        self._loop = asyncio.get_running_loop()
        self._due = self._rings_at = self._loop.time() + limit_s
        self._timer = self._loop.call_at(self._rings_at, self._ring)

    def start(self) -> None:
        """The wait begins."""
        self.waiting = True
        self._due = self._loop.time() + self.limit_s
        if self._due < self._rings_at:
            self._timer.cancel()
            self._set(self._due)

    def stop(self) -> None:
        """The response is done with."""
        self._timer.cancel()

    def _ring(self) -> None:
        now = self._loop.time()
        if not self.waiting:
            self._set(now + self.limit_s)
        elif now < self._due:
            self._set(self._due)
        else:
            self.expired = True
            self._response.close()

    def _set(self, at: float) -> None:
        self._rings_at = at
        self._timer = self._loop.call_at(at, self._ring)


def _time_limit(limits: WireLimits) -> aiohttp.ClientTimeout:
    import aiohttp

    return aiohttp.ClientTimeout(total=None, connect=limits.connect_s)


def _new_session() -> aiohttp.ClientSession:
    import aiohttp

    return aiohttp.ClientSession(
        # No limit: the number of runs is bounded above, and a queue here would look like a slow model.
        connector=aiohttp.TCPConnector(limit=0),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _network_errors() -> tuple[type[Exception], ...]:
    """What aiohttp raises when the network fails. Python asks for it only when something was raised."""
    import aiohttp

    return (aiohttp.ClientError, OSError)


async def _error_detail(response: aiohttp.ClientResponse) -> ErrorDetail:
    """What the body says, as far as it comes."""
    body = b""
    with contextlib.suppress(*_network_errors()):
        async with asyncio.timeout(_ERROR_BODY_S):
            while len(body) < _MAX_ERROR_BYTES and (received := await response.content.readany()):
                body += received
    return ErrorDetail.of_bytes(body[:_MAX_ERROR_BYTES])


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read the end of a response, so that its connection can be used again."""
    if response.content.at_eof():
        return
    with contextlib.suppress(*_network_errors()):
        async with asyncio.timeout(_DRAIN_S):
            while await response.content.readany():
                pass
