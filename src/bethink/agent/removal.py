"""Removes what is kept for a time only, and all that an owner has (`bethink users remove --with-data`).

Forgetting takes out what says something; removing an owner takes everything, whatever it says:
records with what they are found by, files, the vault's folder, copies in Redis.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.agent.history_match import HistoryMatch
from bethink.conversations import CONVERSATIONS
from bethink.errors import Busy, StorageError, UnknownId
from bethink.redis_mirror.outbox import SHARED
from bethink.store import Delete, DeleteAll, Scan, records_of
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.agent.runs import Runs
    from bethink.feature import Features
    from bethink.principal import Principal
    from bethink.recall.passages import Passages
    from bethink.sandbox.interpreters import Interpreters
    from bethink.secrets_at_rest import SecretBox
    from bethink.store import Change, Store
    from bethink.vault import Vault


_STEPS = 1_000
"""Commits at once at most, each of some records; what is left then goes in the next hour."""


_log = log("removal")


@dataclass(frozen=True, slots=True)
class TemporaryExpiry:
    """Removes what is kept for a time only."""

    runs: Runs
    keeper: SecretBox

    async def __call__(self, principal: Principal) -> int:
        """Remove the owner's temporary conversations that have not changed for a day; how many.

        Events of runs, uses of tools and requests that nobody repeats any more are let go, too.
        """
        runs = self.runs
        for _ in range(_STEPS):
            if not await runs.purge(principal):
                break
        await HistoryMatch(runs.conversations, self.keeper).purge(principal)
        count = 0
        for conversation in await runs.conversations.passed(principal):
            try:
                await runs.delete_conversation(principal, conversation)
                count += 1
            except (Busy, UnknownId) as error:
                _log.info("a temporary conversation is not removed now: %s", error)
        return count


_ROUNDS: Final = 5
_SETTLE_S: Final = 0.5
"""Between rounds: another process may be about to end a run, or to look into the vault's folder."""
_PAGE: Final = 500
_NOT_REACHED: Final = "Copies of conversations in Redis: it is not set here now, so they are still there."
_NO_FOLDER: Final = "The vault's folder {}: it lies elsewhere, so its files were left as they are."
_KEPT_ON: Final = "Something of the owner's was still being written: stop the server, and do this again."


class RemovedOwner(msgspec.Struct, frozen=True, kw_only=True):
    """What is gone, by counts; it quotes nothing. `left` says what could not be reached."""

    owner: str
    counts: dict[str, int]
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OwnerRemoval:
    """Erases what owners have; `data_dir` is where this Bethink keeps all that is its own."""

    runs: Runs
    features: Features
    vault: Vault
    passages: Passages
    interpreters: Interpreters | None
    data_dir: Path
    shares: bool = False
    settle_s: float = field(default=_SETTLE_S)

    async def counted(self, owner: str) -> dict[str, int]:
        """How many records of each kind that people know of there are."""
        return {name: await self._store.count(owner, one, {}) for name, one in self.features.counted.items()}

    async def erase(self, principal: Principal) -> RemovedOwner:
        """Erase everything; whoever acts for the owner must have been kept out before.

        Cut short, it is done again from the start.

        Raises:
            Busy: a run of the owner's, in another process, does not stop.
            StorageError: something was still written, or a file or Redis cannot be reached.
        """
        owner = principal.owner
        counts = await self.counted(owner)
        left = [_NOT_REACHED] if not self.shares and await self._store.count(owner, SHARED, {}) else []
        left += await self._erase_folder(owner)
        for _ in range(_ROUNDS):
            await self._erase_records(principal)
            await self.features.clean(owner)
            await anyio.sleep(self.settle_s)
            if not await self._has_any(owner):
                break
        else:
            raise StorageError(_KEPT_ON)
        self.passages.forget(owner)
        if self.interpreters is not None:
            await self.interpreters.wipe(owner)
        return RemovedOwner(owner=owner, counts=counts, left=(*left, *await self._store.scrub()))

    @property
    def _store(self) -> Store:
        return self.runs.conversations.store

    async def _erase_records(self, principal: Principal) -> None:
        ids: list[str] = []
        async for held in records_of(self._store, principal.owner, Scan(CONVERSATIONS, limit=_PAGE)):
            if held.active_run is not None:
                await self.runs.delete_conversation(principal, held.id)
            else:
                ids.append(held.id)
        # By their ids, so that what copies them elsewhere hears of each.
        changes: list[Change] = [Delete(CONVERSATIONS, id) for id in ids]
        changes += [DeleteAll(one) for one in self.features.collections if one is not CONVERSATIONS]
        await self._store.commit(principal.owner, changes)

    async def _has_any(self, owner: str) -> bool:
        counts = [await self._store.count(owner, one, {}) for one in self.features.collections]
        return any(counts)

    async def _erase_folder(self, owner: str) -> list[str]:
        """Remove the vault's folder, before its records: nobody takes in again what is gone."""
        root = self.vault.root(owner)
        try:
            is_ours = await anyio.to_thread.run_sync(_removed, root, self.data_dir)
        except OSError as error:
            message = f"The folder {root} could not be removed: {error.strerror}."
            raise StorageError(message) from error
        return [] if is_ours else [_NO_FOLDER.format(root)]


def _removed(root: Path, data_dir: Path) -> bool:
    """Remove a folder with all that is in it; False for one that lies outside of the data directory."""
    if not root.exists():
        return True
    if not root.resolve().is_relative_to(data_dir.resolve()):
        return False
    shutil.rmtree(root)
    return True
