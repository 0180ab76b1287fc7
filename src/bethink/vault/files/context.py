"""Where an owner's vault is, what is known of it, and the lock under which it is changed.

`service`, `sync` and `versions` work here. One change of an owner's pages is
made at a time: the tasks of this process take turns, and so do processes, by a
lock on the folder itself.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import anyio
import anyio.to_thread
import msgspec

from bethink.errors import Busy, NoSuchPage, NotAllowed, StorageError
from bethink.principal import LOCAL_OWNER, PerKey, Recent
from bethink.store import Put, Scan, Store, Versioned, records_of
from bethink.vault.files.draft import VaultDraft
from bethink.vault.files.folder import NO_FOLDER, Folder
from bethink.vault.files.parts import Items, plain_items
from bethink.vault.files.records import ONE, PAGES, VAULTS, Change, PageTable, VaultRecord

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.clock import Clock, Ids
    from bethink.settings import VaultSettings


class PageNews:
    """Who waits for changes in this process. Look now and then, too: other processes are not heard."""

    def __init__(self) -> None:
        self._waiting: defaultdict[str, set[anyio.Event]] = defaultdict(set)

    @contextmanager
    def listening(self, owner: str) -> Generator[anyio.Event]:
        """An event that is set by the next change: listen first and look then, and nothing falls between."""
        event = anyio.Event()
        self._waiting[owner].add(event)
        try:
            yield event
        finally:
            self._waiting[owner].discard(event)
            if not self._waiting[owner]:
                del self._waiting[owner]

    def tell(self, owner: str) -> None:
        """Wake those who listen for an owner."""
        for event in self._waiting.get(owner, ()):
            event.set()


FOLDER: Final = "vault"
FOLDERS: Final = "vaults"
OFF: Final = "The vault is switched off: set `enabled` of the setting `vault` to use it."
GONE: Final = "The vault's folder is missing. Restore it, or create it again: `bethink vault init`."
OTHER: Final = (
    "The vault's folder here is not the one that the pages are from, so nothing is taken from it. Mount that"
    " one, or take this one as it is: `bethink vault init`."
)
_BUSY: Final = "Another program is changing the vault: try again in a moment."
_WAIT_S: Final = 30.0
_PAUSE_S: Final = 0.02
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HASH_CHARS: Final = 32
_PAGE: Final = 1_000
_OWNERS: Final = 32
"""So many owners' pages are at hand: a thousand pages take less than a megabyte."""

Listener = Callable[[str, Sequence[Change]], None]
"""Told, on the loop, whose pages changed and how; behind the commit."""


async def nothing_hidden(owner: str) -> Items:
    """For an owner who hides nothing from anybody."""
    del owner
    return plain_items


