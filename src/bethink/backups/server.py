"""The records of a database server as the file of a data directory, and back. `service` calls it.

So an archive is the same whichever engine its home is on, and can be restored to the other one.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from bethink.engines.postgres.sealed import take_seal
from bethink.engines.postgres.store import open_snapshot
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.snapshot import opens
from bethink.engines.sqlite.store import open_database
from bethink.migration import Side, bring, migrate, open_side
from bethink.sealing import Cipher, cipher_by, state_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.store import Collection


async def copy_server(
    url: str, folder: Path, collections: Sequence[Collection[Any]], *, cipher: Cipher | None = None
) -> None:
    """Have the database file in a folder hold what the server's holds at this moment, while others write.

    What the file holds already and is alike stays in its place; the rest is overwritten. With a `cipher` both
    are sealed.

    Raises:
        StorageError: a side cannot be read or written.
    """
    if not await anyio.to_thread.run_sync(opens, folder / FILE_NAME, cipher):
        await anyio.to_thread.run_sync((folder / FILE_NAME).unlink)
    async with open_snapshot(url, cipher) as server, open_database(folder, cipher) as file:
        source, target = Side(server.store, server.index, "the server"), Side(file.store, file.index, "file")
        await bring(source, target, collections, tell=_silent)


async def fill_server(
    url: str,
    folder: Path,
    collections: Sequence[Collection[Any]],
    *,
    name: str,
    master_key: str | None,
    last: Callable[[], Awaitable[object]],
) -> None:
    """Bring all records of the file in a folder to the server's database, and prove it; `last` comes last.

    The database is empty, or holds what an attempt of the same `name` brought.

    Raises:
        BadInput: it holds something else.
        StorageError: `master_key` does not open the file, or a side cannot be read or written: do it again.
    """
    state = await anyio.to_thread.run_sync(state_of, folder)
    cipher = await anyio.to_thread.run_sync(cipher_by, state, master_key)
    await take_seal(url, state, cipher)
    async with open_database(folder, cipher) as file, open_side(url, master_key=master_key) as target:
        source = Side(file.store, file.index, name)
        await migrate(source, target, collections, tell=_silent, also=last)


def _silent(name: str, count: int) -> None:
    del name, count
