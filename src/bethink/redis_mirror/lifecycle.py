"""A store whose conversations are shared through Redis, and who shares them. `app` opens both."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from bethink.clock import Ids, SystemClock
from bethink.conversations import CONVERSATIONS, MESSAGES
from bethink.redis_mirror.client import ConversationRedis
from bethink.redis_mirror.files import RedisFiles
from bethink.redis_mirror.inbound import Taking
from bethink.redis_mirror.outbound import Writing
from bethink.redis_mirror.outbox import EVERYTHING, OUTGOING, Outgoing, OutgoingStore
from bethink.redis_mirror.records import HOMES, NOBODY
from bethink.redis_mirror.service import Sharing
from bethink.store import DeleteAll, Put
from bethink.store.reading import owners_of

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bethink.bus import Bus
    from bethink.conversations import Conversations
    from bethink.redis_mirror.outbound import Acting
    from bethink.settings import Settings
    from bethink.store import Store
    from bethink.supervision import Supervise

FOLLOWED = {CONVERSATIONS.name: "id", MESSAGES.name: "conversation"}
_MOST_NOTES = 1_000
"""Kept one by one while Redis is switched off; more are one note, that everything is to be written anew."""


@asynccontextmanager
async def open_shared_store(settings: Settings, store: Store) -> AsyncGenerator[Store]:
    """The store with notes of what Redis must hear of; as it is where none was ever set.

    Raises:
        StorageError: the address is none.
        NotInstalled: the package is missing.
    """
    new_id = Ids(SystemClock())
    if settings.redis_url is None:
        (home,) = await store.get(HOMES, NOBODY, ["home"])
        if home is not None:
            # Redis is off for now, or for this process alone: it shall not miss what is said meanwhile.
            await _shorten(store, new_id)
            store = OutgoingStore(store, FOLLOWED, new_id)
        yield store
        return
    url = settings.redis_url.get_secret_value()
    redis = await anyio.to_thread.run_sync(lambda: _redis(url, settings))
    try:
        yield OutgoingStore(store, FOLLOWED, new_id, redis=redis)
    finally:
        with anyio.CancelScope(shield=True):
            await redis.close()


def _redis(url: str, settings: Settings) -> ConversationRedis:
    return ConversationRedis(url, plain_owner=settings.redis_owner, timeout_s=settings.redis_timeout_s)


async def _shorten(store: Store, new_id: Callable[[], str]) -> None:
    async for owner in owners_of(store, OUTGOING):
        if await store.count(owner, OUTGOING, {}) > _MOST_NOTES:
            everything = Outgoing(id=new_id(), root=EVERYTHING, whole=True)
            await store.commit(owner, [DeleteAll(OUTGOING), Put(OUTGOING, everything)])


def sharing_of(
    conversations: Conversations,
    bus: Bus,
    *,
    acting: Acting,
    on_taken: Callable[[str], None],
) -> Sharing | None:
    """Who shares the conversations of this store; None without a Redis."""
    store = conversations.store
    if not isinstance(store, OutgoingStore) or store.redis is None:
        return None
    redis = store.redis
    taking = Taking(conversations, redis, on_taken)
    files = RedisFiles(store, redis)
    writing = Writing(conversations, redis, taking, acting, files)
    sharing = Sharing(store, redis, bus, writing, taking, files, conversations.new_id)
    store.watched_by(sharing)
    return sharing


@asynccontextmanager
async def sharing(of: Sharing | None, supervise: Supervise) -> AsyncGenerator[None]:
    """Redis is kept up to date within the block, and once more at its end."""
    async with anyio.create_task_group() as tasks:
        if of is not None:
            tasks.start_soon(supervise, "conversations in Redis", of.keep)
        try:
            yield
        finally:
            if of is not None:
                await of.close()
            tasks.cancel_scope.cancel()
