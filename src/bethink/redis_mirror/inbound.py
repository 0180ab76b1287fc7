"""What stands in Redis and not in the store: taken over, so that it is listed, read and found like any other.

That is what another program wrote, which knows spec 001's keys alone, and
what Bethink wrote there before its data directory was lost. Called by
`service`, and by `outbound` before it overwrites something.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.conversations.records import (
    CONVERSATIONS,
    MESSAGES,
    NEW_TITLE,
    Conversation,
    StoredMessage,
    appended,
    title_from,
    turn_of,
)
from bethink.engines.redis.connection import WrongKind
from bethink.errors import BadInput, Conflict
from bethink.messages import Message, UserMessage
from bethink.redis_mirror.outbox import (
    CONVERSATION,
    MESSAGE,
    OUTGOING,
    SCHEMA,
    SHARED,
    THIS_SCHEMA,
    OutboxNote,
)
from bethink.redis_mirror.shape import ForeignConversation, is_said_in, read, time_of
from bethink.store import Change, Put, Scan, Versioned, check_text
from bethink.telemetry import log

if TYPE_CHECKING:
    from bethink.conversations.service import Conversations
    from bethink.redis_mirror.client import ConversationRedis

_AT_ONCE = 200
_MAX_ID_CHARS = 200
_LEFT = " (as another program left it)"
_log = log("sharing")


@dataclass(frozen=True, slots=True)
class InboundReader:
    """Takes over what others wrote. `on_taken` hears whose conversations there are more of."""

    conversations: Conversations
    redis: ConversationRedis
    on_taken: Callable[[str], None]
    _strange: set[str] = field(default_factory=set[str])

    async def look(self) -> None:
        """Take over what is listed and not known, and note what another program changed.

        Raises:
            StorageError: Redis or the store cannot be used.
        """
        store = self.conversations.store
        for owner in await self.redis.owners():
            listed = await self.redis.listed(owner)
            every = list(listed)
            for start in range(0, len(every), _AT_ONCE):
                ids = every[start : start + _AT_ONCE]
                held = await store.get(CONVERSATIONS, owner, ids)
                shared = await store.get(SHARED, owner, ids)
                for id, ours, written in zip(ids, held, shared, strict=True):
                    if ours is None:
                        await self._adopt(owner, id, listed[id])
                    elif written is not None and written.record.score != listed[id]:
                        note = OutboxNote(id=self.conversations.new_id(), root=id, whole=True)
                        await store.commit(owner, [Put(OUTGOING, note)])

    async def take_changes(self, owner: str, held: Versioned[Conversation], said: Sequence[Message]) -> None:
        """Take over what another program wrote into a conversation of ours, which says `said` now.

        What it added behind our last message is added here, too. Where both
        went on, theirs becomes a conversation of its own.
        """
        text = await self.redis.value(owner, held.record.id)
        foreign = None if text is None else read(text)
        if foreign is None or is_said_in(foreign.messages, said):
            return
        if is_said_in(said, foreign.messages) and held.record.active_run is None:
            new = foreign.messages[len(said) :]
            await self._add(owner, held, new, at=foreign.updated_at or held.record.updated_at)
        else:
            title = foreign.title or held.record.title
            await self._begin(owner, self.conversations.new_id(), foreign, title=f"{title}{_LEFT}"[-200:])

    async def withdraw(self, owner: str, id: str) -> None:
        """Archive a conversation that another program deleted there; it goes back there once it goes on here.

        Raises:
            Conflict: it is being changed.
        """
        store = self.conversations.store
        (held,) = await store.get(CONVERSATIONS, owner, [id])
        (shared,) = await store.get(SHARED, owner, [id])
        if held is None or shared is None:
            return
        archived = msgspec.structs.replace(held.record, archived=1)
        withdrawn = msgspec.structs.replace(shared.record, withdrawn=True)
        changes = [Put(CONVERSATIONS, archived, held.version), Put(SHARED, withdrawn, shared.version)]
        await store.commit(owner, changes)
        _log.info("the conversation %s was deleted in Redis by another program: archived", id)

    async def _adopt(self, owner: str, id: str, score: float) -> None:
        """Make a conversation that is not known ours."""
        if id in self._strange or not _is_fit(id):
            return
        (noted,) = await self.conversations.store.scan(owner, Scan(OUTGOING, {"root": id}, limit=1))
        if noted.items:
            # It was deleted here a moment ago, and is about to be there.
            return
        try:
            if await self._restore(owner, id):
                return
            text = await self.redis.value(owner, id)
        except WrongKind:
            text = None
        foreign = None if text is None else read(text)
        if foreign is None:
            self._strange.add(id)
            _log.warning(
                "what stands in Redis under %s is no conversation: left alone", self.redis.key(owner, id)
            )
            return
        at = foreign.updated_at or time_of(score)
        timed = msgspec.structs.replace(foreign, updated_at=at)
        await self._begin(owner, id, timed, title=foreign.title)

    async def _begin(self, owner: str, id: str, foreign: ForeignConversation, *, title: str) -> None:
        at = foreign.updated_at or self.conversations.clock.now_us()
        first = next((said for said in foreign.messages if isinstance(said, UserMessage)), None)
        conversation = Conversation(
            id=id,
            title=title or (title_from(first.content) if first else NEW_TITLE),
            titled=True,
            created_at=foreign.created_at or at,
            updated_at=at,
            count=len(foreign.messages),
            # Nobody here saw what its answers rest on.
            outside=True,
        )
        await self._keep(owner, conversation, self._stored(id, foreign.messages, begin=0, at=at))

    async def _restore(self, owner: str, id: str) -> bool:
        """Bring back what Bethink itself wrote, with everything that the shape does not hold."""
        extra = await self.redis.extra(owner, id)
        body = extra.get(CONVERSATION)
        if body is None or extra.get(SCHEMA) != THIS_SCHEMA:
            return False
        try:
            conversation = CONVERSATIONS.decode(body)
            messages = [MESSAGES.decode(text) for name, text in extra.items() if name.startswith(MESSAGE)]
        except msgspec.DecodeError:
            return False
        await self._keep(owner, msgspec.structs.replace(conversation, active_run=None), messages)
        return True

    async def _keep(self, owner: str, conversation: Conversation, messages: Sequence[StoredMessage]) -> None:
        changes: list[Change] = [Put(CONVERSATIONS, conversation, if_version=0)]
        changes += [
            Put(MESSAGES, message, if_version=0, index=turn_of(conversation, message)) for message in messages
        ]
        try:
            await self.conversations.store.commit(owner, changes)
        except (Conflict, BadInput) as error:
            self._strange.add(conversation.id)
            _log.warning("the conversation %s in Redis is left alone: %s", conversation.id, error)
            return
        _log.info("took over the conversation %s from Redis", conversation.id)
        self.on_taken(owner)

    async def _add(
        self, owner: str, held: Versioned[Conversation], said: Sequence[Message], *, at: int
    ) -> None:
        record = held.record
        new = self._stored(record.id, said, begin=record.count, at=at, branch=record.branch)
        now = appended(held.record, new, at=max(at, held.record.updated_at), active_run=None)
        now = msgspec.structs.replace(now, outside=True)
        puts = [Put(MESSAGES, message, if_version=0, index=turn_of(now, message)) for message in new]
        await self.conversations.store.commit(
            owner, [Put(CONVERSATIONS, now, if_version=held.version), *puts]
        )
        self.on_taken(owner)

    def _stored(
        self, id: str, said: Sequence[Message], *, begin: int, at: int, branch: int = 0
    ) -> list[StoredMessage]:
        return [
            StoredMessage(
                id=self.conversations.new_id(),
                conversation=id,
                position=position,
                branch=branch,
                at=at,
                run="",
                message=message,
                untrusted=not isinstance(message, UserMessage),
            )
            for position, message in enumerate(said, begin)
        ]


def _is_fit(id: str) -> bool:
    try:
        check_text(id)
    except BadInput:
        return False
    return 0 < len(id) <= _MAX_ID_CHARS and "/" not in id
