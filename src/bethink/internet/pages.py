"""A page or document of the web as Markdown, whatever its server tries. `tools/web` reads through it.

Bounds hold for a whole reading: its time, its bytes on the wire and unpacked,
its redirects, each of which is judged like the first address.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from bethink.errors import AddressRefused, WebError
from bethink.internet.addresses import checked_url
from bethink.internet.decoding import decoded, decompressed
from bethink.internet.preload import ready
from bethink.internet.reader import opened_reader
from bethink.internet.reading import MAX_CHARS, Reading, Task
from bethink.internet.visit import visit

if TYPE_CHECKING:
    from bethink.internet.gate import Gate
    from bethink.internet.robots_cache import Manners
    from bethink.internet.visit import Answer

_MAX_REDIRECTS = 5
_READERS = 2
"""Documents that are taken apart at once: each may take 1.5 GB."""
_HTML = frozenset({"text/html", "application/xhtml+xml"})
_UNSAID = frozenset({"", "application/octet-stream", "binary/octet-stream"})
"""Types that servers give to what they do not know: the content tells more."""
_LOOKED_AT = 1_024

Kind = Literal["html", "pdf", "text"]


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says: `text` is Markdown, or the document as it is; `note` says what of it is missing."""

    url: str
    title: str
    text: str
    media_type: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Pages:
    """Reads pages. A page takes at most `timeout_s` seconds and `max_bytes` bytes, packed and unpacked."""

    gate: Gate
    manners: Manners | None = None
    timeout_s: float = 20
    max_bytes: int = 10_000_000
    _readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_READERS))

    async def read(self, address: str) -> Page:
        """The page at an address.

        Raises:
            AddressRefused: it, or where it redirects to, is not opened.
            WebError: nothing readable came, in time and within bounds.
        """
        await ready()
        limit = asyncio.timeout(self.timeout_s)
        try:
            async with limit:
                return await self._page(await self._answer(address))
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise WebError(f"The page took longer than {self.timeout_s:g} s.") from error

    async def _answer(self, address: str) -> Answer:
        url = checked_url(address)
        for _ in range(_MAX_REDIRECTS + 1):
            if self.manners is not None:
                await self.manners.check(url)
            answer = await visit(self.gate, url, self.max_bytes)
            if answer.location is None:
                return answer
            following = checked_url(str(url.join(answer.location)))
            if url.scheme == "https" and following.scheme == "http":
                raise AddressRefused(f"{url.host} redirects to an address without encryption: {following}")
            url = following
        raise WebError(f"The address redirects more than {_MAX_REDIRECTS} times.")

    async def _page(self, answer: Answer) -> Page:
        url, media_type = str(answer.url), answer.media_type
        content = await asyncio.to_thread(decompressed, answer.content, answer.encoding, self.max_bytes)
        kind = _kind(media_type, content)
        if kind == "text":
            text = await asyncio.to_thread(decoded, content, answer.charset)
            note = f"Only its first {MAX_CHARS:,} characters were read." if len(text) > MAX_CHARS else ""
            return Page(url, "", text[:MAX_CHARS].strip(), media_type or "text/plain", note)
        if kind == "html":
            text = await asyncio.to_thread(decoded, content, answer.charset)
            content = text.encode("utf-8", "replace")
        async with self._readers, opened_reader() as reader:
            reading = await reader.read(Task(kind, url, self.timeout_s / 2), content)
        return _made(reading, url, "application/pdf" if kind == "pdf" else "text/html")


def _made(reading: Reading, url: str, media_type: str) -> Page:
    if reading.error:
        raise WebError(reading.error)
    return Page(url, reading.title, reading.text, media_type, reading.note)


def _kind(media_type: str, content: bytes) -> Kind:
    """What a document is.

    Raises:
        WebError: nothing that can be read.
    """
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
        raise WebError("This is no text: only pages, texts, JSON and PDF files are read.")
    return "text"
