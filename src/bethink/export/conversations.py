"""Conversations in an export file: a line for each, then a line for each of its messages. `service` calls it.

Every field goes out and comes back, ids too, so that what was said is found
again and answers still name it. Only what runs were doing stays behind.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import checked_id, time_of, with_times
from bethink.conversations.records import (
    CONVERSATIONS,
    MAX_BRANCHES,
    MESSAGES,
    SIGHTINGS,
    Conversation,
    StoredMessage,
    branch_of,
    checked_system,
    checked_title,
    grown,
    sighting,
    switched,
    turn_of,
)
from bethink.errors import BadInput, UnknownId
from bethink.export.records import BadLine, KeptConversation, KeptMessage, checked_project, document_of
from bethink.store import Change, Put, Scan, Store, pages_of, records_of, retry_conflicts

if TYPE_CHECKING:
    from bethink.export.records import ImportLine
    from bethink.principal import Principal

_PAGE = 200
_MAX_POSITION = 10_000_000
_MAX_GAP = 10_000
"""Messages of a conversation that may be missing before one that is there."""
_LEFT = ("active_run", "count")
"""Of a conversation: what runs now, and what its messages tell."""
_OWN_LINE = range(MAX_BRANCHES)
"""Numbers of the branches that people see; what is kept on others is made anew from these."""

ConversationLine = KeptConversation | KeptMessage


async def documents(store: Store, principal: Principal) -> AsyncGenerator[list[dict[str, Any]]]:
    """All conversations of the owner, oldest first, each before its messages; some lines at a time."""
    owner = principal.owner
    async for conversation in records_of(store, owner, Scan(CONVERSATIONS, limit=_PAGE)):
        if conversation.temporary:
            continue
        where = {"conversation": conversation.id}
        sightings = records_of(store, owner, Scan(SIGHTINGS, where, limit=_PAGE))
        shown = [sighting.fact async for sighting in sightings]
        told = {"shown": shown} if shown else {}
        yield [{"kind": "conversation", **document_of(conversation, but=_LEFT), **told}]
        for branch in range(len(conversation.branches) or 1):
            said = Scan(MESSAGES, where | {"branch": branch}, order="position", limit=_PAGE)
            async for page in pages_of(store, owner, said):
                yield [{"kind": "message", **document_of(item.record, but=())} for item in page]


def conversation_from(line: int, document: Mapping[str, Any]) -> ImportLine:
    """The conversation of an exported document, or why there is none."""
    try:
        timed = with_times(dict(document), time_of)
        found = _emptied(msgspec.convert({**timed, "active_run": None, "count": 0}, Conversation))
        shown = msgspec.convert(document.get("shown", []), tuple[str, ...])
        for id in (found.id, *shown):
            checked_id(id)
        checked_project(found.project)
        title = checked_title(found.title.replace("\0", " "))
        system = checked_system(found.system)
    except (BadInput, UnknownId, msgspec.ValidationError) as error:
        return BadLine(line, f"{error}")
    return KeptConversation(line, msgspec.structs.replace(found, title=title, system=system), shown)


def message_from(line: int, document: Mapping[str, Any]) -> ImportLine:
    """The message of an exported document, or why there is none."""
    try:
        found = msgspec.convert(with_times(dict(document), time_of), StoredMessage)
        for id in (found.id, found.conversation):
            checked_id(id)
        if not 0 <= found.position <= _MAX_POSITION:
            return BadLine(line, f"position is {found.position}: give a number from 0 to {_MAX_POSITION:,}.")
        if found.branch not in _OWN_LINE:
            return BadLine(line, f"branch is {found.branch}: give a number from 0 to {MAX_BRANCHES - 1}.")
    except (BadInput, msgspec.ValidationError) as error:
        return BadLine(line, f"{error}")
    return KeptMessage(line, found)


@dataclass(slots=True)
class ConversationRestore:
    """What one import puts back of conversations; with `preview` it only says what it would."""

    store: Store
    owner: str
    preview: bool
    _last: Conversation | None = None

    @retry_conflicts
    async def take(self, lines: Sequence[ConversationLine]) -> tuple[list[str], list[BadLine]]:
        """Put back what is not here, in one commit; what became of each line.

        A conversation that goes on in the file goes on here. One that went on
        here stays as it is, and a message keeps what was made of it here.
        """
        places = list(dict.fromkeys(line.place for line in lines))
        held = await self.store.get(CONVERSATIONS, self.owner, places)
        messages = [line.message.id for line in lines if isinstance(line, KeptMessage)]
        said = await self.store.get(MESSAGES, self.owner, messages)
        draft = _RestoreDraft(
            {one.record.id: one.record for one in held if one},
            {one.record.id: one.version for one in held if one},
            {one.record.id: one.record for one in said if one},
        )
        if self.preview and self._last is not None:
            draft.held.setdefault(self._last.id, self._last)
        outcomes = [draft.outcome(line) for line in lines]
        self._last = draft.last
        if not self.preview and draft.changes:
            await self.store.commit(self.owner, draft.commit())
        bad = [one for one in outcomes if isinstance(one, BadLine)]
        return [one for one in outcomes if isinstance(one, str)], bad


@dataclass(slots=True)
class _RestoreDraft:
    """Conversations and messages as one commit will leave them."""

    held: dict[str, Conversation]
    versions: dict[str, int]
    said: dict[str, StoredMessage]
    last: Conversation | None = None
    changes: list[Change] = field(default_factory=list["Change"])
    _changed: dict[str, None] = field(default_factory=dict[str, None])

    def outcome(self, line: ConversationLine) -> str | BadLine:
        """What becomes of a line: "said" for what is put back."""
        match line:
            case KeptConversation():
                return self._conversation(line)
            case KeptMessage():
                return self._message(line)

    def commit(self) -> list[Change]:
        """The changes, with the conversations' records."""
        puts = [Put(CONVERSATIONS, self.held[id], self.versions.get(id, 0)) for id in self._changed]
        return [*puts, *self.changes]

    def _conversation(self, line: KeptConversation) -> str:
        found = self.held.get(line.place)
        self.last = found or line.conversation
        if found is not None:
            return "known" if _named(found) == _named(line.conversation) else "differing"
        self.held[line.place] = line.conversation
        self._changed[line.place] = None
        self.changes += [sighting(fact, line.place) for fact in line.shown]
        return "said"

    def _message(self, line: KeptMessage) -> str | BadLine:
        here, held = self.said.get(line.message.id), self.held.get(line.place)
        if here is not None:
            return "known" if here == line.message else "differing"
        if held is None:
            return BadLine(line.line, "its conversation is not here, and on no line before it.")
        try:
            count = branch_of(held, line.message.branch).count
        except UnknownId as error:
            return BadLine(line.line, str(error))
        if line.message.position > count + _MAX_GAP:
            return BadLine(line.line, f"position is {line.message.position:,}, behind {count:,} messages.")
        if line.message.position < count or held.active_run is not None:
            return "differing"
        now = msgspec.structs.replace(
            grown(held, line.message.position + 1, branch=line.message.branch),
            updated_at=max(held.updated_at, line.message.at),
        )
        self.held[line.place] = self.last = now
        self._changed[line.place] = None
        self.said[line.message.id] = line.message
        self.changes.append(Put(MESSAGES, line.message, 0, turn_of(now, line.message)))
        return "said"


def _emptied(conversation: Conversation) -> Conversation:
    """The conversation before its messages: each of its branches as it was when it began.

    Raises:
        BadInput: its branches are none that a conversation can have.
        UnknownId: the active one is not among them.
    """
    branches = conversation.branches
    for number, one in enumerate(branches):
        is_first = number == 0 and one.parent is None
        if not (is_first or one.parent is None or 0 <= one.parent < number) or one.start < 0:
            raise BadInput(f"branch {number} does not leave one before it.")
    if len(branches) > MAX_BRANCHES:
        raise BadInput(f"there are {len(branches)} branches: at most {MAX_BRANCHES} are kept.")
    empty = tuple(msgspec.structs.replace(one, count=one.start) for one in branches)
    return switched(msgspec.structs.replace(conversation, branches=empty, count=0), conversation.branch)


def _named(conversation: Conversation) -> tuple[object, ...]:
    """What of a conversation its owner chose."""
    return conversation.title, conversation.archived, conversation.project, conversation.created_at
