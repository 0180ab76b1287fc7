"""Conversations of an export become conversations here: each once, and grown where the export has more of it.

What was taken is known by ids made of the export's own, so a second import
changes nothing and one that was cut short goes on. A conversation that went on
here keeps what was said here; what forgetting took out of a message stays out.

A call always stands beside its result, as the agent leaves it, so that a model
can go on from there. What tools and other models said counts as said by
somebody else; what the owner said is the owner's word. Files are recorded with the
messages and written after them: one that is cut short is written by the next import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.to_thread
import msgspec

from bethink.conversations.records import (
    CONVERSATIONS,
    MAX_BRANCHES,
    MESSAGES,
    Branch,
    Conversation,
    StoredMessage,
    branch_of,
    switched,
    title_from,
    turn_of,
)
from bethink.errors import BadInput, TooLarge
from bethink.files import FILES, MAX_FILES, File, fit, free_name
from bethink.importing.items import Skipped, TextPart, ToolExchange, one_line
from bethink.importing.records import GROWN, TAKEN, ImportedItem, ImportedUpdate, ImportOutcome, stable_id
from bethink.messages import AssistantMessage, Attachment, Message, ToolCall, ToolMessage, UserMessage
from bethink.store import Change, Put, Scan, Store, Versioned, retry_conflicts

if TYPE_CHECKING:
    from bethink.blobs import Blobs
    from bethink.importing.archive import Archive
    from bethink.importing.items import ExportedConversation, ExportedFile, ExportedMessage
    from bethink.importing.records import ImportContext


NO_RESULT = "The export does not say what came of this."
_NO_TOOL = "unknown_outcome"
_SHOWN = "files"
"""The name under which a model's own pictures are shown: only tools have files."""


def _messages_of(
    turn: ExportedMessage, conversation: str, files: Mapping[str, Attachment]
) -> list[StoredMessage]:
    """A turn as messages, not yet at their places; `files` are those that are taken, by their keys."""
    drafts: list[tuple[Message, bool]]
    if turn.role == "user":
        words = [piece for piece in turn.pieces if isinstance(piece, TextPart)]
        text = "\n\n".join(filter(None, (one.text.strip("\n") for one in words)))
        drafts = [(UserMessage(text, _attached(turn.files, files)), any(one.foreign for one in words))]
    else:
        drafts = _of_assistant(turn, conversation, files)
    return [
        StoredMessage(
            id=stable_id(turn.at or 0, conversation, turn.key, str(place)),
            conversation=conversation,
            position=place,
            at=0,
            run="",
            message=message,
            untrusted=untrusted,
        )
        for place, (message, untrusted) in enumerate(drafts)
    ]


def _of_assistant(
    turn: ExportedMessage, conversation: str, files: Mapping[str, Attachment]
) -> list[tuple[Message, bool]]:
    drafts: list[tuple[Message, bool]] = []
    reasoning = ""
    pieces = (
        turn.pieces if not turn.files else (*turn.pieces, ToolExchange(_SHOWN, "{}", "", files=turn.files))
    )
    for place, piece in enumerate(pieces):
        if isinstance(piece, TextPart):
            thought = "\n\n".join(filter(None, (reasoning, piece.reasoning)))
            reasoning = "" if piece.text.strip() else thought
            if piece.text.strip():
                drafts.append((AssistantMessage(piece.text.strip("\n"), reasoning=thought), True))
            continue
        call = stable_id(turn.at or 0, conversation, turn.key, "call", str(place))
        asked = AssistantMessage("", (ToolCall(call, piece.name, piece.arguments),), reasoning)
        answer = ToolMessage(
            call,
            piece.name,
            NO_RESULT if piece.result is None else piece.result,
            error=_NO_TOOL if piece.result is None else "tool_failed" if piece.failed else None,
            attachments=_attached(piece.files, files),
            untrusted=True,
        )
        drafts += [(asked, True), (answer, True)]
        reasoning = ""
    if reasoning or not drafts:
        drafts.append((AssistantMessage("", reasoning=reasoning), True))
    return drafts


