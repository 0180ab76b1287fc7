"""One request to the web: a body within bounds, or where it redirects to. `pages` and `robots` make them.

Nothing is sent but the address: no cookies, no credentials, no referrer, and
over no proxy of the environment, which would connect to addresses that nobody
judged. A connection ends with its request, so nothing carries over to another.
`http_post` sends what its caller gives, to an address that passes the same gate; `http_file` streams a file.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from email.message import Message
from http import HTTPStatus
from importlib import import_module
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink import __version__
from bethink.errors import WebError
from bethink.internet.addresses import AddressGate, port_of

if TYPE_CHECKING:
    import httpcore2
    import httpx2


PRODUCT = "Bethink"
"""The name that a site's robots.txt may use."""
_MODULES = ("httpx2", "bethink.internet.connections")
REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CONNECT_S = 5.0
_SILENCE_S = 10.0
_POST_S = 20.0
_MEGABYTE = 1_000_000
_WAIT = (429, 503)
_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
"""Content encodings that are read (RFC 9110, 8.4.1), each alone: one inside another serves bombs only."""
_TEXT_ENDINGS = ("+json", "+xml", "+yaml")
_TEXTS = frozenset(
    {
        "application/javascript",
        "application/json",
        "application/pdf",
        "application/sql",
        "application/toml",
        "application/x-ndjson",
        "application/x-yaml",
        "application/xml",
        "application/yaml",
    }
)
_ACCEPTED = (
    ("Accept", "text/html, text/*;q=0.9, application/json;q=0.9, application/pdf;q=0.9, */*;q=0.1"),
    ("Accept-Encoding", "gzip, deflate"),
)
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server sent, still in its content encoding; `location` where it sends us elsewhere."""

    url: httpx2.URL
    content: bytes = b""
    media_type: str = ""
    charset: str | None = None
    encoding: str = ""
    location: str | None = None


class BadStatus(WebError):
    """The server answered that it gives no page; `number` is its HTTP status."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


async def http_get(
    gate: AddressGate, url: httpx2.URL, max_bytes: int, *, of_any_kind: bool = False
) -> HttpAnswer:
    """The answer to a GET; `of_any_kind` takes also what is not read as a page.

    Raises:
        AddressRefused: the address may not be connected to.
        BadStatus: the server gives no such page.
        WebError: it did not answer, or not with what can be read.
    """
    with _in_words(url):
        async with _asked(gate, url, _ACCEPTED) as response:
            headers = {name.lower(): value.decode("latin-1").strip() for name, value in response.headers}
            if response.status in REDIRECTS and b"location" in headers:
                return HttpAnswer(url, location=headers[b"location"])
            _check_status(url, response.status)
            message = Message()
            message["content-type"] = said = headers.get(b"content-type", "")
            media_type, charset = message.get_content_type() if said else "", message.get_content_charset()
            encoding = headers.get(b"content-encoding", "").lower()
            _check_kind("" if of_any_kind else media_type, encoding)
            content = bytearray()
            async for part in response.aiter_stream():
                content += part
                if len(content) > max_bytes:
                    raise WebError(
                        f"This is larger than {max_bytes / _MEGABYTE:g} MB, the most that is read."
                    )
            return HttpAnswer(url, bytes(content), media_type, charset, encoding)


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """A file that a server sends: names of `headers` in small letters; `parts` are its bytes."""

    host: str
    status: int
    headers: Mapping[str, str]
    parts: AsyncIterator[bytes]


@asynccontextmanager
async def http_file(
    gate: AddressGate, url: httpx2.URL, headers: Sequence[tuple[str, str]] = ()
) -> AsyncGenerator[FileAnswer]:
    """The answer to a GET, whatever its status, with its body to be streamed.

    Raises:
        AddressRefused: the address may not be connected to.
        WebError: it did not answer, or stopped in the middle.
    """
    await ready()
    with _in_words(url):
        async with _asked(gate, url, [("Accept-Encoding", "identity"), *headers]) as response:
            told = {name.decode().lower(): text.decode("latin-1") for name, text in response.headers}
            yield FileAnswer(url.host, response.status, told, response.aiter_stream())


async def http_post(gate: AddressGate, url: httpx2.URL, content: bytes, *, headers: Mapping[str, str]) -> int:
    """The status of the answer to a POST; redirects are not followed, and the answer is not read.

    Raises:
        AddressRefused: the address may not be connected to.
        WebError: it did not answer in time.
    """
    await ready()
    sent = [("Content-Length", str(len(content))), *headers.items()]
    with _in_words(url), anyio.fail_after(_POST_S):
        async with _asked(gate, url, sent, content=content) as response:
            return response.status


@contextmanager
def _in_words(url: httpx2.URL) -> Generator[None]:
    """What the connection does wrong, as an error of ours."""
    import httpcore2

    try:
        yield
    except (httpcore2.TimeoutException, TimeoutError) as error:
        raise WebError(f"{url.host} did not answer in time.") from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise WebError(
            f"{url.host} cannot be reached, or does not speak HTTP: {str(error) or type(error).__name__}"
        ) from error


@asynccontextmanager
async def _asked(
    gate: AddressGate, url: httpx2.URL, more: Sequence[tuple[str, str]], *, content: bytes | None = None
) -> AsyncGenerator[httpcore2.Response]:
    """The answer to a GET, or to a POST of the content, with these headers."""
    import httpcore2

    from bethink.internet.connections import GatedBackend

    target = httpcore2.URL(
        scheme=url.raw_scheme, host=url.raw_host, port=port_of(url), target=url.raw_path or b"/"
    )
    headers = [("User-Agent", user_agent()), *more]
    method = "GET" if content is None else "POST"
    timeouts = {"connect": _CONNECT_S, "read": _SILENCE_S, "write": _SILENCE_S, "pool": _CONNECT_S}
    # Read anew: certificates change, and it takes some ten milliseconds.
    trust = await anyio.to_thread.run_sync(gate.trust) if url.scheme == "https" else None
    async with (
        httpcore2.AsyncConnectionPool(ssl_context=trust, network_backend=GatedBackend(gate)) as connections,
        connections.stream(
            method, target, headers=headers, content=content, extensions={"timeout": timeouts}
        ) as response,
    ):
        yield response


def _check_status(url: httpx2.URL, status: int) -> None:
    if status in {HTTPStatus.OK, HTTPStatus.NON_AUTHORITATIVE_INFORMATION}:
        return
    try:
        phrase = f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        phrase = str(status)
    hint = " Try again later." if status in _WAIT else ""
    raise BadStatus(f"{url.host} answered {phrase} and gave no page.{hint}", status)


def _check_kind(media_type: str, encoding: str) -> None:
    """Refuse what cannot be read before it is sent."""
    is_text = media_type.startswith("text/") or media_type.endswith(_TEXT_ENDINGS)
    if not (is_text or media_type in _TEXTS or media_type in _UNSAID):
        raise WebError(f"This is {media_type}: only pages, texts, JSON and PDF files are read.")
    if encoding not in _ENCODINGS:
        raise WebError(f"This is packed as {encoding[:50]!r}, although it was not asked for so.")


async def ready() -> None:
    """Make imports of `httpx2`, `httpcore2` and the connections immediate."""
    for module in _MODULES:
        if module not in sys.modules:
            await anyio.to_thread.run_sync(import_module, module)


def user_agent() -> str:
    """The User-Agent header."""
    return f"{PRODUCT}/{__version__} (a self-hosted assistant, reading for one person)"
