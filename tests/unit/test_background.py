"""What goes on beside requests."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from bethink.across.background import Background
from bethink.across.vectors import Vectors
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.errors import StorageError
from bethink.index.memory import MemoryIndex
from bethink.store.memory import MemoryStore

pytestmark = pytest.mark.anyio


class ReadStore(MemoryStore):
    """A store whose files another program reads, when they are scrubbed for the first time."""

    asked = 0
    scrubbed: anyio.Event

    async def scrub(self) -> None:
        self.asked += 1
        if self.asked == 1:
            raise StorageError("Another process reads the database without a pause.")
        self.scrubbed.set()


async def test_traces_that_could_not_be_removed_are_removed_later(tmp_path: Path) -> None:
    index = MemoryIndex()
    store = ReadStore(index)
    store.scrubbed = anyio.Event()
    background = Background(Vectors(store, index, HashingEmbeddings()), tmp_path, again_s=0)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(background.scrub_always)
        background.ask_scrub()
        await store.scrubbed.wait()
        tasks.cancel_scope.cancel()
    assert store.asked == 2
