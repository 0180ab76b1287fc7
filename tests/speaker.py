"""A provider of speech on loopback, in OpenAI's shapes; keeps what was asked."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tests.pages import page

KEY = "sk-speech"
SOUND = b"ID3" + bytes(range(256)) * 40
"""As good as sound for whoever only hands it on."""


@dataclass(frozen=True, slots=True)
class Heard:
    """A request: its path, its head in lower case, its body."""

    path: str
    head: str
    body: bytes


@dataclass(slots=True)
class Speaker:
    """Answers a transcript, or sound; `refusal` instead, if there is one."""

    url: str
    transcript: str = "Buy oat milk."
    refusal: tuple[str, object] | None = None
    asked: list[Heard] = field(default_factory=list[Heard])

    def answer(self, path: str) -> bytes:
        if self.refusal is not None:
            status, body = self.refusal
            return page(json.dumps(body), "application/json", status=status)
        if path.endswith("/transcriptions"):
            return page(json.dumps({"text": self.transcript}), "application/json")
        return page(SOUND, "audio/mpeg")


@asynccontextmanager
async def speaking() -> AsyncGenerator[Speaker]:
    """A provider that is gone with the block."""
    speaker = Speaker("")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        length = re.search(r"content-length: (\d+)", head, re.IGNORECASE)
        body = await reader.readexactly(int(length[1])) if length else b""
        path = head.split(" ", 2)[1]
        speaker.asked.append(Heard(path, head.lower(), body))
        writer.write(speaker.answer(path))
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    speaker.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    async with server:
        yield speaker
