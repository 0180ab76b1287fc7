"""Conversations and their messages: records, and the few ways to change them.

`agent/runs` appends the messages of a run, and deletes; doors list and rename.
A conversation's record stays small: messages are records of their own, in the
order of `position`, so that a turn costs the same however long the history is.
What was said in a finished turn is searchable (`turn_of`): a message and what
it is found by are one record, deleted together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput, Conflict, TooLarge, UnknownId
from bethink.events import ClaimKind, Mark, StopReason, Usage
from bethink.index import IndexItem
from bethink.messages import AssistantMessage, Message, ToolMessage, UserMessage
from bethink.store import Collection, Delete, DeleteAll, Page, Put, Record, Scan, Versioned

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.clock import Clock, Ids
    from bethink.principal import Principal
    from bethink.store import Change, Store

NEW_TITLE = "New conversation"
KIND = "turn"
"""Of messages, in the index and in recall."""
OWNER, ASSISTANT = "owner", "assistant"
"""Who speaks in a conversation with Bethink."""
_TITLE_CHARS = 60
_MAX_TITLE_CHARS = 200
_CONFLICT_TRIES = 5


class Conversation(Record, frozen=True, kw_only=True):
    """One conversation. Times are microseconds UTC.

    `count` is how many messages it has, the next message's position too.
    `active_run` is the run that is answering, or that waits for an approval.
    `outside` says that something from outside was read in it.
    """

    title: str
    created_at: int
    updated_at: int
    count: int = 0
    archived: int = 0
    titled: bool = False
    active_run: str | None = None
    project: str | None = None
    outside: bool = False


class RecalledRef(msgspec.Struct, frozen=True, kw_only=True):
    """A memory that was given to the model; its text stays where it is kept."""

    id: str
    kind: str
    score: float


class ChangedRef(msgspec.Struct, frozen=True, kw_only=True):
    """A change of memory made in a run; what changed stays where it is kept."""

    change: str
    ids: tuple[str, ...]
    undo: str | None = None


class UnbackedRef(msgspec.Struct, frozen=True, kw_only=True):
    """A claim in the message's text that nothing backs: its kind, and the sentence from `start` to `end`."""

    claim: ClaimKind
    start: int
    end: int


class StoredMessage(Record, frozen=True, kw_only=True):
    """A message at its place in a conversation.

    `speaker` names who said it in a conversation that came from elsewhere. `aside`
    is what belongs to a slash command: no talk, so not recalled. An answer is
    `untrusted` for which something from outside was read. `stop_reason`,
    `note` (what went wrong, for a person), `recalled`, `used`, `unbacked`,
    `changed` and `usage` are what a run left on its last assistant message. The
    places of `used` and `unbacked` are characters of its text: what changes the
    text drops them.
    """

    conversation: str
    position: int
    at: int
    run: str
    message: Message
    speaker: str | None = None
    aside: bool = False
    untrusted: bool = False
    stop_reason: StopReason | None = None
    note: str | None = None
    recalled: tuple[RecalledRef, ...] = ()
    used: tuple[Mark, ...] = ()
    unbacked: tuple[UnbackedRef, ...] = ()
    changed: tuple[ChangedRef, ...] = ()
    usage: tuple[Usage, ...] = ()


class Sighting(Record, frozen=True, kw_only=True):
    """That a memory was shown in a conversation: recalled, found or told there.

    What was said of it then is found by this when it is forgotten. `fact` is
    the fact, or the message of another conversation.
    """

    fact: str
    conversation: str


SIGHTINGS = Collection("sightings", Sighting, ("fact", "conversation"), searchable=False)
CONVERSATIONS = Collection(
    "conversations", Conversation, ("archived", "updated_at", "project"), searchable=False
)
MESSAGES = Collection("messages", StoredMessage, ("conversation", "position"))


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a conversation that took place elsewhere. `at` is microseconds UTC.

    `speaker` is a person's name, or None for the owner and the assistant.
    """

    text: str
    at: int
    role: Literal["user", "assistant"] = "user"
    speaker: str | None = None


def title_from(text: str) -> str:
    """A title from the first words of a message: one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= _TITLE_CHARS:
        return line or NEW_TITLE
    return line[:_TITLE_CHARS].rsplit(" ", 1)[0].rstrip(",.;:") + "…"


