"""One conversation, from the store to Redis. `service` calls it for what the store noted.

The files of Redis keep what was overwritten until it writes them anew. That this is due is a record of the
store, made before anything is overwritten: a process that is killed in between leaves it to the next.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations.records import CONVERSATIONS, MESSAGES, Conversation, StoredMessage
from bethink.engines.redis.connection import RefusedByRedis
from bethink.redis_mirror.client import ConversationRedis, Fingerprint, ListingEntry
from bethink.redis_mirror.outbox import (
    CONVERSATION,
    MESSAGE,
    NOBODY,
    SCHEMA,
    SHARED,
    STALE,
    THIS_SCHEMA,
    WRITTEN,
    StaleFiles,
    WrittenConversation,
)
from bethink.redis_mirror.shape import read, score_of, value_of
from bethink.store import Change, Delete, Put, Scan, Store, Versioned, records_of
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.conversations.service import Conversations
    from bethink.principal import OnBehalfOf
    from bethink.redis_mirror.inbound import InboundReader
    from bethink.redis_mirror.outbox import OutboxNote

_EVERY_S = 600.0
_AGAIN_S = 60.0
"""Behind a refusal."""
_FILES = "files"
_LEFT = "Files of Redis may still contain deleted text until Redis rewrites them; it is asked again. {}"
_log = log("sharing")
_PAGE = 200


@dataclass(frozen=True, slots=True)
class OutboundWriter:
    """Writes conversations; `files` hear of it before something is overwritten there."""

    conversations: Conversations
    redis: ConversationRedis
    reader: InboundReader
    acting: OnBehalfOf
    files: RedisFiles

    async def write(self, owner: str, root: str, notes: Sequence[OutboxNote]) -> None:
        """Bring Redis to what the store has of a conversation.

        What has only grown costs what is new, however long it is.

        Raises:
            StorageError: Redis or the store cannot be used; nothing was noted as written.
            Conflict: another process wrote it at the same time.
            UnknownId: it is being deleted.
        """
        store = self.conversations.store
        (held,) = await store.get(CONVERSATIONS, owner, [root])
        (shared,) = await store.get(SHARED, owner, [root])
        if held is None or not is_shared(held.record):
            await self._remove(owner, root)
            await store.commit(owner, [] if shared is None else [Delete(SHARED, root)])
            return
        if shared is not None and shared.record.withdrawn and held.record.archived:
            # Another program deleted it; it stays out unless one of the two has gone on with it since.
            is_left = score_of(held.record) == shared.record.score
            if is_left and await self.redis.value(owner, root) is None:
                await self._remove(owner, root)
                return
        if shared is not None and not any(note.whole for note in notes):
            grown = await self._grow(owner, held.record, shared, notes=notes)
            if grown is not None:
                await store.commit(owner, [grown])
                return
        await store.commit(owner, [await self._replace(owner, held, shared)])

    async def _remove(self, owner: str, root: str) -> None:
        await self.files.overwriting()
        await self.redis.remove(owner, root)

    async def _grow(
        self,
        owner: str,
        held: Conversation,
        shared: Versioned[WrittenConversation],
        *,
        notes: Sequence[OutboxNote],
    ) -> Change | None:
        """Append what is new; None if that is not all that changed."""
        last = shared.record.last
        fresh, is_behind = await self._line(owner, held, until=last)
        if last is not None and not is_behind:
            return None
        touched = dict.fromkeys(id for note in notes for id in (*note.added, *note.changed))
        known = {message.id: message for message in fresh}
        earlier = [id for id in touched if id not in known]
        kept = await self._kept(owner, earlier)
        if not await self._are_the_same(
            owner, held.id, kept, added={id for note in notes for id in note.added}
        ):
            return None
        before = shared.record.length - shared.record.head - shared.record.tail
        value = value_of(held, fresh, follows=before > 0)
        written = value.fingerprint(before)
        entry = ListingEntry(held.id, score_of(held), _extra(held, [*fresh, *kept], written))
        if written.head_sha1 != shared.record.head_sha1:
            await self.files.overwriting(is_title=True)
        if not await self.redis.append(owner, entry, value, was=shared.record.fingerprint):
            return None
        return _put(entry, written, shared, last=fresh[-1].id if fresh else last)

    async def _kept(self, owner: str, ids: Sequence[str]) -> list[StoredMessage]:
        found = await self.conversations.store.get(MESSAGES, owner, ids)
        return [each.record for each in found if each is not None]

    async def _are_the_same(
        self, owner: str, root: str, messages: Sequence[StoredMessage], *, added: set[str]
    ) -> bool:
        """Whether messages that are not behind the last one read as they did, or stand on another line."""
        changed = [message for message in messages if message.id not in added]
        if not changed:
            return True
        before = await self.redis.fields(owner, root, [f"{MESSAGE}{message.id}" for message in changed])
        return all(
            body is not None and MESSAGES.decode(body).message == message.message
            for body, message in zip(before, changed, strict=True)
        )

    async def _replace(
        self, owner: str, held: Versioned[Conversation], shared: Versioned[WrittenConversation] | None
    ) -> Change:
        """Write it anew, behind what another program wrote there."""
        record = held.record
        line, _ = await self._line(owner, record, until=None)
        there = await self.redis.value(owner, record.id)
        foreign = None
        if there is not None:
            if shared is None or not await self._is_ours(owner, shared.record, there):
                await self.reader.take_changes(owner, held, [stored.message for stored in line])
            foreign = read(there)
            await self.files.overwriting()
        value = value_of(record, line, lead=foreign.lead if foreign else ())
        written = value.fingerprint()
        scan = Scan(MESSAGES, {"conversation": record.id}, limit=_PAGE)
        every = [stored async for stored in records_of(self.conversations.store, owner, scan)]
        extra = _extra(record, every, written)
        entry = ListingEntry(record.id, score_of(record), extra)
        await self.redis.replace(owner, entry, value)
        return _put(entry, written, shared, last=line[-1].id if line else None)

    async def _is_ours(self, owner: str, shared: WrittenConversation, there: bytes) -> bool:
        """Whether no other program wrote what is there.

        A write of ours may have reached Redis and not been remembered here: then
        its fingerprint lies beside it, and all that it says is known here. (Of
        what is not, the data directory is an earlier one: it is taken over.)
        """
        if shared.fingerprint.fits(there):
            return True
        extra = await self.redis.extra(owner, shared.id)
        written = extra.get(WRITTEN)
        if written is None or not msgspec.json.decode(written, type=Fingerprint).fits(there):
            return False
        ids = [name.removeprefix(MESSAGE) for name in extra if name.startswith(MESSAGE)]
        return len(await self._kept(owner, ids)) == len(ids)

    async def _line(
        self, owner: str, held: Conversation, *, until: str | None
    ) -> tuple[list[StoredMessage], bool]:
        """The active line's messages behind `until`, oldest first, and whether that one was met."""
        found: list[StoredMessage] = []
        cursor: str | None = None
        while True:
            page = await self.conversations.messages(
                self.acting(owner, audience="redis"), held, limit=_PAGE, before=cursor
            )
            for item in page.items:
                if item.record.id == until:
                    return found[::-1], True
                found.append(item.record)
            if (cursor := page.cursor) is None:
                return found[::-1], False


