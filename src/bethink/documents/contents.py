"""Contents: what documents say, kept under the hash of its bytes, once for all documents that have it.

`library` and `ingest` call this. A record comes before its bytes and goes before them: bytes that no record
names are garbage, whatever was cut short, and nobody reads a content that no document has.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread
import msgspec

from bethink.documents.records import (
    CONTENTS,
    DOCUMENTS,
    FORGOTTEN_FILES,
    PAGES,
    PASSAGES,
    USES,
    Content,
    Document,
    ForgottenFile,
    Use,
    use_id,
)
from bethink.errors import BadInput, Conflict, JustForgotten, TooLarge, UnknownId
from bethink.principal import Recent
from bethink.store import Delete, DeleteAll, Put, Scan, items_of, records_of, retry_conflicts

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.blobs import Blobs
    from bethink.clock import Clock
    from bethink.store import Change, Store, Versioned

_PAGE: Final = 500
_STILL_SAYS: Final = "Not read again: what was forgotten stands in this file. Change it, or add it by hand."
_OWNERS: Final = 1_000
_COUNTED_US: Final = 10_000_000
"""How long the count of an owner's bytes holds for a quota: what other processes add meanwhile comes late."""
_LEFT_US: Final = 3_600_000_000
"""A content that no document has for so long was left behind by a process that ended."""


@dataclass(slots=True)
class _Counted:
    """How many bytes an owner's contents took when they were counted, microseconds UTC."""

    at: int
    bytes: int


