"""What is kept put in order in the background: duplicates merged, what is too old let go. `app` runs it.

Never while something is stored or answered: some time after the start, and
then every hour, for each owner by one process of those that share the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

from bethink.errors import BethinkError
from bethink.forgetting.announcements import INTENTS
from bethink.store import UNSCRUBBED, owners_of
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.accounts import Accounts
    from bethink.bus import Bus
    from bethink.feature import RetentionRule
    from bethink.forgetting.service import Forgetting
    from bethink.principal import Principal


_LEASE_S = 86_400.0
"""However long it takes; the bus knows of a process that died."""
_FIRST_S = 60.0
"""Commands that end sooner put nothing in order."""
_EVERY_S = 3600.0
_CLEAN_S = 86_400.0
"""How often it is looked for what no record names: its removal was cut short by a fault or `kill -9`."""

_log = log("tidying")


@dataclass(frozen=True, slots=True)
class Housekeeping:
    """Does for all owners what the `retention` of features wants, behind interrupted forgettings."""

    retention: Sequence[RetentionRule]
    forgetting: Forgetting
    bus: Bus
    accounts: Accounts
    _clean_until: dict[str, float] = field(default_factory=dict[str, float], repr=False)

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
        if over := await self.accounts.register.clear_ended():
            _log.info("%d sign-ins and grants were over and are cleared", over)
        kinds = dict.fromkeys(one for rule in self.retention for one in rule.of)
        async for owner in owners_of(self.forgetting.store, INTENTS, UNSCRUBBED, *kinds):
            with recorded(_log, "the memory was not put in order"):
                await self.tidy(self.accounts.on_behalf_of(owner, audience="tidying"))

    async def tidy(self, principal: Principal) -> None:
        """Do what is due now, unless another process is at it; what fails keeps nothing else from being done.

        Raises:
            BethinkError: the store or a feature refused; nothing is half done.
        """
        failed: BethinkError | None = None
        lease = f"tidying:{principal.owner}"
        if not await self.bus.claim(lease, _LEASE_S):
            return
        try:
            await self.forgetting.finish(principal.owner)
            for rule in self.retention:
                try:
                    count = await rule.drop(principal)
                except BethinkError as error:
                    failed = failed or error
                    continue
                if count:
                    _log.info("%d %s", count, rule.log)
            try:
                await self._clean(principal.owner)
            except BethinkError as error:
                failed = failed or error
        finally:
            with anyio.CancelScope(shield=True):
                await self.bus.release(lease)
        if failed is not None:
            raise failed

    async def _clean(self, owner: str) -> None:
        if anyio.current_time() < self._clean_until.get(owner, 0):
            return
        await self.forgetting.features.clean(owner)
        self._clean_until[owner] = anyio.current_time() + _CLEAN_S
