"""The real server in a process of its own, over a data directory that outlives it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx2

from benchmarks.stand_ins.scripted_process import ScriptedProcess
from tests.door import Frame, frames, said
from tests.postgres_server import database_of
from tests.warm import Started, start

ROOT = Path(__file__).parent.parent
SERVE = (
    "from bethink.settings import load_settings\nfrom bethink.web.server import serve\nserve(load_settings())"
)
_READY = "Bethink is at "


def environment(data: Path, model: ScriptedProcess | None, **more: str) -> dict[str, str]:
    """What the server is told; nothing of this machine's own settings, and no way to a package registry."""
    own = {name: value for name, value in os.environ.items() if not name.startswith(("BETHINK_", "OPENAI_"))}
    told = {
        "BETHINK_DATA_DIR": str(data),
        "BETHINK_MODELS_DIR": os.environ.get("BETHINK_MODELS_DIR", str(ROOT / ".models")),
        "BETHINK_PORT": "0",
        "BETHINK_EXTRACTION": "off",
        "PIP_NO_INDEX": "1",
    }
    if model is not None:
        told |= {"BETHINK_MODEL": "openai:scripted-demo", "BETHINK_MODEL_BASE_URL": model.base_url}
        told |= {"OPENAI_API_KEY": "any"}
    return own | told | database_of(data) | more


_LOOKS, _PAUSE_S = 6_000, 0.02


@dataclass(frozen=True, slots=True)
class Running:
    """A server that runs, and a client of it."""

    process: Started
    http: httpx2.AsyncClient

    async def kill(self) -> None:
        """End it as a power cut would."""
        self.process.kill()
        await self.process.wait()

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """End it as a person would; its exit code."""
        self.process.send_signal(number)
        async with asyncio.timeout(120):
            return await self.process.wait()

    async def new(self) -> str:
        """A new conversation's id."""
        return (await self.http.post("/conversations")).json()["id"]

    async def answer(self, conversation: str, content: str) -> dict[str, Any]:
        """The whole answer to a message."""
        url = f"/conversations/{conversation}/chat"
        return (await self.http.post(url, json=said(content, stream=False))).json()

    async def told(self, conversation: str, content: str, *, until: str | None = None) -> list[Frame]:
        """The frames of an answer; the reader leaves once its text holds `until`."""
        url = f"/conversations/{conversation}/chat"
        async with self.http.stream("POST", url, json=said(content)) as response:
            return await self._read(response, until)

    async def followed(self, run: str, after: str = "0") -> list[Frame]:
        """The frames of a run behind a place, until its end."""
        headers = {"Last-Event-ID": after}
        async with self.http.stream("GET", f"/runs/{run}/events", headers=headers) as response:
            return await self._read(response, None)

    async def get(self, path: str) -> dict[str, Any]:
        """A resource."""
        return (await self.http.get(path)).json()

    async def finds(self, path: str) -> list[dict[str, Any]]:
        """The items of a resource, once there are some: what goes on beside requests takes its time."""
        for _ in range(_LOOKS):
            if items := (await self.get(path))["items"]:
                return items
            await asyncio.sleep(_PAUSE_S)
        message = f"nothing was ever at {path}"
        raise AssertionError(message)

    @staticmethod
    async def _read(response: httpx2.Response, until: str | None) -> list[Frame]:
        seen: list[Frame] = []
        text = ""
        async for frame in frames(response):
            seen.append(frame)
            text += frame.data["text"] if frame.kind == "text_delta" else ""
            if until is not None and until in text:
                break
        return seen


@asynccontextmanager
async def running(
    data: Path, model: ScriptedProcess | None = None, *, serve: str = SERVE, **more: str
) -> AsyncGenerator[Running]:
    """The server over a data directory; killed at the end unless it has ended by then."""
    process = start(serve, environment=environment(data, model, **more))
    try:
        line = await process.line()
        assert line.startswith(_READY), f"the server did not start: {line!r}"
        url = line.removeprefix(_READY).split()[0]
        async with httpx2.AsyncClient(base_url=url, timeout=120) as http:
            yield Running(process, http)
    finally:
        process.kill()
        with anyio.CancelScope(shield=True):
            await process.wait()
        process.close()
