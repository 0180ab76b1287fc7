"""May this be listened on? Asked by `server` before it is, and by the doctor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.accounts import Accounts, Register, is_loopback
from bethink.clock import Ids, SystemClock
from bethink.engines.memory.bus import MemoryBus
from bethink.engines.sqlite.store import open_database

if TYPE_CHECKING:
    from bethink.settings import Settings


async def check_bind(settings: Settings) -> None:
    """Look whether anybody could come in by right, where others than this machine are let in.

    Raises:
        NotAllowed: nobody could, so that everybody would.
        StorageError: the data directory cannot be used.
    """
    if is_loopback(settings.host) and not settings.needs_users:
        return
    clock = SystemClock()
    async with open_database(settings.data_dir) as database:
        register = Register(database.store, clock, MemoryBus(), Ids(clock))
        await Accounts(register, needs_users=settings.needs_users).check_bind(settings.host)
