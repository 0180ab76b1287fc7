"""The app in which DIAL's requests are answered: the same agent over ports that keep nothing.

`app` is wired a second time, over stores in memory, beside the first: it shares the
embedding model, the sandbox, the web and the tool servers. So what is the user's
ends with the process at the latest, and all that works elsewhere works here.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.app import open_app
from bethink.blobs.directory import temporary_blobs
from bethink.embeddings.minilm import MiniLmEmbeddings
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.ports import Ports
from bethink.settings import Settings
from bethink.settings_shapes import VaultSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.app import App
    from bethink.embeddings import Embeddings


@dataclass(slots=True)
class EphemeralApp:
    """An app for tools and agents of spec 002, in a task of its own from its first use until `aclose`."""

    embeddings: Embeddings | None = None
    _opened: asyncio.Future[App] | None = None
    _closing: anyio.Event = field(default_factory=anyio.Event)
    _task: asyncio.Task[None] | None = None

    async def app(self) -> App:
        """The app."""
        if self._opened is None:
            self._opened = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._live(self._opened))
        return await asyncio.shield(self._opened)

    async def aclose(self) -> None:
        """End it."""
        self._closing.set()
        if self._task is not None:
            await self._task

    async def _live(self, opened: asyncio.Future[App]) -> None:
        try:
            async with self._open() as app:
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:  # a background task: its opener is told
            if opened.done():
                raise
            opened.set_exception(error)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[App]:
        await anyio.to_thread.run_sync(importlib.import_module, "jsonschema")
        settings = Settings(
            code_enabled=False, web_enabled=False, extraction="off", memory_consolidation=False
        )
        index = MemoryIndex()
        embeddings = self.embeddings or MiniLmEmbeddings(settings.models)
        async with open_app(settings, Ports(MemoryStore(index), index, MemoryBus(), embeddings, None)) as app:
            yield app


_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of the system's, in memory; the one made there is private


@asynccontextmanager
async def open_ephemeral_app(app: App) -> AsyncGenerator[App]:
    """A second app over stores in memory, beside an open one.

    Nothing goes on in it once an answer has ended, since the key of a request ends with it:
    neither extraction nor tidying.
    """
    settings = app.settings.model_copy(
        update={
            "extraction": "off",
            "memory_consolidation": False,
            "memory_retention_days": None,
            # What a person keeps on this machine is no business of those who ask through Core.
            "vault": VaultSettings(enabled=False),
            "approval_timeout_s": app.settings.dial.approval_timeout_s,
        }
    )
    index = MemoryIndex()
    root = _MEMORY if await anyio.to_thread.run_sync(_MEMORY.is_dir) else None
    async with temporary_blobs(root) as blobs:
        ports = Ports(
            MemoryStore(index),
            index,
            MemoryBus(),
            app.ports.embeddings,
            app.ports.llm,
            clock=app.ports.clock,
            blobs=blobs,
            internet=app.ports.internet,
            interpreters=app.ports.interpreters,
            images=app.ports.images,
            supervisor=app.ports.supervisor,
        )
        async with open_app(settings, ports, beside=app) as second:
            yield second
