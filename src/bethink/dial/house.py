"""The house in which DIAL's requests are answered: the same agent over ports that keep nothing.

`app` is wired a second time, over stores in memory, beside the first: it shares the
embedding model, the sandbox, the web and the tool servers. So what is the user's
ends with the process at the latest, and all that works elsewhere works here.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.app import Ports, open_app
from bethink.blobs.directory import temporary_blobs
from bethink.engines.memory.bus import MemoryBus
from bethink.engines.memory.index import MemoryIndex
from bethink.engines.memory.store import MemoryStore
from bethink.settings_shapes import VaultSettings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from bethink.app import App

_MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of the system's, in memory; the one made there is private


@asynccontextmanager
async def open_second(app: App) -> AsyncGenerator[App]:
    """The second house, beside an open app.

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