@dataclass(slots=True)
class VaultContext:
    """The vaults of all owners. `items_of` says what of an owner's parts is searched, and by whom.

    `listeners` are told of changes. `purge_hooks` are awaited when something of an owner was forgotten: they
    leave no trace of it in files of their own.
    """

    settings: VaultSettings
    data_dir: Path
    store: Store
    clock: Clock
    new_id: Ids
    items_of: Callable[[str], Awaitable[Items]] = nothing_hidden
    listeners: list[Listener] = field(default_factory=list[Listener])
    purge_hooks: list[Callable[[str], Awaitable[None]]] = field(
        default_factory=list[Callable[[str], Awaitable[None]]]
    )
    news: PageNews = field(default_factory=PageNews, repr=False)
    _known: Recent[str, PageTable] = field(default_factory=lambda: Recent(_OWNERS), repr=False)
    _turns: PerKey[str, anyio.Lock] = field(
        default_factory=lambda: PerKey[str, anyio.Lock](anyio.Lock), repr=False
    )

    def root(self, owner: str) -> Path:
        """Where the owner's files are; there may be none.

        Raises:
            NotAllowed: there are no vaults.
        """
        if not self.settings.enabled:
            raise NotAllowed(OFF)
        if owner == LOCAL_OWNER:
            return self.settings.path or self.data_dir / FOLDER
        # An owner's name may be anything; a folder's may not.
        plain = _PLAIN.fullmatch(owner) is not None
        name = owner if plain else hashlib.sha256(owner.encode()).hexdigest()[:_HASH_CHARS]
        return self.data_dir / FOLDERS / name

    def folder(self, owner: str) -> Folder:
        """The owner's files.

        Raises:
            NotAllowed: there are no vaults.
        """
        return Folder(self.root(owner))

    async def known(self, owner: str) -> PageTable:
        """What is known of the pages now. Nothing is awaited between its last look and its return.

        It is changed by later calls: use it before anything else is awaited, or under the owner's lock.
        """
        while True:
            (found,) = await self.store.get(VAULTS, owner, [ONE])
            known = self._at_hand(owner)
            if found is None:
                if known.version:
                    self._known[owner] = known = PageTable()
                return known
            if found.version == known.version:
                return known
            await self._catch_up(owner, found)

    async def _catch_up(self, owner: str, now: Versioned[VaultRecord]) -> None:
        """Read what came since; `known` looks again whether that was all."""
        known = self._at_hand(owner)
        if known.vault.change < now.record.floor:
            known = self._known[owner] = PageTable()
        scan = Scan(PAGES, order="change", low=known.vault.change + 1, limit=_PAGE)
        # In the order of their changes: a path that two pages had in turn ends as the later one's.
        async for record in records_of(self.store, owner, scan):
            held = known.ids.get(record.id)
            # What was committed here while this was read is newer.
            if held is None or held.change < record.change:
                known.put(record)
        if known.version < now.version:
            known.vault, known.version = now.record, now.version

    def _at_hand(self, owner: str) -> PageTable:
        if (known := self._known.get(owner)) is None:
            known = self._known[owner] = PageTable()
        return known

    async def folder_fault(self, owner: str) -> str | None:
        """Why pages are neither read from the folder nor taken for deleted: it is missing, or another one.

        It is the one that has the id which was kept or, where it has none, or another, most of the pages: who
        restores a vault, or gets it by another program, need not have the file that has the id.
        """
        known, files = await self.known(owner), self.folder(owner)
        id, paths = known.vault.folder, [*known.pages]

        def fault() -> str | None:
            if not files.exists():
                return GONE
            return None if (id and files.mark() == id) or files.has_most(paths) else OTHER

        return await anyio.to_thread.run_sync(fault) if paths else None

    async def take_folder(self, owner: str) -> None:
        """Have the folder be the one of the pages, whatever is in it; it is there, or made."""
        files = self.folder(owner)
        is_other = await self.folder_fault(owner) == OTHER
        await anyio.to_thread.run_sync(files.make)
        if is_other:
            # The one of before, on this machine or another, is a stranger from now on.
            await anyio.to_thread.run_sync(files.mark, self.new_id())
        await self._mark(owner, files)

    async def _mark(self, owner: str, files: Folder) -> None:
        """Have the folder's id be kept."""
        known = await self.known(owner)
        vault, version = known.vault, known.version
        found = await anyio.to_thread.run_sync(files.mark)
        if found and found == vault.folder:
            return
        id = found or vault.folder or self.new_id()
        if not found:
            try:
                await anyio.to_thread.run_sync(files.mark, id)
            except StorageError:
                return  # It may be read, and not be written: it is known by its pages.
        if vault.folder != id:
            now = msgspec.structs.replace(vault, folder=id)
            await self.store.commit(owner, [Put(VAULTS, now, if_version=version)])

    @asynccontextmanager
    async def lock(
        self, owner: str, folder: Literal["any", "there", "made"] = "any"
    ) -> AsyncGenerator[VaultDraft]:
        """A draft, while nobody else changes the owner's pages. Not cancelled in between.

        The folder must be `there`, or is `made`.

        Raises:
            NoSuchPage: the folder must be there, and is not.
            Busy: another program holds the lock on and on.
            StorageError: the folder cannot be used, or is not the one of the pages.
        """
        files = self.folder(owner)
        async with self._turns[owner]:
            fault = await self.folder_fault(owner)
            if fault == OTHER or (fault == GONE and folder != "any"):
                raise StorageError(fault)
            lock = await _locked(files, make=folder == "made")
            draft: VaultDraft | None = None
            try:
                if lock != NO_FOLDER:
                    await self._mark(owner, files)
                elif folder == "there":
                    raise NoSuchPage
                # A file and what is known of it change together, or a look takes them for a stranger's.
                with anyio.CancelScope(shield=True):
                    draft = await self._draft(owner)
                    yield draft
            finally:
                files.unlock(lock)
                if draft is not None and draft.committed:
                    self.news.tell(owner)
                    for listener in self.listeners:
                        listener(owner, tuple(draft.committed))

    async def _draft(self, owner: str) -> VaultDraft:
        items = await self.items_of(owner)
        known = await self.known(owner)
        return VaultDraft(self.store, owner, known, items, self.settings, self.clock.now_us(), self.new_id)


async def _locked(folder: Folder, *, make: bool) -> int:
    deadline = anyio.current_time() + _WAIT_S
    take = partial(folder.try_lock, make=make)
    while (lock := await anyio.to_thread.run_sync(take)) is None:
        if anyio.current_time() > deadline:
            raise Busy(_BUSY)
        await anyio.sleep(_PAUSE_S)
    return lock
