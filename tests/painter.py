"""A provider of pictures on loopback: OpenAI's images API and DIAL's chat completions with attachments."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from tests.pages import page

# The smallest picture that a browser shows: one pixel.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KEY = "sk-pictures"


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its path with the query, its head in lower case, its JSON body."""

    path: str
    head: str
    body: dict[str, Any] | None


@dataclass(slots=True)
class Painter:
    """Answers `answer` to what is posted, and the picture to what is fetched; keeps what was asked."""

    url: str
    answer: bytes
    asked: list[Asked] = field(default_factory=list[Asked])

    def answers(self, body: object, status: str = "200 OK") -> None:
        """What is answered from now on."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.answer = page(text, "application/json", status=status)


def made(**more: object) -> dict[str, object]:
    """The answer of OpenAI's images API with a picture in it."""
    return {"created": 1, "data": [{"b64_json": base64.b64encode(PNG).decode()}], **more}


def attached(**attachment: str) -> dict[str, object]:
    """A DIAL deployment's answer with an attachment."""
    message = {"role": "assistant", "content": "", "custom_content": {"attachments": [attachment]}}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


@asynccontextmanager
async def painting() -> AsyncGenerator[Painter]:
    """A provider that is gone with the block."""
    painter = Painter("", b"")
    painter.answers(made())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length else b""
        method, path, _ = head.split(" ", 2)
        painter.asked.append(Asked(path, head.lower(), json.loads(body) if body else None))
        writer.write(page(PNG, "image/png") if method == "GET" else painter.answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    painter.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield painter
