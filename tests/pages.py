"""A web on loopback: servers that answer as a test wrote it, byte for byte, and a search beside them."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

Send = Callable[[bytes], Awaitable[None]]
Answer = bytes | Callable[[Send], Awaitable[None]]


def page(
    body: str | bytes, media_type: str = "text/html; charset=utf-8", *, status: str = "200 OK", **headers: str
) -> bytes:
    """A whole HTTP answer; `headers` are named with underscores."""
    content = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    kind = f"Content-Type: {media_type}\r\n" if media_type else ""
    head = f"HTTP/1.1 {status}\r\n{kind}{more}Content-Length: {len(content)}\r\nConnection: close\r\n\r\n"
    return head.encode("latin-1") + content


def redirect(to: str, status: str = "302 Found") -> bytes:
    """An answer that leads elsewhere."""
    return page("", status=status, Location=to)


@dataclass(slots=True)
class Web:
    """A server of `answers` by path; `*` answers what is not named. `asked` keeps each request's head."""

    port: int
    answers: dict[str, Answer]
    scheme: str = "http"
    asked: list[str] = field(default_factory=list[str])

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        """The address of a page here."""
        return f"{self.scheme}://{host}:{self.port}{path}"

    @property
    def paths(self) -> list[str]:
        """What was asked for, in order, without robots.txt."""
        paths = [head.split(" ")[1] for head in self.asked]
        return [path for path in paths if path != "/robots.txt"]


@asynccontextmanager
async def served(answers: Mapping[str, Answer], *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Web]:
    """A web that is gone with the block."""
    web = Web(0, {"*": page("nothing here", status="404 Not Found"), **answers})

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def send(part: bytes) -> None:
            writer.write(part)
            await writer.drain()

        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            web.asked.append(head)
            path = urlsplit(head.split(" ")[1]).path
            answer = web.answers.get(path, web.answers["*"])
            if isinstance(answer, bytes):
                await send(answer)
            else:
                await answer(send)
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=tls)
    web.port = server.sockets[0].getsockname()[1]
    web.scheme = "https" if tls else "http"
    try:
        yield web
    finally:
        server.close()


def searxng(results: Sequence[Mapping[str, object]]) -> bytes:
    """What a SearXNG answers (its documents, "Search API"), fields that nobody reads among them."""
    listed = [{"engine": "example", "score": 1.0, "category": "general", **result} for result in results]
    body = {"query": "q", "number_of_results": len(listed), "results": listed, "suggestions": []}
    return page(json.dumps(body), "application/json")


def asked_query(web: Web) -> dict[str, str]:
    """The parameters of the last request."""
    return {name: values[0] for name, values in parse_qs(urlsplit(web.asked[-1].split(" ")[1]).query).items()}