def turn_of(conversation: Conversation, stored: StoredMessage) -> IndexItem | None:
    """What a message is found by: its text with its date; None where it is not to be found.

    That are tools' results, calls, slash commands, and everything of a run
    that has not ended: `conversation` is the record beside which the message
    is committed. The vector is filled in later (`across.vectors`).
    """
    text = "" if isinstance(stored.message, ToolMessage) else stored.message.content
    calls = isinstance(stored.message, AssistantMessage) and stored.message.tool_calls
    if stored.aside or calls or not text.strip() or conversation.active_run == stored.run:
        return None
    return IndexItem(
        kind=KIND,
        text=_told(stored, text),
        at=stored.at,
        conversation=stored.conversation,
        project=conversation.project,
        speaker=speaker_of(stored),
    )


def _told(stored: StoredMessage, text: str) -> str:
    """The text with its date and, where it has a name, its speaker, in the form that embeds best."""
    date = f"{to_datetime(stored.at):%-d %B %Y}"
    return f'{stored.speaker} ({date}): "{text}"' if stored.speaker else f"{date}: {text}"


def speaker_of(stored: StoredMessage) -> str:
    """Who said it: a name, else `OWNER` or `ASSISTANT`."""
    return stored.speaker or (OWNER if isinstance(stored.message, UserMessage) else ASSISTANT)


@dataclass(frozen=True, slots=True)
class Conversations:
    """The conversations of all owners; every call acts for one principal."""

    store: Store
    clock: Clock
    new_id: Ids

    async def create(
        self, principal: Principal, *, title: str | None = None, project: str | None = None
    ) -> Conversation:
        """A new, empty conversation.

        Raises:
            BadInput: the title is empty or longer than 200 characters.
        """
        now = self.clock.now_us()
        conversation = Conversation(
            id=self.new_id(),
            title=NEW_TITLE if title is None else checked_title(title),
            titled=title is not None,
            created_at=now,
            updated_at=now,
            project=project,
        )
        await self.store.commit(principal.owner, [Put(CONVERSATIONS, conversation, if_version=0)])
        return conversation

    async def list(
        self, principal: Principal, *, limit: int = 50, cursor: str | None = None, archived: bool = False
    ) -> Page[Conversation]:
        """One page of conversations, the last changed first."""
        return await self.store.scan(
            principal.owner,
            Scan(
                CONVERSATIONS,
                where={"archived": int(archived)},
                order="updated_at",
                reverse=True,
                limit=limit,
                after=cursor,
            ),
        )

    async def get(self, principal: Principal, conversation: str) -> Versioned[Conversation]:
        """The conversation with its version.

        Raises:
            UnknownId: this owner has none with that id.
        """
        (found,) = await self.store.get(CONVERSATIONS, principal.owner, [conversation])
        if found is None:
            message = "Conversation not found: it may have been deleted."
            raise UnknownId(message)
        return found

    async def has(self, principal: Principal, conversation: str) -> bool:
        """Whether the owner has it."""
        (found,) = await self.store.get(CONVERSATIONS, principal.owner, [conversation])
        return found is not None

    async def messages(
        self, principal: Principal, conversation: str, *, limit: int = 50, before: str | None = None
    ) -> Page[StoredMessage]:
        """The newest messages, newest first; `before` is the cursor of the page of newer ones."""
        return await self.store.scan(
            principal.owner,
            Scan(
                MESSAGES,
                where={"conversation": conversation},
                order="position",
                reverse=True,
                limit=limit,
                after=before,
            ),
        )

    async def said(self, principal: Principal, ids: Sequence[str]) -> Sequence[StoredMessage | None]:
        """The messages with these ids, in their order, None where there is none."""
        found = await self.store.get(MESSAGES, principal.owner, ids)
        return [message and message.record for message in found]

    async def take_over(self, principal: Principal, conversation: str, said: Sequence[Said]) -> Sequence[str]:
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
                at=one.at,
                run="",
                message=UserMessage(one.text) if one.role == "user" else AssistantMessage(one.text),
                speaker=one.speaker,
            )
            for position, one in enumerate(said, held.record.count)
        ]
        now = appended(held.record, messages, at=at, active_run=held.record.active_run)
        await self.store.commit(
            principal.owner,
            [
                Put(CONVERSATIONS, now, if_version=held.version),
                *(Put(MESSAGES, message, if_version=0, index=turn_of(now, message)) for message in messages),
            ],
        )
        return [message.id for message in messages]

    async def change(
        self,
        principal: Principal,
        conversation: str,
        *,
        title: str | None = None,
        archived: bool | None = None,
    ) -> Conversation:
        """Rename, archive or bring back; what is None stays.

        Raises:
            UnknownId: this owner has none with that id.
            BadInput: the title is empty or longer than 200 characters.
        """
        changes: dict[str, object] = {}
        if title is not None:
            changes |= {"title": checked_title(title), "titled": True}
        if archived is not None:
            changes |= {"archived": int(archived)}
        for _ in range(_CONFLICT_TRIES):
            found = await self.get(principal, conversation)
            changed = msgspec.structs.replace(found.record, **changes)
            try:
                await self.store.commit(
                    principal.owner, [Put(CONVERSATIONS, changed, if_version=found.version)]
                )
            except Conflict:
                continue
            return changed
        raise Conflict