def _attached(exported: Sequence[ExportedFile], files: Mapping[str, Attachment]) -> tuple[Attachment, ...]:
    return tuple(files[one.key] for one in exported if one.key in files)


@dataclass(slots=True)
class _AttachedFiles:
    """The files of the conversations of one commit; `new` are those of the one that was looked at last."""

    blobs: Blobs
    owner: str
    archive: Archive
    max_bytes: int
    new: list[File] = field(default_factory=list[File])
    _contents: list[tuple[str, ExportedFile]] = field(default_factory=list["tuple[str, ExportedFile]"])
    _names: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _left: Counter[str] = field(default_factory=Counter[str])

    def attachments(self, conversation: str, turn: ExportedMessage, at: int) -> dict[str, Attachment]:

        found: dict[str, Attachment] = {}
        wanted = [
            *turn.files,
            *(one for piece in turn.pieces if isinstance(piece, ToolExchange) for one in piece.files),
        ]
        for one in wanted:
            file = self._file(conversation, one, at=at, turn_at=turn.at or 0)
            if file is not None:
                found[one.key] = file.attachment
        return found

    def changes(self) -> list[Change]:
        """What keeps the records of the new ones; they are no longer new then."""
        puts: list[Change] = [Put(FILES, file) for file in self.new]
        self.new = []
        return puts

    def left(self, name: str) -> list[Skipped]:

        left = [Skipped(name, why, count=count) for why, count in self._left.items()]
        self._left.clear()
        return left

    async def mend(self, store: Store, conversation: str, turns: Sequence[ExportedMessage]) -> None:
        """Have the contents written that an import which was cut short did not write."""
        before = len(self._contents)
        for turn in turns:
            self.attachments(conversation, turn, 0)
        self.new = []
        self._left.clear()
        wanted, self._contents = self._contents[before:], self._contents[:before]
        records = await store.get(FILES, self.owner, [id for id, _ in wanted])
        there = {*await self.blobs.ids(self.owner)} if wanted else set[str]()
        # What was forgotten or deleted since has no record, and does not come back.
        self._contents += [
            one for one, record in zip(wanted, records, strict=True) if record and one[0] not in there
        ]

    async def write(self) -> None:

        for id, file in self._contents:
            content = await anyio.to_thread.run_sync(self._content, file)
            if content is not None:
                await self.blobs.write(self.owner, id, content)
        self._contents = []

    def _file(self, conversation: str, exported: ExportedFile, *, at: int, turn_at: int) -> File | None:
        names = self._names.setdefault(conversation, set())
        member = self.archive.members.get(exported.member or "")
        size = member.size if member else 0
        if exported.text is not None:
            size = len(exported.text.encode())
        if size > self.max_bytes:
            self._left[f"A file is larger than {self.max_bytes // 1_000_000} MB and was not imported."] += 1
            return None
        if len(names) >= MAX_FILES:
            self._left[f"It has more than {MAX_FILES} files; the others were not imported."] += 1
            return None
        name = free_name(fit(exported.name), names)
        names.add(name)
        file = File(
            id=stable_id(turn_at, conversation, "file", exported.key),
            conversation=conversation,
            name=name,
            media_type=exported.media_type or "application/octet-stream",
            size=size,
            at=at,
            made_by="owner",
        )
        self.new.append(file)
        self._contents.append((file.id, exported))
        return file

    def _content(self, exported: ExportedFile) -> bytes | None:
        if exported.text is not None:
            return exported.text.encode()
        try:
            return self.archive.content(exported.member or "", self.max_bytes)
        except TooLarge:
            raise
        except (BadInput, KeyError):
            return None


ORIGINS = {"chatgpt": "ChatGPT", "claude": "Claude"}
"""What a conversation says of where it was held."""
_READ_AT_ONCE = 500


