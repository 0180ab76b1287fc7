"""Files of conversations: what the owner uploaded and what tools made. Doors, runs and forgetting ask.

A record says what a file is, its content lies in the blobs under the record's
id. The record is written first and removed first, so a content without one is
garbage, whatever was cut short.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.forgettable import Forgettable, Removal, TextPlace
from bethink.messages import Attachment
from bethink.store import Change, Collection, Delete, DeleteAll, Put, Record, Scan, Store, records_of
from bethink.tool import HeldFile, NewFile

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.clock import Clock, Ids
    from bethink.principal import Principal

MAX_FILES = 500
"""Of one conversation."""
_MAX_NAME_CHARS = 120
_UNFIT = re.compile(r"[\x00-\x1f\x7f/\\\\:*?\"<>|\u200b-\u200f\u2028-\u202e\u2066-\u2069]+")
"""What a name may not hold: path separators, control characters, marks that hide an ending."""
_MEDIA_TYPE = re.compile(r"[a-z0-9][a-z0-9.+-]{0,60}/[a-z0-9][a-z0-9.+-]{0,80}")
_ANY = "application/octet-stream"
_NO_CONVERSATION = "Conversation not found: it may have been deleted."
_HEAD = 8192
"""A content with a zero byte at its beginning is no text."""
_PART = 1_000_000
"""So many characters are looked through at once."""
_MAX_ENDING = 5


class File(Record, frozen=True, kw_only=True):
    """One file. `size` is in bytes, `at` microseconds UTC; `made_by` says whether a tool made it.

    `made_as` is the path under which code made it, "" where code only showed it.
    """

    conversation: str
    name: str
    media_type: str
    size: int
    at: int
    made_by: Literal["owner", "tool"]
    made_as: str | None = None

    @property
    def attachment(self) -> Attachment:
        """The file, as a message names it."""
        return Attachment(name=self.name, media_type=self.media_type, url=f"/files/{self.id}")


FILES = Collection("files", File, ("conversation",), scans=(("conversation",),), searchable=False)


@dataclass(slots=True)
class Files:
    """The files of all owners, each at most `max_bytes` long. `is_there` says whether a conversation is."""

    store: Store
    blobs: Blobs
    clock: Clock
    new_id: Ids
    is_there: Callable[[Principal, str], Awaitable[bool]]
    max_bytes: int

    async def add(
        self,
        principal: Principal,
        conversation: str,
        file: NewFile,
        *,
        made_by: Literal["owner", "tool"] = "owner",
        expecting: Sequence[Change] = (),
    ) -> File:
        """Keep a file; its name becomes one of its own in the conversation. Durable when it returns.

        Raises:
            UnknownId: the conversation is not there any more.
            Conflict: what is `expecting` does not hold.
            TooLarge: it is longer than a file may be.
            BadInput: the conversation has too many files.
            StorageError: it cannot be kept.
        """
        if len(file.content) > self.max_bytes:
            raise TooLarge(f"{file.name[:_MAX_NAME_CHARS]} is larger than {self.max_bytes // 1_000_000} MB.")
        others = await self.list(principal, conversation)
        if len(others) >= MAX_FILES:
            raise BadInput(f"This conversation has {MAX_FILES} files already: start another one.")
        media_type = file.media_type.partition(";")[0].strip().lower()
        kept = File(
            id=self.new_id(),
            conversation=conversation,
            # A file that code changes again goes on under its name: a newer version.
            name=free_name(fit(file.name), {other.name for other in others if not _is_older(other, file)}),
            media_type=media_type if _MEDIA_TYPE.fullmatch(media_type) else _ANY,
            size=len(file.content),
            at=self.clock.now_us(),
            made_by=made_by,
            made_as=file.made_as,
        )
        await self.store.commit(principal.owner, [Put(FILES, kept, if_version=0), *expecting])
        try:
            await self.blobs.write(principal.owner, kept.id, file.content)
        except BaseException:
            # Cancelled too: a record without a content could not be read ever after.
            with anyio.CancelScope(shield=True):
                await self.store.commit(principal.owner, [Delete(FILES, kept.id)])
            raise
        if not await self.is_there(principal, conversation):
            # Deleted meanwhile, perhaps before there was this file to delete.
            await self.store.commit(principal.owner, [Delete(FILES, kept.id)])
            await self.blobs.delete(principal.owner, [kept.id])
            raise UnknownId(_NO_CONVERSATION)
        return kept

    async def list(self, principal: Principal, conversation: str) -> Sequence[File]:
        """The conversation's files, oldest first."""
        (page,) = await self.store.scan(
            principal.owner, Scan(FILES, {"conversation": conversation}, limit=MAX_FILES)
        )
        return [item.record for item in page.items]

    async def held(self, principal: Principal, conversation: str) -> Sequence[HeldFile]:
        """Those whose content is there, as tools read them."""
        there = {*await self.blobs.ids(principal.owner)}
        return [
            HeldFile(
                file.id,
                file.name,
                file.media_type,
                file.size,
                await self.blobs.opened(principal.owner, file.id),
                file.made_as,
                file.attachment.url,
            )
            for file in await self.list(principal, conversation)
            if file.id in there
        ]

    async def get(self, principal: Principal, file: str) -> tuple[File, Path]:
        """A file and where its content is read.

        Raises:
            UnknownId: this owner has no such file.
        """
        (found,) = await self.store.get(FILES, principal.owner, [file])
        if found is None:
            raise UnknownId("File not found: its conversation was deleted, or what it held was forgotten.")
        return found.record, await self.blobs.opened(principal.owner, file)

    async def attachments(
        self, principal: Principal, conversation: str, ids: Sequence[str]
    ) -> tuple[Attachment, ...]:
        """Files of a conversation, as a message names them.

        Raises:
            UnknownId: one of them is no file of this conversation.
        """
        known = {file.id: file for file in await self.list(principal, conversation)}
        if missing := [id for id in ids if id not in known]:
            raise UnknownId(f"File {missing[0][:60]!r} is not in this conversation: upload it there first.")
        return tuple(known[id].attachment for id in ids)

    async def forget(self, owner: str, says: Callable[[str], bool]) -> list[Change]:
        """The changes by which every file goes whose text `says` it, and every name that does."""
        return [*(await self._taken(owner, await self._places(owner, says))).changes]

    @property
    def forgettable(self) -> Forgettable:
        """How all of an owner's files go."""

        async def lines(owner: str, limit: int) -> list[str]:
            (page,) = await self.store.scan(owner, Scan(FILES, limit=limit))
            return [item.record.name for item in page.items]

        async def remove(owner: str) -> None:
            await self.store.commit(owner, [DeleteAll(FILES)])
            await self.sweep(owner)

        return Forgettable(
            "files",
            "file",
            "files",
            lambda owner: self.store.count(owner, FILES, {}),
            lines,
            remove,
            find=lambda owner, holding: self._places(owner, lambda text: bool(holding(text))),
            take=self._taken,
        )

    async def _places(self, owner: str, says: Callable[[str], bool]) -> list[TextPlace]:
        places: list[TextPlace] = []
        async for file in records_of(self.store, owner, Scan(FILES)):
            path = await self.blobs.opened(owner, file.id)
            if await anyio.to_thread.run_sync(_says, path, says):
                places.append(TextPlace("files", file.id))
            elif says(file.name):
                places.append(TextPlace("files", file.id, "name"))
        return places

    async def _taken(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        changes: list[Change] = []
        gone: list[tuple[str, str]] = []
        found = await self.store.get(FILES, owner, [place.id for place in places])
        for place, item in zip(places, found, strict=True):
            if item is None:
                continue
            file = item.record
            if not place.field:
                changes.append(Delete(FILES, file.id))
                gone.append(("file", file.name))
            elif (unnamed := _unnamed(file.name)) != file.name:
                changes.append(Put(FILES, msgspec.structs.replace(file, name=unnamed)))
                gone.append(("name of a file", file.name))
        return Removal(changes, gone)

    async def sweep(self, owner: str) -> None:
        """Remove the contents that no record names any more.

        Raises:
            StorageError: one cannot be removed.
        """
        await self.blobs.clean(owner)
        kept = await self.blobs.ids(owner)
        known = await self.store.get(FILES, owner, kept) if kept else ()
        await self.blobs.delete(owner, {*kept} - {item.record.id for item in known if item is not None})


def text_of(content: bytes) -> str | None:
    """A content as text, whatever its name says that it is; None for what is none."""
    encoding = _encoding(content[:_HEAD])
    return encoding and content.decode(encoding, "replace")


def _encoding(head: bytes) -> str | None:
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    return None if b"\0" in head else "utf-8"


def _is_older(other: File, file: NewFile) -> bool:
    return bool(file.made_as) and file.made_as in {other.made_as, other.name}


def removal(conversation: str) -> Change:
    """The change by which a conversation has no files any more; `Files.sweep` follows it."""
    return DeleteAll(FILES, {"conversation": conversation})


def _says(path: Path, says: Callable[[str], bool]) -> bool:
    """Whether a content is text and says it, read by the part, however long it is."""
    try:
        with path.open("rb") as file:
            encoding = _encoding(file.read(_HEAD))
            if encoding is None:
                return False
            file.seek(0)
            reader = codecs.getreader(encoding)(file, "replace")
            rest = ""
            while part := reader.read(_PART):
                whole, _, rest = (rest + part).rpartition("\n")
                # A line without an end is read in parts that overlap by half.
                if says(whole or rest):
                    return True
                rest = rest[-_PART // 2 :]
            return says(rest)
    except FileNotFoundError:
        return False


def _unnamed(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return f"forgotten{dot}{ending}" if dot and len(ending) <= _MAX_ENDING else "forgotten"


def fit(name: str) -> str:
    """A name that every system can write, without a path; its ending is kept."""
    fit = _UNFIT.sub("_", name.replace("\\", "/").rpartition("/")[2]).strip(". ") or "file"
    if len(fit) <= _MAX_NAME_CHARS:
        return fit
    stem, dot, ending = fit.rpartition(".")
    is_ending = dot and len(ending) < _MAX_NAME_CHARS // 4
    return f"{stem[: _MAX_NAME_CHARS - len(ending) - 1]}.{ending}" if is_ending else fit[:_MAX_NAME_CHARS]


def free_name(name: str, taken: set[str]) -> str:
    """The name, or one like it that is not taken."""
    stem, dot, ending = name.rpartition(".")
    stem, dot, ending = (stem, dot, ending) if stem else (name, "", "")
    number = 1
    while name in taken:
        number += 1
        name = f"{stem} ({number}){dot}{ending}"
    return name
