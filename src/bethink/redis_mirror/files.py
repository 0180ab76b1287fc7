"""The files of a Redis keep what was overwritten until it writes them anew. `sharing.service` has it do so.

That they are to be written anew is a record of the store's, made before
anything is overwritten: a process that is killed in between leaves it to the next.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bethink.redis_mirror.client import RefusedByRedis
from bethink.redis_mirror.records import NOBODY, STALE, Stale
from bethink.store import Delete, Put
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.redis_mirror.client import ConversationRedis
    from bethink.store import Store

_EVERY_S = 600.0
_AGAIN_S = 60.0
"""Behind a refusal."""
_FILES = "files"
_LEFT = "Files of Redis may still hold what was deleted, until it writes them anew; it is asked again. {}"
_log = log("sharing")


@dataclass(slots=True)
class RedisFiles:
    """Has them written anew; `left` says for a person why they are not, None where nothing is left."""

    store: Store
    redis: ConversationRedis
    left: str | None = None
    _due: float = field(default=float("-inf"))

    async def overwriting(self, *, is_title: bool = False) -> None:
        """Something is about to be overwritten or removed in Redis.

        Of a title alone that matters once somebody wants no trace left: most get a better one by themselves.
        """
        if not (is_title and await self.are_stale()):
            await self.store.commit(NOBODY, [Put(STALE, Stale(id=_FILES, is_title=is_title))])

    async def are_stale(self) -> bool:
        """Whether they may hold what was overwritten."""
        (found,) = await self.store.get(STALE, NOBODY, [_FILES])
        if found is None:
            self.left = None
        return found is not None

    async def keep(self) -> None:
        """Have them written anew if it is time.

        Raises:
            StorageError: Redis cannot be reached.
        """
        if time.monotonic() < self._due:
            return
        (found,) = await self.store.get(STALE, NOBODY, [_FILES])
        if found is not None and not found.record.is_title:
            await self.rewrite(is_mine=True)

    async def rewrite(self, *, is_mine: bool) -> None:
        """Have them written anew now; `is_mine` where no other process overwrites anything meanwhile.

        Where Redis refuses, or takes long, `left` says so, and they stay to be written.

        Raises:
            StorageError: Redis cannot be reached.
        """
        try:
            await self.redis.rewrite_files()
        except RefusedByRedis as error:
            left = _LEFT.format(error.message)
            if left != self.left:
                _log.warning("%s", left)
            self.left, self._due = left, time.monotonic() + _AGAIN_S
            if not is_mine:
                await self.overwriting()
            return
        self.left, self._due = None, time.monotonic() + _EVERY_S
        if is_mine:
            await self.store.commit(NOBODY, [Delete(STALE, _FILES)])