def is_shared(conversation: Conversation) -> bool:
    """Whether other programs are to find it."""
    return not conversation.temporary


def _extra(
    held: Conversation, messages: Sequence[StoredMessage], written: Fingerprint
) -> dict[str, bytes | None]:
    fields: dict[str, bytes | None] = {
        SCHEMA: THIS_SCHEMA,
        CONVERSATION: CONVERSATIONS.encode(held),
        WRITTEN: msgspec.json.encode(written),
    }
    return fields | {f"{MESSAGE}{message.id}": MESSAGES.encode(message) for message in messages}


def _put(
    entry: ListingEntry,
    fingerprint: Fingerprint,
    shared: Versioned[WrittenConversation] | None,
    *,
    last: str | None,
) -> Put[WrittenConversation]:
    record = WrittenConversation(id=entry.id, score=entry.score, last=last, **asdict(fingerprint))
    return Put(SHARED, record, if_version=0 if shared is None else shared.version)


@dataclass(slots=True)
class RedisFiles:
    """Has them written anew; `left` says for a person why they are not, None if nothing is left."""

    store: Store
    redis: ConversationRedis
    left: str | None = None
    _due: float = field(default=float("-inf"))

    async def overwriting(self, *, is_title: bool = False) -> None:
        """Something is about to be overwritten or removed in Redis.

        Of a title alone that matters once somebody wants no trace left: most get a better one by themselves.
        """
        if not (is_title and await self.are_stale()):
            await self.store.commit(NOBODY, [Put(STALE, StaleFiles(id=_FILES, is_title=is_title))])

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
