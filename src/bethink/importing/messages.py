"""A message of an export as messages of a conversation, with its files. `conversations` calls it.

A call always stands beside its result, as the agent leaves it, so that a model
can go on from there. What tools and other models said counts as said by
somebody else; what the owner said is the owner's word. Files are recorded with the
messages and written after them: one that is cut short is written by the next import.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.conversations import StoredMessage
from bethink.errors import BadInput, TooLarge
from bethink.files import FILES, MAX_FILES, File, fit, free_name
from bethink.importing.items import Skipped, TextPart, ToolExchange
from bethink.importing.records import stable_id
from bethink.messages import AssistantMessage, Attachment, ToolCall, ToolMessage, UserMessage
from bethink.store import Put

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from bethink.blobs import Blobs
    from bethink.importing.archive import Archive
    from bethink.importing.items import ExportedFile, ExportedMessage
    from bethink.messages import Message
    from bethink.store import Change, Store

NO_RESULT = "The export does not say what came of this."
_NO_TOOL = "unknown_outcome"
_SHOWN = "files"
"""The name under which a model's own pictures are shown: only tools have files."""


def messages_of(
    turn: ExportedMessage, conversation: str, files: Mapping[str, Attachment]
) -> list[StoredMessage]:
    """A turn as messages, not yet at their places; `files` are those that are taken, by their keys."""
    drafts = _owners(turn, files) if turn.role == "user" else _models(turn, conversation, files)
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


def _owners(turn: ExportedMessage, files: Mapping[str, Attachment]) -> list[tuple[Message, bool]]:
    words = [piece for piece in turn.pieces if isinstance(piece, TextPart)]
    text = "\n\n".join(filter(None, (one.text.strip("\n") for one in words)))
    return [(UserMessage(text, _attached(turn.files, files)), any(one.foreign for one in words))]


def _models(
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


def _attached(given: Sequence[ExportedFile], files: Mapping[str, Attachment]) -> tuple[Attachment, ...]:
    return tuple(files[one.key] for one in given if one.key in files)


_UNKNOWN = "application/octet-stream"


@dataclass(slots=True)
class AttachedFiles:
    """The files of the conversations of one commit; `new` are those of the one that was looked at last."""

    blobs: Blobs
    owner: str
    archive: Archive
    max_bytes: int
    new: list[File] = field(default_factory=list[File])
    _contents: list[tuple[str, ExportedFile]] = field(default_factory=list["tuple[str, ExportedFile]"])
    _names: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _left: Counter[str] = field(default_factory=Counter[str])

    def given(self, conversation: str, turn: ExportedMessage, at: int) -> dict[str, Attachment]:
        """The turn's files, as its messages name them, by their keys."""
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
        """What of a conversation's files could not be taken."""
        told = [Skipped(name, why, count=count) for why, count in self._left.items()]
        self._left.clear()
        return told

    async def mend(self, store: Store, conversation: str, turns: Sequence[ExportedMessage]) -> None:
        """Have the contents written that an import which was cut short did not write."""
        before = len(self._contents)
        for turn in turns:
            self.given(conversation, turn, 0)
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
        """Keep the contents.

        Raises:
            StorageError: one cannot be kept.
        """
        for id, given in self._contents:
            content = await anyio.to_thread.run_sync(self._content, given)
            if content is not None:
                await self.blobs.write(self.owner, id, content)
        self._contents = []

    def _file(self, conversation: str, given: ExportedFile, *, at: int, turn_at: int) -> File | None:
        names = self._names.setdefault(conversation, set())
        size = self._size(given)
        if size > self.max_bytes:
            self._left[f"A file is larger than {self.max_bytes // 1_000_000} MB and was not taken."] += 1
            return None
        if len(names) >= MAX_FILES:
            self._left[f"It has more than {MAX_FILES} files; the others were not taken."] += 1
            return None
        name = free_name(fit(given.name), names)
        names.add(name)
        file = File(
            id=stable_id(turn_at, conversation, "file", given.key),
            conversation=conversation,
            name=name,
            media_type=given.media_type or _UNKNOWN,
            size=size,
            at=at,
            made_by="owner",
        )
        self.new.append(file)
        self._contents.append((file.id, given))
        return file

    def _size(self, given: ExportedFile) -> int:
        if given.text is not None:
            return len(given.text.encode())
        member = self.archive.members.get(given.member or "")
        return member.size if member else 0

    def _content(self, given: ExportedFile) -> bytes | None:
        if given.text is not None:
            return given.text.encode()
        try:
            return self.archive.content(given.member or "", self.max_bytes)
        except TooLarge:
            raise
        except (BadInput, KeyError):
            return None
