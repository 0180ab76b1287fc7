"""Imports an archive in a process that kills itself: while it unpacks, or before a write that is named.

Called with the data directory, the archive, and how many commits of the store are let through; -1 for none,
before anything is unpacked behind the manifest.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from bethink.app import open_app
from bethink.documents import archive
from bethink.documents.service import Documents
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.ports import open_ports
from bethink.settings import Settings, VaultSettings
from tests.service.ingest_and_die import DyingStore


def die(*_: object) -> None:
    """End as by `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


async def main(directory: str, file: str, writes: str) -> None:
    """Import until the end comes."""
    settings = Settings(data_dir=Path(directory), vault=VaultSettings(mirror=False))
    if int(writes) < 0:
        archive._check = die  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - everything is unpacked then
    async with open_ports(settings) as ports:
        store = ports.store if int(writes) < 0 else DyingStore(ports.store, int(writes))
        dying = replace(ports, embeddings=HashingEmbeddings(), store=store)
        async with open_app(settings, dying) as app:
            me = await app.accounts.authenticate(audience="test")
            await app.features.of(Documents).bases.import_archive(me, Path(file))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
