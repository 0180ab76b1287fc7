"""A house over stores in memory, for agents and tools of spec 002, which have none of their own."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.app import open_app
from bethink.embeddings.minilm import MiniLmEmbeddings
from bethink.engines.memory.bus import MemoryBus
from bethink.engines.memory.index import MemoryIndex
from bethink.engines.memory.store import MemoryStore
from bethink.ports import Ports
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.app import App
    from bethink.embeddings import Embeddings


@dataclass(slots=True)
class Lodging:
    """A house over stores in memory, in a task of its own from its first use until `aclose`."""

    embeddings: Embeddings | None = None
    _opened: asyncio.Future[App] | None = None
    _closing: anyio.Event = field(default_factory=anyio.Event)
    _task: asyncio.Task[None] | None = None

    async def app(self) -> App:
        """The house."""
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
            async with self._house() as app:
                opened.set_result(app)
                await self._closing.wait()
        except Exception as error:  # a background task: its opener is told
            if opened.done():
                raise
            opened.set_exception(error)

    @asynccontextmanager
    async def _house(self) -> AsyncGenerator[App]:
        await anyio.to_thread.run_sync(importlib.import_module, "jsonschema")
        settings = Settings(
            code_enabled=False, web_enabled=False, extraction="off", memory_consolidation=False
        )
        index = MemoryIndex()
        embeddings = self.embeddings or MiniLmEmbeddings(settings.models)
        async with open_app(settings, Ports(MemoryStore(index), index, MemoryBus(), embeddings, None)) as app:
            yield app
