"""The HTTP client of a server: its headers, its sign-in, bounds on time and size. For `sdk_session`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import httpx2

from bethink.errors import BadInput
from bethink.json_bounds import JsonBounds
from bethink.mcp_client import MAX_MESSAGE_VALUES
from bethink.mcp_client.sign_in import signing_in

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from bethink.mcp_client.options import Link

_REFUSED = 400
_BETWEEN = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_SILENCE_S = 600
"""Of a stream of changes; what else is too slow is bounded by whoever waits for it."""


def http_client(link: Link) -> httpx2.AsyncClient:
    """A client for one session; closed with it."""
    config = link.config
    auth = (
        signing_in(config, link.hooks, sign_ins=link.sign_ins, keeping=link.keeping) if config.oauth else None
    )

    async def note(response: httpx2.Response) -> None:
        is_refused = response.status_code >= _REFUSED and response.request.url == httpx2.URL(config.url)
        link.refusal = f"HTTP {response.status_code} {response.reason_phrase}".strip() if is_refused else ""

    return httpx2.AsyncClient(
        headers=dict(config.headers),
        auth=auth,
        follow_redirects=False,
        timeout=httpx2.Timeout(config.connect_timeout_s, read=_SILENCE_S),
        transport=_Bounded(config.max_message_bytes),
        event_hooks={"response": [note]},
    )


class _Bounded(httpx2.AsyncHTTPTransport):
    """Refuses an answer that is larger, or holds more values, than a message may; the SDK bounds events."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request; the answer's body is counted while it is read."""
        response = await super().handle_async_request(request)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        assert isinstance(response.stream, httpx2.AsyncByteStream)  # noqa: S101 - an async transport's
        response.stream = _Events(response.stream) if is_stream else _Counted(response.stream, self._limit)
        return response


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, inner: httpx2.AsyncByteStream, limit: int) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, bounds = 0, JsonBounds(MAX_MESSAGE_VALUES)
        async for chunk in self._inner:
            size += len(chunk)
            _count(bounds, chunk)
            if size > self._limit:
                message = f"The answer has more than the {self._limit:,} bytes that are taken."
                raise httpx2.StreamError(message)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Events(httpx2.AsyncByteStream):
    """A stream whose events are counted one by one; an empty line ends each."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        bounds = JsonBounds(MAX_MESSAGE_VALUES)
        async for chunk in self._inner:
            last, *others = _BETWEEN.split(chunk)
            _count(bounds, last)
            for event in others:
                bounds = JsonBounds(MAX_MESSAGE_VALUES)
                _count(bounds, event)
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


def _count(bounds: JsonBounds, chunk: bytes) -> None:
    try:
        bounds.feed(chunk)
    except BadInput as error:
        raise httpx2.StreamError(error.message) from error