@dataclass(slots=True, kw_only=True)
class Contents:
    """The contents of all owners. `max_bytes` bounds one of them, `quota_bytes` all of an owner.

    `digest` is what only this Bethink can make of a text: by it forgotten files are known again.
    """

    store: Store
    blobs: Blobs
    clock: Clock
    digest: Callable[[str], Awaitable[str]]
    max_bytes: int
    quota_bytes: int | None = None
    _used: Recent[str, _Counted] = field(default_factory=lambda: Recent(_OWNERS), repr=False)

    async def keep(
        self, owner: str, source: bytes | Path, *, name: str, media_type: str, by_itself: bool = False
    ) -> str:
        """The id of a content, kept with its bytes. It is read as soon as a document has it.

        Raises:
            JustForgotten: it comes `by_itself`, and was forgotten, or a part of it was.
            TooLarge: it is longer than a file may be, or the owner has no room left.
            BadInput: it is empty, or its file is not there.
            StorageError: it cannot be kept.
        """
        try:
            id, size = await anyio.to_thread.run_sync(hash_of, source)
        except OSError as error:
            raise BadInput(f"{name} cannot be read: {error.strerror}.") from error
        if not size:
            raise BadInput(f"{name} is empty: there is nothing to read in it.")
        if size > self.max_bytes:
            raise TooLarge(self.too_large(name))
        if by_itself and await self.is_forgotten(owner, id):
            raise JustForgotten(_STILL_SAYS)
        new = Content(
            id=id, name=name, media_type=media_type, size=size, stage="cancelled", at=self.clock.now_us()
        )
        try:
            # What is swept meanwhile must not be these bytes.
            async with self.blobs.alone(owner):
                if not await self._announced(owner, new):
                    await self.blobs.keep(owner, id, source)
        except BaseException:
            # Cancelled too: a record without bytes is nothing that anybody could read.
            with anyio.CancelScope(shield=True):
                await self.drop_unused(owner, [id])
            raise
        return id

    @retry_conflicts
    async def _announced(self, owner: str, new: Content) -> bool:
        """Whether the bytes of a content are there; if not, it has a record now, and they may come."""
        (held,) = await self.store.get(CONTENTS, owner, [new.id])
        if held is None:
            await self.check_room(owner, new.size, new.name)
            await self.store.commit(owner, [Put(CONTENTS, new, 0)])
            self._added(owner, new.size)
            return False
        if held.record.is_whole:
            return await self.has_bytes(owner, new.id)
        again = held.record.restaged("cancelled", pages=0, done=0, original=True, is_cut=False)
        await self.store.commit(owner, [Put(CONTENTS, again, held.version)])
        return False

    async def has_bytes(self, owner: str, id: str) -> bool:
        """Whether the original bytes are there."""
        return await anyio.Path(await self.blobs.opened(owner, id)).is_file()

    def too_large(self, name: str) -> str:
        """What is said of a file that is longer than one may be."""
        return f"{name} is larger than {self.max_bytes / 1e6:,.0f} MB (BETHINK_DOCUMENTS_MAX_BYTES)."

    async def check_room(self, owner: str, size: int, name: str) -> None:
        """Nothing, if a file of this size may be added.

        Raises:
            TooLarge: it is longer than a file may be, or the owner has no room left.
        """
        if size > self.max_bytes:
            raise TooLarge(self.too_large(name))
        if self.quota_bytes is None:
            return
        used = await self._about_used(owner)
        if used + size > self.quota_bytes:
            used = await self.used_bytes(owner)
        if used + size > self.quota_bytes:
            raise TooLarge(
                f"There is no room for {name}: your documents take {used / 1e6:,.0f} of "
                f"{self.quota_bytes / 1e6:,.0f} MB (BETHINK_DOCUMENTS_QUOTA_MB). Remove some first."
            )

    async def used_bytes(self, owner: str) -> int:
        """How much all contents of an owner take, each once. Reads all of them."""
        at = self.clock.now_us()
        contents = records_of(self.store, owner, Scan(CONTENTS, limit=_PAGE))
        used = sum([content.size async for content in contents if content.original])
        self._used[owner] = _Counted(at, used)
        return used

    async def _about_used(self, owner: str) -> int:
        """The same as it was counted lately, with what was added here since; too much if some was removed."""
        known = self._used.get(owner)
        if known is not None and self.clock.now_us() - known.at < _COUNTED_US:
            return known.bytes
        return await self.used_bytes(owner)

    def _added(self, owner: str, size: int) -> None:
        if (known := self._used.get(owner)) is not None:
            known.bytes += size

    async def held(self, owner: str, id: str) -> Versioned[Content]:
        """A content.

        Raises:
            UnknownId: it is not kept.
        """
        (found,) = await self.store.get(CONTENTS, owner, [id])
        if found is None:
            raise UnknownId("This version of the document is not kept any more.")
        return found

    async def of(self, owner: str, ids: Iterable[str]) -> dict[str, Content]:
        """Those of these contents that are kept, by id."""
        found = await self.store.get(CONTENTS, owner, [*dict.fromkeys(ids)])
        return {item.record.id: item.record for item in found if item is not None}

    async def documents_with(self, owner: str, id: str) -> list[Versioned[Document]]:
        """The documents that have a content, or had it, the oldest first."""
        uses = [use.document async for use in records_of(self.store, owner, Scan(USES, {"content": id}))]
        found = await self.store.get(DOCUMENTS, owner, sorted(uses)) if uses else ()
        return [item for item in found if item is not None]

    async def current(self, owner: str, ids: Sequence[str]) -> dict[str, list[Document]]:
        """The documents that say each of these contents now, the oldest first; of many contents at once."""
        scans = [Scan(USES, {"content": id}) for id in ids]
        uses: dict[str, list[str]] = {}
        for id, page in zip(ids, await self.store.scan(owner, *scans) if scans else (), strict=True):
            uses[id] = [item.record.document for item in page.items]
            if page.cursor is not None:
                uses[id] = [item.record.id for item in await self.documents_with(owner, id)]
        wanted = sorted({document for those in uses.values() for document in those})
        found = await self.store.get(DOCUMENTS, owner, wanted) if wanted else ()
        there = {item.record.id: item.record for item in found if item is not None}
        return {
            id: [there[one] for one in sorted(those) if one in there and there[one].content == id]
            for id, those in uses.items()
        }

    async def use(self, owner: str, document: Document) -> list[Change]:
        """The changes by which a document has its newest content, which is read if it is not searched.

        Raises:
            Conflict: the content was dropped meanwhile: keep it again.
        """
        (held,) = await self.store.get(CONTENTS, owner, [document.newest])
        if held is None:
            raise Conflict
        content = held.record
        if content.stage in {"failed", "cancelled"}:
            content = content.restaged("indexing" if content.is_read else "waiting")
        elif content.stage == "ready" and not content.passages:
            content = content.restaged("indexing")
        use = Use(id=use_id(content.id, document.id), content=content.id, document=document.id)
        # Put even if it stays as it is: who is dropping it meanwhile meets another version.
        return [Put(USES, use), Put(CONTENTS, content, held.version)]

    async def dropped(
        self, owner: str, ids: Iterable[str], *, now: Collection[Document] = (), gone: Collection[str] = ()
    ) -> list[Change]:
        """The changes by which contents go that no document has, and are not searched if only older versions.

        As it will be when the documents in `now` are kept so, and those with ids in `gone` are removed.
        """
        after = {document.id: document for document in now}
        changes: list[Change] = []
        for item in await self.store.get(CONTENTS, owner, [*dict.fromkeys(ids)]):
            if item is None:
                continue
            content = item.record
            documents = [
                after.get(one.record.id, one.record)
                for one in await self.documents_with(owner, content.id)
                if one.record.id not in gone
            ]
            if not documents:
                changes += [
                    Delete(CONTENTS, content.id, item.version),
                    DeleteAll(PAGES, {"content": content.id}),
                    DeleteAll(PASSAGES, {"content": content.id}),
                ]
            elif content.passages and all(content.id not in {one.content, one.pending} for one in documents):
                unsearched = msgspec.structs.replace(content, passages=0)
                changes += [
                    Put(CONTENTS, unsearched, item.version),
                    DeleteAll(PASSAGES, {"content": content.id}),
                ]
        return changes

    @retry_conflicts
    async def drop_unused(self, owner: str, ids: Iterable[str]) -> None:
        """Remove those of these contents that no document has, with their bytes."""
        if changes := await self.dropped(owner, ids):
            await self.store.commit(owner, changes)
        await self.sweep(owner)

    async def rewrite(self, owner: str, id: str, said: bytes) -> None:
        """Have the bytes of a content be these, if it is still there."""
        async with self.blobs.alone(owner):
            path = anyio.Path(await self.blobs.opened(owner, id))
            if await path.is_file() and await path.read_bytes() != said:
                await self.blobs.keep(owner, id, said)

    async def sweep(self, owner: str) -> None:
        """Remove the bytes that no content names, and contents that were left behind without a document.

        Raises:
            StorageError: some cannot be removed.
        """
        await self._drop_left_behind(owner)
        async with self.blobs.alone(owner):
            await self.blobs.clean(owner)
            kept = await self.blobs.ids(owner)
            known = await self.store.get(CONTENTS, owner, kept) if kept else ()
            named = {item.record.id for item in known if item is not None and item.record.original}
            if unnamed := {*kept} - named:
                await self.blobs.delete(owner, unnamed)

    async def _drop_left_behind(self, owner: str) -> None:
        before = self.clock.now_us() - _LEFT_US
        scan = Scan(CONTENTS, {"stage": "cancelled"}, order="at", high=before, limit=_PAGE)
        left = [content.id async for content in records_of(self.store, owner, scan)]
        with suppress(Conflict):  # somebody takes one up: it is not left behind
            if changes := await self.dropped(owner, left):
                await self.store.commit(owner, changes)

    # --- what was forgotten

    async def forgotten(self, ids: Iterable[str]) -> list[Change]:
        """The changes by which files with these contents are not read again by themselves."""
        at = self.clock.now_us()
        return [
            Put(FORGOTTEN_FILES, ForgottenFile(id=await self.digest(id), at=at)) for id in dict.fromkeys(ids)
        ]

    async def is_forgotten(self, owner: str, id: str) -> bool:
        """Whether a part of this content was forgotten, or all of it."""
        (found,) = await self.store.get(FORGOTTEN_FILES, owner, [await self.digest(id)])
        return found is not None

    async def all_of(self, owner: str) -> list[Versioned[Content]]:
        """All contents of an owner."""
        return [item async for item in items_of(self.store, owner, Scan(CONTENTS, limit=_PAGE))]


def hash_of(source: bytes | Path) -> tuple[str, int]:
    """The hex SHA-256 of bytes, or of a file's, and how many there are."""
    if isinstance(source, bytes):
        return hashlib.sha256(source).hexdigest(), len(source)
    with source.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest(), file.tell()