@retry_conflicts
async def import_conversations(
    context: ImportContext, exported_conversations: Sequence[ExportedConversation], archive: Archive
) -> ImportOutcome:
    """Take conversations in, all or none; durable when it returns.

    Raises:
        Conflict: others keep changing the same conversations.
        StorageError: they cannot be kept.
    """
    attached = _AttachedFiles(context.blobs, context.owner, archive, context.max_file_bytes)
    draft = _ConversationDraft(context, attached)
    await draft.read(exported_conversations)
    for exported in exported_conversations:
        await draft.add(exported)
    if not context.preview:
        if draft.changes:
            await context.store.commit(context.owner, draft.changes)
        await attached.write()
    return draft.outcome


def total_of(held: Conversation) -> int:
    """How many messages all its branches hold."""
    return sum(one.count - one.start for one in held.branches) if held.branches else held.count


@dataclass(slots=True)
class _ConversationDraft:
    """One commit being made."""

    context: ImportContext
    attached: _AttachedFiles
    outcome: ImportOutcome = field(default_factory=ImportOutcome)
    changes: list[Change] = field(default_factory=list["Change"])
    _rows: dict[str, Versioned[ImportedItem]] = field(default_factory=dict[str, "Versioned[ImportedItem]"])
    _same: dict[str, str] = field(default_factory=dict[str, str])
    """By the digest of what is said, the conversation that says it."""
    _held: dict[str, Versioned[Conversation]] = field(default_factory=dict[str, "Versioned[Conversation]"])
    _taken_ids: set[str] = field(default_factory=set[str])
    _digests: dict[int, str] = field(default_factory=dict[int, str])

    async def read(self, exported_conversations: Sequence[ExportedConversation]) -> None:
        """What is here of these conversations already."""
        store, owner = self.context.store, self.context.owner
        ids = [self._row_id(exported) for exported in exported_conversations]
        rows = await store.get(TAKEN, owner, ids)
        self._rows = {row.record.id: row for row in rows if row is not None}
        new = [
            self._said_digest(exported)
            for exported, id in zip(exported_conversations, ids, strict=True)
            if id not in self._rows
        ]
        pages = await store.scan(owner, *[Scan(TAKEN, {"same": same}, limit=1) for same in new])
        self._same = {
            same: page.items[0].record.place for same, page in zip(new, pages, strict=True) if page.items
        }
        places = [*(self._place(exported) for exported in exported_conversations), *self._same.values()]
        held = await store.get(CONVERSATIONS, owner, list(dict.fromkeys(places)))
        self._held = {one.record.id: one for one in held if one is not None}

    async def add(self, exported: ExportedConversation) -> None:
        """Add what a conversation brings."""
        id, name = self._row_id(exported), one_line(exported.title, 80) or "Untitled"
        if id in self._taken_ids:
            self.outcome.counts["duplicates"] += 1
            return
        self._taken_ids.add(id)
        row, held = self._rows.get(id), self._held.get(self._place(exported))
        self.outcome.places[exported.key] = self._place(exported)
        same = self._same.get(self._said_digest(exported))
        if row is None and same is not None and (same in self._held or same in self._taken_ids):
            self.outcome.counts["duplicates"] += 1
            self.outcome.places[exported.key] = same
            return
        if row is not None and held is not None and row.record.digest == self._digest(exported):
            self.outcome.counts["known"] += 1
            if not self.context.preview:
                await self.attached.mend(self.context.store, held.record.id, exported.messages)
            return
        self.outcome.left += [
            Skipped(name, f"Not imported: {f'{count:,} × ' if count > 1 else ''}{what}.")
            for what, count in exported.lost.items()
        ]
        if held is None:
            await self._begin(exported, row)
        else:
            await self._grow(exported, row, held)

    async def _begin(self, exported: ExportedConversation, row: Versioned[ImportedItem] | None) -> None:
        place = self._place(exported)
        now = self.context.clock.now_us()
        created = min(exported.created_at or exported.messages[0].at or now, now)
        empty = Conversation(
            id=place,
            title=one_line(exported.title) or title_from(_first_words(exported.messages)),
            titled=True,
            named_by="person" if exported.title else "words",
            created_at=created,
            updated_at=created,
            archived=int(exported.archived),
            outside=True,
            origin=ORIGINS.get(self.context.source, self.context.source),
        )
        grown, messages = self._placed(exported, empty, {})
        self.changes += [
            Put(CONVERSATIONS, grown, 0),
            Put(TAKEN, self._row(exported, grown), row.version if row else 0),
            *(Put(MESSAGES, one, 0, turn_of(grown, one)) for one in messages),
        ]
        self._same[self._said_digest(exported)] = place
        self._taken_ids.add(place)
        self.outcome.counts["new"] += 1
        self.outcome.messages += len(messages)

    async def _grow(
        self,
        exported: ExportedConversation,
        row: Versioned[ImportedItem] | None,
        held: Versioned[Conversation],
    ) -> None:
        known = await self._known(exported)
        was = held.record
        # Nothing was said in it since it was imported.
        is_ours = row is not None and row.record.written == str(total_of(was))
        grown, messages = self._placed(exported, was, known, is_ours=is_ours)
        if not messages:
            self.outcome.counts["known"] += 1
            if row is not None:
                changed = msgspec.structs.replace(row.record, digest=self._digest(exported))
                self.changes.append(Put(TAKEN, changed, row.version))
            return
        if was.active_run is not None:
            self.outcome.counts["kept"] += 1
            self.outcome.left.append(Skipped(was.title[:80], "It is being answered now; import again later."))
            return
        now = self._row(exported, grown)
        before = row.record if row else now
        self.changes += [
            Put(CONVERSATIONS, grown, held.version),
            Put(TAKEN, msgspec.structs.replace(now, batch=before.batch), row.version if row else 0),
            Put(
                GROWN,
                ImportedUpdate(
                    id=f"{self.context.batch}:{before.id}",
                    batch=self.context.batch,
                    before=before,
                    messages=tuple(one.id for one in messages),
                    branches=was.branches,
                    branch=was.branch,
                    count=was.count,
                ),
            ),
            *(Put(MESSAGES, one, 0, turn_of(grown, one)) for one in messages),
        ]
        self.outcome.counts["grown"] += 1
        self.outcome.messages += len(messages)

    async def _known(self, exported: ExportedConversation) -> dict[str, _BranchPosition]:
        """Where the turns stand that are here."""
        place = self._place(exported)
        by_id = {one.id: turn.key for turn in exported.messages for one in _messages_of(turn, place, {})}
        ids, spots = list(by_id), dict[str, _BranchPosition]()
        for begin in range(0, len(ids), _READ_AT_ONCE):
            some = ids[begin : begin + _READ_AT_ONCE]
            for found in await self.context.store.get(MESSAGES, self.context.owner, some):
                if found is not None and found.record.conversation == place:
                    message = found.record
                    spot = _BranchPosition(message.branch, message.position + 1)
                    known = spots.get(by_id[message.id])
                    if known is None or known.end < spot.end:
                        spots[by_id[message.id]] = spot
        return spots

    def _placed(
        self,
        exported: ExportedConversation,
        held: Conversation,
        known: dict[str, _BranchPosition],
        *,
        is_ours: bool = True,
    ) -> tuple[Conversation, list[StoredMessage]]:
        """The record with the turns that are new, and their messages."""
        growing, spots = _BranchBuilder(held), dict[str | None, _BranchPosition | None]({None: None})
        messages: list[StoredMessage] = []
        latest, at = self.context.clock.now_us(), exported.created_at or 0
        for turn in exported.messages:
            at = min(turn.at or at or latest, latest)
            if turn.key in known:
                spots[turn.key] = known[turn.key]
                continue
            if turn.parent not in spots:
                continue
            files = self.attached.attachments(held.id, turn, at)
            said = _messages_of(turn, held.id, files)
            spot = growing.place(spots[turn.parent], len(said))
            if spot is None:
                continue
            spots[turn.key] = spot
            messages += [
                msgspec.structs.replace(one, position=position, branch=spot.branch, at=at)
                for position, one in enumerate(said, spot.end - len(said))
            ]
        if growing.left:
            why = f"It has more branches than allowed here: {growing.left:,} branches were left out."
            self.outcome.left.append(Skipped(held.title[:80], why))
        self.outcome.left += self.attached.left(held.title[:80])
        self.outcome.files += len(self.attached.new)
        self.changes += self.attached.changes()
        spot = spots.get(exported.current) if is_ours else None
        last = max((one.at for one in messages), default=held.updated_at)
        now = growing.grown(spot.branch if spot else None)
        return msgspec.structs.replace(now, updated_at=max(held.updated_at, last)), messages

    def _row_id(self, exported: ExportedConversation) -> str:
        return self.context.marks.id(self.context.source, "talk", exported.key)

    def _said_digest(self, exported: ExportedConversation) -> str:
        """Equal for two that say the same."""
        if (mark := self._digests.get(id(exported))) is None:
            mark = self._digests[id(exported)] = self.context.marks.of(exported.words)
        return mark

    def _digest(self, exported: ExportedConversation) -> str:
        return self.context.marks.of(exported.substance)

    def _place(self, exported: ExportedConversation) -> str:
        row = self._rows.get(self._row_id(exported))
        if row is not None:
            return row.record.place
        return stable_id(exported.created_at or 0, self.context.owner, self.context.source, exported.key)

    def _row(self, exported: ExportedConversation, held: Conversation) -> ImportedItem:
        return ImportedItem(
            id=self._row_id(exported),
            batch=self.context.batch,
            kind="talk",
            place=held.id,
            digest=self._digest(exported),
            same=self._said_digest(exported),
            written=str(total_of(held)),
        )


