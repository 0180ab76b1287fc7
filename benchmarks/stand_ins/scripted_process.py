"""The scripted server in another process or thread, for tests and measurements of a real wire."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from anyio.from_thread import start_blocking_portal

from benchmarks.stand_ins.scripted_server import Recorded, ScriptedServer, listening
from bethink.llm.scripted import Rules

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from bethink.llm.scripted import Reply

_SERVER: Final = Path(__file__).with_name("scripted_server.py")
_GREETING: Final = "listening on "


@dataclass(frozen=True, slots=True)
class ScriptedProcess:
    """A running server. `base_url` ends in /v1, `origin` does not."""

    origin: str

    @property
    def base_url(self) -> str:
        """What a client of OpenAI's API is given."""
        return f"{self.origin}/v1"

    async def plays(self, *rules: Reply) -> None:
        """Answer by these rules from now on, and forget earlier requests.

        Raises:
            ValueError: the server refuses them.
        """
        answer = await self._ask("PUT", "/script", msgspec.json.encode(rules))
        if answer != b"{}":
            raise ValueError(answer.decode())
        await self._ask("DELETE", "/requests")

    async def requests(self) -> list[Recorded]:
        """What it was asked, oldest first."""
        return msgspec.json.decode(await self._ask("GET", "/requests"), type=list[Recorded])

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> bytes:
        import aiohttp

        async with (
            aiohttp.ClientSession() as session,
            session.request(method, self.origin + path, data=body) as response,
        ):
            return await response.read()


@contextlib.contextmanager
def scripted_process(arguments: Sequence[str] = ()) -> Generator[ScriptedProcess, None, None]:
    """Run the server with these command-line arguments; it ends with the context. Blocks while it starts.

    Raises:
        RuntimeError: it did not start.
    """
    command = [sys.executable, str(_SERVER), *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline() if process.stdout else ""
            if not line.startswith(_GREETING):
                raise RuntimeError(f"the scripted server did not start: {line!r}")
            yield ScriptedProcess(line.removeprefix(_GREETING).strip().removesuffix("/v1"))
        finally:
            process.terminate()


@contextlib.contextmanager
def scripted_thread() -> Generator[ScriptedProcess, None, None]:
    """The same server in a thread of this process: what is measured or killed needs one of its own."""
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(listening(ScriptedServer(Rules()))) as origin,
    ):
        yield ScriptedProcess(origin)
