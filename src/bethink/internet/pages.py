"""A page or document of the web as Markdown, whatever its server tries. `tools/web` reads through it.

Bounds hold for a whole reading: its time, its bytes on the wire and unpacked,
its redirects, each of which is judged like the first address.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.child_process import ChildProcess
from bethink.errors import AddressRefused, WebError
from bethink.internet.addresses import AddressGate, checked_url
from bethink.internet.decoder import decoded, decompressed
from bethink.internet.http_get import HttpAnswer, http_get, ready
from bethink.internet.reading import MAX_CHARS, PageReading, ReadingTask

if TYPE_CHECKING:
    from bethink.internet.robots import RobotsCache


_MAX_ANSWER = 8 * MAX_CHARS
"""Bytes; a character takes at most six in JSON."""
_PART = 2**16
_MAX_REDIRECTS = 5
_READERS = 2
"""Documents that are taken apart at once: each may take 1.5 GB."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types that servers give to what they do not know: the content tells more."""
_LOOKED_AT = 1_024

Kind = Literal["html", "pdf", "text"]


@dataclass(frozen=True, slots=True)
class WebPage:
    """What a page says: `text` is Markdown, or the document as it is; `note` says what of it is missing."""

    url: str
    title: str
    text: str
    media_type: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Download:
    """A file of the web as it came; `charset` is what its server says of a text."""

    url: str
    content: bytes
    media_type: str
    charset: str | None


@dataclass(frozen=True, slots=True)
class Pages:
    """Reads pages. A page takes at most `timeout_s` seconds and `max_bytes` bytes, packed and unpacked."""

    gate: AddressGate
    robots: RobotsCache | None = None
    timeout_s: float = 20
    max_bytes: int = 10_000_000
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_READERS))

    async def read(self, address: str) -> WebPage:
        """The page at an address.

        Raises:
            AddressRefused: it, or where it redirects to, is not opened.
            WebError: nothing readable came, in time and within bounds.
        """
        await ready()
        async with self._in_time():
            return await self._page(await self._answer(address))

    async def download(self, address: str) -> Download:
        """The file at an address, of whatever kind.

        Raises:
            AddressRefused: it, or where it redirects to, is not opened.
            WebError: it did not come, in time and within bounds.
        """
        await ready()
        async with self._in_time():
            answer = await self._answer(address, of_any_kind=True)
            content = await asyncio.to_thread(decompressed, answer.content, answer.encoding, self.max_bytes)
        return Download(str(answer.url), content, answer.media_type, answer.charset)

    @asynccontextmanager
    async def _in_time(self) -> AsyncGenerator[None]:
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                yield
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise WebError(f"The page took longer than {self.timeout_s:g} s.") from error

    async def _answer(self, address: str, *, of_any_kind: bool = False) -> HttpAnswer:
        url = checked_url(address)
        for _ in range(_MAX_REDIRECTS + 1):
            if self.robots is not None:
                await self.robots.check(url)
            answer = await http_get(self.gate, url, self.max_bytes, of_any_kind=of_any_kind)
            if answer.location is None:
                return answer
            following = checked_url(str(url.join(answer.location)))
            if url.scheme == "https" and following.scheme == "http":
                raise AddressRefused(f"{url.host} redirects to an address without encryption: {following}")
            url = following
        raise WebError(f"The address redirects more than {_MAX_REDIRECTS} times.")

    async def _page(self, answer: HttpAnswer) -> WebPage:
        url, media_type = str(answer.url), answer.media_type
        content = await asyncio.to_thread(decompressed, answer.content, answer.encoding, self.max_bytes)
        kind = _kind(media_type, content)
        if kind == "text":
            text = await asyncio.to_thread(decoded, content, answer.charset)
            note = f"Only its first {MAX_CHARS:,} characters were read." if len(text) > MAX_CHARS else ""
            return WebPage(url, "", text[:MAX_CHARS].strip(), media_type or "text/plain", note)
        if kind == "html":
            text = await asyncio.to_thread(decoded, content, answer.charset)
            content = text.encode("utf-8", "replace")
        async with self._readers:
            reading = await read_apart(ReadingTask(kind, url, self.timeout_s / 2), content)
        if reading.error:
            raise WebError(reading.error)
        media_type = "application/pdf" if kind == "pdf" else "text/html"
        return WebPage(url, reading.title, reading.text, media_type, reading.note)


def _kind(media_type: str, content: bytes) -> Kind:
    """What a document is."""
    start = content[:_LOOKED_AT].lstrip().lower()
    if start.startswith(b"%pdf-"):
        return "pdf"
    if media_type == "application/pdf":
        raise WebError("The server says that this is a PDF file, and it is none.")
    if media_type in _HTML:
        return "html"
    if media_type in _UNSAID and start.startswith((b"<!doctype html", b"<html")):
        return "html"
    if b"\0" in content[:_LOOKED_AT] and not content.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise WebError("This is not text: only pages, texts, JSON and PDF files are read.")
    return "text"


async def read_apart(task: ReadingTask, content: bytes) -> PageReading:
    """The document as Markdown, read in a process that is gone afterwards whatever it is doing."""
    async with ChildProcess.opened(
        sys.executable,
        "-P",
        "-m",
        "bethink.internet.reading",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        # None of this process' variables: they hold keys.
        env={"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "PYTHONUTF8": "1"},
    ) as process:
        into, out = process.stdin, process.stdout
        assert into is not None  # noqa: S101 - it was asked for, as was the other
        assert out is not None  # noqa: S101
        writing = asyncio.create_task(_write(into, msgspec.json.encode(task) + b"\n", content))
        answer = bytearray()
        try:
            while part := await out.read(_PART):
                answer += part
                if len(answer) > _MAX_ANSWER:
                    raise WebError("This document cannot be read: its text is too long.")
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
    try:
        return msgspec.json.decode(answer, type=PageReading)
    except (msgspec.DecodeError, UnicodeError) as error:
        raise WebError("This document cannot be read: it asks for too much memory.") from error


async def _write(into: asyncio.StreamWriter, *parts: bytes) -> None:
    # If it has ended, what it answered says why.
    with suppress(BrokenPipeError, ConnectionResetError):
        for part in parts:
            into.write(part)
            await into.drain()
        into.close()
        await into.wait_closed()