def _first_words(turns: Sequence[ExportedMessage]) -> str:
    for turn in turns:
        for said in _messages_of(turn, "", {}):
            if isinstance(said.message, UserMessage) and said.message.content.strip():
                return said.message.content
    return ""


@dataclass(frozen=True, slots=True)
class _BranchPosition:
    """Where a turn ends: its branch, and the position behind its last message."""

    branch: int
    end: int


@dataclass(slots=True)
class _BranchBuilder:
    """A conversation's branches while turns are placed on them; `left` counts those that found none free."""

    held: Conversation
    left: int = 0
    _branches: list[Branch] = field(default_factory=list[Branch])

    def __post_init__(self) -> None:
        self._branches = list(self.held.branches) or [branch_of(self.held, 0)]

    def place(self, after: _BranchPosition | None, messages: int) -> _BranchPosition | None:
        """Room for so many messages behind a spot, None being the beginning; None if no branch is left.

        The spot is where they end: the first stands `messages` before it.
        """
        parent, start = (None, 0) if after is None else (after.branch, after.end)
        number = parent or 0
        if self._branches[number].count != start:
            if len(self._branches) >= MAX_BRANCHES:
                self.left += 1
                return None
            number = len(self._branches)
            self._branches.append(Branch(parent=parent, start=start, count=start))
        end = self._branches[number].count + messages
        self._branches[number] = msgspec.structs.replace(self._branches[number], count=end)
        return _BranchPosition(number, end)

    def grown(self, active: int | None = None) -> Conversation:
        """The record as it is now, with the given branch active; the one that was, where none is given."""
        branches = tuple(self._branches) if len(self._branches) > 1 else ()
        count = self._branches[self.held.branch].count
        now = msgspec.structs.replace(self.held, branches=branches, count=count)
        return now if active is None else switched(now, active)
