"""What is kept put in order in the background: duplicates merged, what is too old let go. `app` runs it.

Never while something is stored or answered: some time after the start, and
then every hour, for each owner by one process of those that share the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from bethink.conversations import CONVERSATIONS
from bethink.errors import BethinkError
from bethink.forgetting.announcements import INTENTS
from bethink.memory import FACTS
from bethink.store.reading import owners_of
from bethink.telemetry import log, recorded
from bethink.vault import VAULTS

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bethink.accounts import Accounts
    from bethink.bus import Bus
    from bethink.forgetting.service import Forgetting
    from bethink.maintenance.retention import Retention
    from bethink.memory import Memory
    from bethink.principal import Principal
    from bethink.store import Collection
    from bethink.vault import Vault

_LEASE_S = 86_400.0
"""However long it takes; the bus knows of a process that died."""
_FIRST_S = 60.0
"""Commands that end sooner put nothing in order."""
_EVERY_S = 3600.0

_log = log("tidying")


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """Puts the memory of all owners in order. `merges` where duplicates are merged by itself.

    `let_go` removes what is kept for a time only, of those too who have records in `also`.
    """

    memory: Memory
    retention: Retention
    forgetting: Forgetting
    bus: Bus
    accounts: Accounts
    vault: Vault
    let_go: Callable[[Principal], Awaitable[None]]
    merges: bool = True
    also: Sequence[Collection[Any]] = ()

    async def keep_tidy(self, *, first_s: float = _FIRST_S) -> None:
        """Tidy everybody's again and again, for ever; what fails is tried again the next time."""
        await anyio.sleep(first_s)
        while True:
            try:
                await self.tidy_all()
            except BethinkError as error:
                _log.error("not everybody's memory was put in order: %s", error)
            await anyio.sleep(_EVERY_S)

    async def tidy_all(self) -> None:
        """Do what is due of each owner, one after the other.

        Raises:
            StorageError: it cannot be said who they are.
        """
        if over := await self.accounts.register.clear_sign_ins():
            _log.info("%d sign-ins were over and are cleared", over)
        kinds = (FACTS, INTENTS, CONVERSATIONS, VAULTS, *self.also)
        async for owner in owners_of(self.memory.store, *kinds):
            with recorded(_log, "the memory was not put in order"):
                await self.tidy(self.accounts.on_behalf_of(owner, audience="tidying"))

    async def _thin(self, owner: str) -> None:
        """Let go of versions of pages that are too old to be kept one by one."""
        days = self.vault.settings.versions_days
        if days is not None and await self.vault.exists(owner):
            thinned = await self.vault.versions.thin(owner, days)
            if thinned:
                _log.info("%d old versions of pages are not kept any more", thinned)

    async def tidy(self, principal: Principal) -> None:
        """Do what is due now, unless another process is at it.

        Raises:
            BethinkError: the store or the memory refused; nothing is half done.
        """
        lease = f"tidying:{principal.owner}"
        if not await self.bus.claim(lease, _LEASE_S):
            return
        try:
            await self.forgetting.finish(principal.owner)
            await self.let_go(principal)
            if self.merges and await self.memory.is_consolidation_due(principal):
                merged = await self.memory.consolidate(principal)
                _log.info("merged %d of %d facts into others", merged.gone, merged.facts)
            if expired := await self.retention.expire(principal):
                _log.info("%d facts were too old and are retracted", expired)
            if forgotten := await self.retention.forget(principal):
                _log.info("%d facts expired long ago and are forgotten", forgotten)
            await self.retention.shorten_log(principal)
            await self._thin(principal.owner)
        finally:
            with anyio.CancelScope(shield=True):
                await self.bus.release(lease)