def removal(conversation: str) -> list[Change]:
    """The changes that remove a conversation with all its messages; `agent/stored_runs` commits them."""
    return [
        DeleteAll(MESSAGES, {"conversation": conversation}),
        DeleteAll(SIGHTINGS, {"conversation": conversation}),
        Delete(CONVERSATIONS, conversation),
    ]


def sighting(fact: str, conversation: str) -> Put[Sighting]:
    """Remembers that a fact or message was shown in the conversation; doing so again changes nothing."""
    return Put(SIGHTINGS, Sighting(id=f"{conversation}:{fact}", fact=fact, conversation=conversation))


def appended(
    conversation: Conversation, messages: Sequence[StoredMessage], *, at: int, active_run: str | None
) -> Conversation:
    """The conversation's record after `messages` were added behind its last one."""
    title, titled = conversation.title, conversation.titled
    first = next((stored.message for stored in messages if isinstance(stored.message, UserMessage)), None)
    if not titled and first is not None:
        title, titled = title_from(first.content), True
    return msgspec.structs.replace(
        conversation,
        title=title,
        titled=titled,
        updated_at=at,
        count=conversation.count + len(messages),
        active_run=active_run,
    )


def checked_content(content: str, max_chars: int) -> str:
    """What a person typed, fit to be kept.

    Control characters other than line breaks and tabs are dropped: they mean
    nothing in a message, and some of them (NUL) break what reads it later.

    Raises:
        TooLarge: longer than `max_chars`.
        BadInput: nothing is left.
    """
    if len(content) > max_chars:
        message = (
            f"The message has {len(content):,} characters; at most {max_chars:,} are accepted. Attach a file."
        )
        raise TooLarge(message)
    kept = "".join(
        char for char in content if char in "\n\t" or (char >= " " and not "\x7f" <= char <= "\x9f")
    )
    text = kept.encode("utf-8", "ignore").decode()
    if not text.strip():
        message = "The message is empty: write something."
        raise BadInput(message)
    return text


def checked_title(title: str) -> str:
    """A title as one line.

    Raises:
        BadInput: it is empty or longer than 200 characters.
    """
    line = " ".join(title.split())
    if not 0 < len(line) <= _MAX_TITLE_CHARS:
        message = f"A title has 1 to {_MAX_TITLE_CHARS} characters."
        raise BadInput(message)
    return line
