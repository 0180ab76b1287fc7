"""Adds a document and reads it, in a process of its own that ends itself before a write that is named.

Called with the data directory, a file, and how many commits of the store are let through.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from bethink.app import open_app
from bethink.documents.model import NewDocument
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings
from bethink.store import Change, Store


class DyingStore:
    """A store whose process ends before one of its writes of documents."""

    def __init__(self, inner: Store, writes: int) -> None:
        self._inner, self._writes = inner, writes
        self.get, self.scan, self.scrub = inner.get, inner.scan, inner.scrub
        self.count, self.owners = inner.count, inner.owners

    async def commit(self, owner: str, changes: Sequence[Change]) -> None:
        if any(getattr(one, "collection", None) and "document" in one.collection.name for one in changes):  # pyright: ignore[reportAttributeAccessIssue] - a vector has none
            self._writes -= 1
            if self._writes < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        await self._inner.commit(owner, changes)


async def main(directory: str, file: str, writes: str) -> None:
    settings = Settings(data_dir=Path(directory), vault=VaultSettings(mirror=False))
    async with open_ports(settings) as ports:
        dying = replace(ports, embeddings=HashingEmbeddings(), store=DyingStore(ports.store, int(writes)))
        async with open_app(settings, dying) as app:
            me = await app.accounts.authenticate(audience="test")
            path = Path(file)
            document = await app.library.add(me, NewDocument(name=path.name, content=path))
            sys.stdout.write("added\n")
            sys.stdout.flush()
            await app.features.of(Documents).ingest.finish(me, [document.content])


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
