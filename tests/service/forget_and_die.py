"""Forgets in a process of its own, which ends itself as a power cut would at a step that is named.

Called with the data directory, a fact's id, and how many calls of the store are
let through; `kill` before the next one, `kill_after` right behind it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from bethink.app import open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings
from bethink.store import Change, Store

_T = TypeVar("_T")


class DyingStore:
    """A store whose process ends at one of its writes."""

    def __init__(self, inner: Store, writes: int, *, after: bool) -> None:
        self._inner = inner
        self._writes = writes
        self._after = after
        self.get, self.scan = inner.get, inner.scan
        self.count, self.owners = inner.count, inner.owners

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        await self._counted(self._inner.commit(owner, changes))

    async def scrub(self, owner: str | None = None) -> tuple[str, ...]:
        return await self._counted(self._inner.scrub(owner))

    async def _counted(self, writing: Awaitable[_T]) -> _T:
        self._writes -= 1
        if self._writes < 0 and not self._after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = await writing
        if self._writes < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result


async def main(directory: str, fact: str, writes: str, after: str) -> None:
    # What goes on beside would count, too.
    settings = Settings(data_dir=Path(directory), vault=VaultSettings(mirror=False))
    async with (
        open_ports(settings) as ports,
        open_app(
            settings,
            replace(
                ports,
                embeddings=HashingEmbeddings(),
                store=DyingStore(ports.store, int(writes), after=after == "after"),
            ),
        ) as app,
    ):
        await app.forgetting.forget(await app.accounts.authenticate(audience="test"), [fact])


asyncio.run(main(*sys.argv[1:]))
