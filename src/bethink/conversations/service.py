"""The few ways to change and to read conversations. Doors and `agent` call them for one principal."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.conversations.entries import NewTurn, conversation_id_of
from bethink.conversations.records import (
    ARCHIVED,
    CONVERSATIONS,
    KIND,
    LISTED,
    LOOKUP_KIND,
    MESSAGES,
    NEW_TITLE,
    SIGHTINGS,
    TRASHED,
    Conversation,
    Spending,
    StoredMessage,
    appended,
    checked_system,
    checked_title,
    continued,
    is_on_line,
    line,
    speaker_of,
    switched,
    turn_of,
)
from bethink.errors import BadInput, Busy, Conflict, UnknownId
from bethink.feature import Feature, OpenFeature, Recallable, RecallKind, RetentionRule, Surroundings
from bethink.messages import AssistantMessage, UserMessage
from bethink.store import Put, RecordPage, Scan, Versioned, items_of, pages_of, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock, Ids
    from bethink.events import Usage
    from bethink.principal import Principal
    from bethink.settings import Settings
    from bethink.store import Key, Store


_IMPORTANCE = 0.5
"""As much as a fact of which nobody said how much it matters."""


def _open(at: Surroundings) -> OpenFeature:
    async def resolve(principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        return [said and recallable_of(said) for said in await conversations.recallable(principal, ids)]

    conversations = Conversations(at.store, at.clock, at.new_id, at.bus)
    return OpenFeature(
        service=conversations,
        recall=[RecallKind(name=KIND, resolve=resolve, lookups=LOOKUP_KIND)],
        retention=_retention(conversations, at.settings),
    )


def _retention(conversations: Conversations, settings: Settings) -> list[RetentionRule]:
    above = settings.conversations_archive_above
    if above is None:
        return []

    async def archive(principal: Principal) -> int:
        days = settings.conversations_archive_days
        return await conversations.archive_old(principal, above=above, days=days)

    return [RetentionRule(of=(CONVERSATIONS,), log="old conversations are archived", drop=archive)]


FEATURE = Feature(
    name="conversations",
    open=_open,
    collections=(CONVERSATIONS, MESSAGES, SIGHTINGS),
    counted={"conversations": ("conversation", CONVERSATIONS), "messages": ("message", MESSAGES)},
    sources={"conversation": CONVERSATIONS},
    routes=("bethink.web.conversations",),
    commands="bethink.cli.conversations",
    mcp_summary=(
        "A memory of conversations that other programs hold: store each turn, retrieve what was said before."
    ),
    mcp_on_request=True,
)


def recallable_of(said: StoredMessage) -> Recallable:
    """What recall shows of a message."""
    return Recallable(
        text=said.message.content,
        at=said.at,
        importance=_IMPORTANCE,
        source=f"conversation:{said.conversation}#{said.id}",
        conversation=said.conversation,
        speaker=speaker_of(said),
        position=said.position,
        untrusted=said.untrusted,
    )


def charged(held: Conversation, usage: Iterable[Usage]) -> Conversation:
    """The record with these requests added to its sums."""
    sums = {one.job: one for one in held.spent}
    for used in usage:
        one = sums.get(used.job) or Spending(job=used.job)
        cost = used.cost_usd
        sums[used.job] = msgspec.structs.replace(
            one,
            requests=one.requests + 1,
            input_tokens=one.input_tokens + used.input_tokens,
            output_tokens=one.output_tokens + used.output_tokens,
            cost_usd=one.cost_usd if cost is None else (one.cost_usd or 0.0) + cost,
            estimated=one.estimated or used.estimated,
        )
    return msgspec.structs.replace(held, spent=tuple(sums.values()))


_DAY_US = 86_400 * 1_000_000
_ARCHIVED_TOGETHER = 200
"""Conversations of one commit."""
TEMPORARY_US = _DAY_US
"""How long a temporary conversation is kept after its last change: a day."""
TRASH_DAYS = 30
"""How long a conversation stays in the trash."""
_TRASH_LOOKED_AT = 1_000
_REINDEXED_TOGETHER = 200
"""Messages of one commit."""
CHANGED = "conversations.changed"
"""Of the bus: an owner and a conversation."""
_POSITION_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PastMessage:
    """A message of a conversation that took place elsewhere. `at` is microseconds UTC.

    `speaker` is a person's name, or None for the owner and the assistant.
    """

    text: str
    at: int
    role: Literal["user", "assistant"] = "user"
    speaker: str | None = None


class ConversationStart(msgspec.Struct, frozen=True, kw_only=True):
    """What a conversation begins with. `model` is `provider:name`; the settings' own if it is None.

    `caller_id` is what another program calls it: from that its id is made.
    """

    title: str | None = None
    project: str | None = None
    model: str | None = None
    system: str = ""
    temporary: bool = False
    caller_id: str | None = None


class ConversationEdit(msgspec.Struct, frozen=True, kw_only=True):
    """What changes of a conversation's record; what is UNSET stays. A `branch` is made the active one."""

    title: str | msgspec.UnsetType = msgspec.UNSET
    archived: bool | msgspec.UnsetType = msgspec.UNSET
    project: str | msgspec.UnsetType | None = msgspec.UNSET
    model: str | msgspec.UnsetType | None = msgspec.UNSET
    system: str | msgspec.UnsetType = msgspec.UNSET
    branch: int | msgspec.UnsetType = msgspec.UNSET
    pinned: bool | msgspec.UnsetType = msgspec.UNSET
    unread: bool | msgspec.UnsetType = msgspec.UNSET
    trashed: bool | msgspec.UnsetType = msgspec.UNSET

    def of(self, held: Conversation, *, now: int) -> Conversation:
        """The record, changed at a time.

        Raises:
            BadInput: the title or the system prompt is not fit.
            UnknownId: there is no such branch.
            Busy: another branch is asked for while it is being answered.
        """
        given = msgspec.structs.asdict(self)
        changes = {name: value for name, value in given.items() if value is not msgspec.UNSET}
        branch = changes.pop("branch", held.branch)
        if "title" in changes:
            changes |= {"title": checked_title(changes["title"]), "titled": True, "named_by": "person"}
        if "archived" in changes:
            changes |= {"archived": ARCHIVED if changes["archived"] else LISTED, "trashed_at": 0}
        if (trashed := changes.pop("trashed", None)) and held.archived != TRASHED:
            changes |= {"archived": TRASHED, "trashed_at": now, "pinned": 0}
        elif trashed is False and held.archived == TRASHED:
            changes |= {"archived": changes.get("archived", LISTED), "trashed_at": 0}
        if "pinned" in changes:
            changes["pinned"] = int(changes["pinned"])
        if "system" in changes:
            changes["system"] = checked_system(changes["system"])
        if branch != held.branch:
            if held.active_run is not None:
                raise Busy
            held = switched(held, branch)
        return msgspec.structs.replace(held, **changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationFilter:
    """Which conversations are listed: those of one place, of one `project`, pinned or not; None is any."""

    place: Literal["list", "archive", "trash"] = "list"
    project: str | None = None
    pinned: bool | None = None

    @property
    def where(self) -> dict[str, Key]:
        """The keys of their records."""
        place = {"list": LISTED, "archive": ARCHIVED, "trash": TRASHED}[self.place]
        where: dict[str, Key] = {"temporary": 0, "archived": place}
        if self.project is not None:
            where["project"] = self.project
        return where if self.pinned is None else where | {"pinned": int(self.pinned)}


IN_LIST = ConversationFilter()


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of all owners; every call acts for one principal."""

    store: Store
    clock: Clock
    new_id: Ids
    bus: Bus

    async def create(
        self,
        principal: Principal,
        start: ConversationStart = ConversationStart(),  # noqa: B008 - it is frozen
    ) -> Conversation:
        """A new, empty conversation with all that it may begin with.

        Raises:
            BadInput: the title is empty or longer than 200 characters, or the system prompt too long.
            Conflict: the program that calls it `caller_id` has one of that name.
        """
        now, title = self.clock.now_us(), start.title
        conversation = Conversation(
            id=self.new_id() if start.caller_id is None else conversation_id_of(start.caller_id),
            caller_id=start.caller_id,
            title=NEW_TITLE if title is None else checked_title(title),
            titled=title is not None,
            named_by="" if title is None else "person",
            created_at=now,
            updated_at=now,
            project=start.project,
            model=start.model,
            system=checked_system(start.system),
            temporary=int(start.temporary),
        )
        await self.store.commit(principal.owner, [Put(CONVERSATIONS, conversation, if_version=0)])
        await self.announce(principal.owner, conversation.id)
        return conversation

    async def announce(self, owner: str, conversation: str) -> None:
        """Tell who follows the owner's conversations that this one has changed, or is gone."""
        await self.bus.publish(CHANGED, f"{owner} {conversation}")

    async def follow(self, principal: Principal) -> AsyncGenerator[list[str]]:
        """The ids of conversations as they change: first none, once changes are heard.

        It ends when some may have been missed.
        """
        async with self.bus.subscribe(CHANGED) as news:
            yield []
            async for one in news:
                owner, _, conversation = (one.payload or "").rpartition(" ")
                if one.payload is None:
                    return
                if owner == principal.owner:
                    yield [conversation]

    async def list(
        self,
        principal: Principal,
        wanted: ConversationFilter = IN_LIST,
        *,
        limit: int = 50,
        cursor: str | None = None,
    ) -> RecordPage[Conversation]:
        """One page of conversations, the last changed first."""
        scan = Scan(
            CONVERSATIONS, where=wanted.where, order="updated_at", reverse=True, limit=limit, after=cursor
        )
        return (await self.store.scan(principal.owner, scan))[0]

    async def count(self, principal: Principal, wanted: ConversationFilter = IN_LIST) -> int:
        """How many `list` lists."""
        return await self.store.count(principal.owner, CONVERSATIONS, wanted.where)

    async def those(self, principal: Principal, ids: Sequence[str]) -> Sequence[Versioned[Conversation]]:
        """The conversations with these ids that are there."""
        found = await self.store.get(CONVERSATIONS, principal.owner, list(ids))
        return [one for one in found if one is not None]

    async def get(self, principal: Principal, conversation: str) -> Versioned[Conversation]:
        """The conversation with its version.

        Raises:
            UnknownId: this owner has none with that id.
        """
        (found,) = await self.store.get(CONVERSATIONS, principal.owner, [conversation])
        if found is None:
            raise UnknownId("Conversation not found: it may have been deleted.")
        return found

    async def passed(self, principal: Principal) -> Sequence[str]:
        """Temporary conversations whose time is over, at most 100, and those long enough in the trash."""
        now = self.clock.now_us()
        scan = Scan(CONVERSATIONS, {"temporary": 1}, order="updated_at", low=0, high=now - TEMPORARY_US)
        in_trash = ConversationFilter(place="trash").where
        trash = Scan(CONVERSATIONS, in_trash, order="updated_at", limit=_TRASH_LOOKED_AT)
        temporary, trashed = await self.store.scan(principal.owner, scan, trash)
        until = now - TRASH_DAYS * _DAY_US
        over = [item.record.id for item in trashed.items if item.record.trashed_at <= until]
        return [*(item.record.id for item in temporary.items), *over]

    async def outdated(self, principal: Principal, *, days: int) -> Sequence[Conversation]:
        """Conversations in which nothing was said for so many days, the oldest first; no pinned ones."""
        high = self.clock.now_us() - days * _DAY_US
        scan = Scan(CONVERSATIONS, {"temporary": 0}, order="updated_at", high=high)
        old = records_of(self.store, principal.owner, scan)
        return [one async for one in old if not one.pinned]

    async def has(self, principal: Principal, conversation: str) -> bool:
        """Whether the owner has it."""
        (found,) = await self.store.get(CONVERSATIONS, principal.owner, [conversation])
        return found is not None

    async def messages(
        self,
        principal: Principal,
        conversation: str | Conversation,
        *,
        limit: int = 50,
        before: str | None = None,
    ) -> RecordPage[StoredMessage]:
        """The newest messages of the active line, newest first; `before` is the cursor of the newer page.

        Raises:
            UnknownId: this owner has no such conversation.
            BadInput: `before` is no cursor.
        """
        if isinstance(conversation, str):
            conversation = (await self.get(principal, conversation)).record
        position = None if before is None else _position(before)
        return await self.line(principal, conversation, limit=limit, before=position)

    async def line(
        self,
        principal: Principal,
        held: Conversation,
        *,
        limit: int,
        before: int | None,
        branch: int | None = None,
    ) -> RecordPage[StoredMessage]:
        """The last messages before a position on a line, newest first; on the active one by default."""
        items: list[Versioned[StoredMessage]] = []
        for stretch in line(held, branch):
            end = stretch.end if before is None else min(before, stretch.end)
            if end <= stretch.start:
                continue
            where: dict[str, Key] = {"conversation": held.id, "branch": stretch.branch}
            some = Scan(
                MESSAGES, where, "position", stretch.start, end, reverse=True, limit=limit - len(items)
            )
            items += (await self.store.scan(principal.owner, some))[0].items
            if len(items) == limit:
                break
        first = items[-1].record.position if items else 0
        return RecordPage(tuple(items), str(first) if first and len(items) == limit else None)

    async def said(self, principal: Principal, ids: Sequence[str]) -> Sequence[StoredMessage | None]:
        """The messages with these ids, in their order, None if there is none."""
        found = await self.store.get(MESSAGES, principal.owner, ids)
        return [message and message.record for message in found]

    async def recallable(self, principal: Principal, ids: Sequence[str]) -> Sequence[StoredMessage | None]:
        """As `said`, but None also for what its owner took back by an edit, or out of recall."""
        found = await self.said(principal, ids)
        places = list({stored.conversation for stored in found if stored is not None})
        held = await self.store.get(CONVERSATIONS, principal.owner, places)
        by_id = {one.record.id: one.record for one in held if one is not None}
        return [
            stored
            if stored is not None
            and not stored.withdrawn
            and (place := by_id.get(stored.conversation)) is not None
            and place.archived != TRASHED
            and is_on_line(place, stored)
            else None
            for stored in found
        ]

    async def take_over(
        self, principal: Principal, conversation: str, said: Sequence[PastMessage]
    ) -> Sequence[str]:
        """Add what was said elsewhere behind the last message, recallable at once; the messages' ids.

        Raises:
            UnknownId: this owner has no such conversation.
            Conflict: something else was said in it meanwhile.
        """
        held = await self.get(principal, conversation)
        at = self.clock.now_us()
        messages = [
            StoredMessage(
                id=self.new_id(),
                conversation=conversation,
                position=position,
                branch=held.record.branch,
                at=one.at,
                run="",
                message=UserMessage(one.text) if one.role == "user" else AssistantMessage(one.text),
                speaker=one.speaker,
            )
            for position, one in enumerate(said, held.record.count)
        ]
        await self._append(principal, held.record, messages, version=held.version, at=at)
        return [message.id for message in messages]

    async def called(self, principal: Principal, caller_id: str) -> Versioned[Conversation] | None:
        """The conversation with this id, or to which the program that stores its turns gives it."""
        ids = [caller_id, conversation_id_of(caller_id)]
        found = await self.store.get(CONVERSATIONS, principal.owner, ids)
        return next((one for one in found if one is not None), None)

    @retry_conflicts
    async def store_turn(self, principal: Principal, turn: NewTurn) -> StoredMessage:
        """Keep a turn that took place elsewhere, behind the last one; the message that begins it.

        A conversation that is not here begins with it, and one that was archived goes on.

        Raises:
            BadInput: it is a temporary conversation, of which nothing is remembered.
            Busy: a run is answering in it.
        """
        now = self.clock.now_us()
        found = await self.called(principal, turn.conversation_id)
        held = found.record if found else self._called_so(principal, turn.conversation_id, now)
        if held.temporary:
            raise BadInput("conversation_id names a temporary conversation, of which nothing is remembered.")
        if held.active_run is not None:
            raise Busy
        said = (UserMessage(turn.user_message), AssistantMessage(turn.assistant_message))
        messages = [
            StoredMessage(
                id=self.new_id(),
                conversation=held.id,
                position=position,
                branch=held.branch,
                at=now,
                run="",
                message=message,
                metadata=turn.metadata,
            )
            for position, message in enumerate(said, held.count)
        ]
        listed = msgspec.structs.replace(held, archived=0)
        await self._append(principal, listed, messages, version=found.version if found else 0, at=now)
        return messages[0]

    async def _append(
        self,
        principal: Principal,
        held: Conversation,
        messages: Sequence[StoredMessage],
        *,
        version: int,
        at: int,
    ) -> None:
        now = appended(held, messages, at=at, active_run=held.active_run)
        puts = [Put(MESSAGES, one, if_version=0, index=turn_of(now, one)) for one in messages]
        await self.store.commit(principal.owner, [Put(CONVERSATIONS, now, if_version=version), *puts])

    def _called_so(self, principal: Principal, caller_id: str, now: int) -> Conversation:
        return Conversation(
            id=conversation_id_of(caller_id),
            title=NEW_TITLE,
            created_at=now,
            updated_at=now,
            origin=principal.door.partition(":")[2],
            caller_id=caller_id,
        )

    async def archive_old(self, principal: Principal, *, above: int, days: int) -> int:
        """Archive conversations in which nothing was said for so long, if there are more turns than `above`.

        How many those were. A turn counts as two messages.
        """
        if await self.store.count(principal.owner, MESSAGES, {}) <= 2 * above:
            return 0
        where, high = {"temporary": 0, "archived": 0}, self.clock.now_us() - days * _DAY_US
        scan = Scan(CONVERSATIONS, where, order="updated_at", high=high, limit=_ARCHIVED_TOGETHER)
        count = 0
        async for page in pages_of(self.store, principal.owner, scan):
            old = [item for item in page if item.record.active_run is None]
            archived = [msgspec.structs.replace(item.record, archived=1) for item in old]
            puts = [Put(CONVERSATIONS, now, item.version) for now, item in zip(archived, old, strict=True)]
            with suppress(Conflict):  # somebody goes on in one of them: the next hour does the rest
                await self.store.commit(principal.owner, puts)
                count += len(puts)
        return count

    async def edit(self, principal: Principal, conversation: str, edit: ConversationEdit) -> Conversation:
        """Change what belongs to the record.

        Raises:
            UnknownId: this owner has none with that id, or it has no such branch.
            BadInput: the title or the system prompt is not fit.
            Busy: another branch is asked for while it is being answered.
            Conflict: others keep changing it.
        """
        now = self.clock.now_us()
        held = await self._changed(principal, conversation, lambda held: edit.of(held, now=now))
        if edit.project is not msgspec.UNSET:
            await self._index_anew(principal, held)
        return held

    async def leave_project(self, principal: Principal, project: str) -> None:
        """Have all conversations of a project belong to none."""
        held = items_of(self.store, principal.owner, Scan(CONVERSATIONS))
        inside = [one.record.id async for one in held if one.record.project == project]
        for conversation in inside:
            with suppress(UnknownId):
                await self.edit(principal, conversation, ConversationEdit(project=None))

    async def _index_anew(self, principal: Principal, held: Conversation) -> None:
        """Have what was said be found in the conversation's present project."""
        said = items_of(
            self.store, principal.owner, Scan(MESSAGES, {"conversation": held.id}, order="position")
        )
        changes = [
            Put(MESSAGES, one.record, one.version, index)
            async for one in said
            if (index := turn_of(held, one.record)) is not None
        ]
        for start in range(0, len(changes), _REINDEXED_TOGETHER):
            with suppress(Conflict):  # what is written meanwhile is indexed by who writes it
                await self.store.commit(principal.owner, changes[start : start + _REINDEXED_TOGETHER])

    async def part(self, principal: Principal, conversation: str, message: str) -> Conversation:
        """Go on behind a message, on a branch of its own unless it is the last one of its branch.

        Raises:
            UnknownId: this owner has no such conversation, or it has no such message.
            BadInput: it has too many branches.
            Busy: it is being answered.
            Conflict: others keep changing it.
        """
        stored = await self.message(principal, conversation, message)

        def parted(held: Conversation) -> Conversation:
            if held.active_run is not None:
                raise Busy
            return continued(held, stored)

        return await self._changed(principal, conversation, parted)

    async def message(self, principal: Principal, conversation: str, message: str) -> StoredMessage:
        """A message of the conversation, on whichever branch.

        Raises:
            UnknownId: it has none with that id.
        """
        (stored,) = await self.said(principal, [message])
        if stored is None or stored.conversation != conversation or stored.branch < 0:
            text = "Message not found in this conversation: it may have been deleted."
            raise UnknownId(text)
        return stored

    @retry_conflicts
    async def _changed(
        self, principal: Principal, conversation: str, change: Callable[[Conversation], Conversation]
    ) -> Conversation:
        found = await self.get(principal, conversation)
        changed = change(found.record)
        if changed != found.record:
            await self.store.commit(principal.owner, [Put(CONVERSATIONS, changed, if_version=found.version)])
            await self.announce(principal.owner, conversation)
        return changed


def _position(cursor: str) -> int:
    """The position that a cursor of `messages` names.

    Raises:
        BadInput: it names none.
    """
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _POSITION_DIGITS):
        raise BadInput("The cursor is not valid; start again with the first page.")
    return int(cursor)
