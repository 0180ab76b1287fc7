"""Takes in what changed in the files without Bethink: they are the truth. `service` calls it.

Files are compared by size, time and number with what is known; what differs is
read. A file that appears with the content of one that vanished is that page,
under another name.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import BadInput, StorageError, TooLarge
from bethink.store import Put
from bethink.vault.files.draft import LATELY_US, PageFile, VaultDraft, page_file
from bethink.vault.files.folder import FileTree, Folder, Stat
from bethink.vault.files.paths import fault_of
from bethink.vault.files.records import VAULTS, PageRecord, PageTable, Trouble

if TYPE_CHECKING:
    from bethink.vault.files.context import VaultContext

_FILES: Final = 64
_BYTES: Final = 1_000_000
"""Of one commit: few enough that others get their turn, many enough that the disk is seldom waited for."""
_MOST_ODD: Final = 100
_AGAIN: Final = frozenset({"directory_full", "vault_full", "unreadable"})
"""What may be otherwise though the file is the same."""


@dataclass(slots=True)
class SyncReport:
    """How many pages were read anew, moved and lost, how many files cannot be read, how many there are."""

    taken: int = 0
    moved: int = 0
    lost: int = 0
    unread: int = 0
    pages: int = 0

    @property
    def is_news(self) -> bool:
        """Whether anything was taken in."""
        return bool(self.taken or self.moved or self.lost)


@dataclass(frozen=True, slots=True)
class _Unread:
    path: str
    stat: Stat
    trouble: Trouble


@dataclass(frozen=True, slots=True)
class FolderSync:
    """Takes in changes of all owners' files."""

    context: VaultContext

    async def sync(
        self, owner: str, paths: Collection[str] | None = None, *, rebuild: bool = False
    ) -> SyncReport:
        """Compare all files with what is known, or only those at `paths`, and take in what differs.

        With `rebuild` all pages are read, and all that is searched is made anew.
        What was committed stays when it is cut short; the next goes on from there.

        Raises:
            Busy: another program keeps the vault to itself.
            StorageError: the folder cannot be read.
        """
        folder = self.context.folder(owner)
        if not await anyio.to_thread.run_sync(folder.exists):
            return SyncReport()
        whole = paths is None
        walked = await anyio.to_thread.run_sync(folder.walk if paths is None else lambda: _at(folder, paths))
        known = await self.context.known(owner)
        wanted = [*walked.pages] if rebuild else self._differing(known, walked)
        missing = {path for path in (known.pages if paths is None else paths) if path not in walked.pages}
        report = SyncReport()
        for chunk in _chunks(wanted, walked):
            await self._take_in(owner, chunk, report=report, rebuild=rebuild)
        await self._lose(owner, missing, report)
        if whole:
            await self._note_odd(owner, walked)
        known = await self.context.known(owner)
        unread = sum(page.state == "unread" for page in known.pages.values())
        report.unread, report.pages = unread + len(known.vault.odd), len(known.pages) - unread
        return report

    async def behind(self, owner: str) -> int:
        """How many files differ from what is known of them, or are gone; nothing changes."""
        folder = self.context.folder(owner)
        walked = await anyio.to_thread.run_sync(folder.walk)
        known = await self.context.known(owner)
        gone = len(known.pages.keys() - walked.pages.keys())
        return gone + len(changed_among(known, walked))

    def _differing(self, known: PageTable, walked: FileTree) -> list[str]:
        """The files that may hold something else than is known; those first that have their room already."""
        most = self.context.settings.max_file_bytes

        def differs(path: str) -> bool:
            page, stat = known.pages.get(path), walked.pages[path]
            if page is None or not page.sure or _is_other(page, stat) or _is_nameless(page):
                return True
            # The limits were others once, or what took the room is gone.
            if page.size <= most:
                return page.trouble in _AGAIN or page.trouble == "too_large"
            return page.trouble in _AGAIN or page.state == "there"

        there = {path for path, page in known.pages.items() if page.state == "there"}
        return sorted(filter(differs, walked.pages), key=lambda path: (path not in there, path))

    async def _take_in(self, owner: str, chunk: Sequence[str], *, report: SyncReport, rebuild: bool) -> None:
        folder = self.context.folder(owner)
        async with self.context.lock(owner) as draft:
            draft.anew = rebuild
            found = await anyio.to_thread.run_sync(_read_all, folder, chunk, draft)
            held = [draft.known.pages.get(one.path) or draft.known.gone.get(one.path) for one in found]
            moved = await anyio.to_thread.run_sync(_moves, folder, draft, found)
            await draft.fetch([page for page in (*held, *moved.values()) if page is not None])
            for one in found:
                _note(draft, one, moved=moved, report=report)
            await draft.commit()

    async def reindex(self, owner: str, paths: Sequence[str]) -> None:
        """Make anew what is searched of these pages, as far as filters changed it."""
        for start in range(0, len(paths), _FILES):
            async with self.context.lock(owner) as draft:
                chunk = paths[start : start + _FILES]
                found = await anyio.to_thread.run_sync(_read_all, self.context.folder(owner), chunk, draft)
                read = [one for one in found if isinstance(one, PageFile)]
                held = [draft.known.pages.get(one.path) for one in read]
                await draft.fetch([page for page in held if page is not None])
                for one, page in zip(read, held, strict=True):
                    if page is not None and page.state == "there" and page.version == one.version:
                        draft.reindex(page, one)
                    else:
                        _note(draft, one, moved={}, report=SyncReport())
                await draft.commit()

    async def _lose(self, owner: str, missing: Collection[str], report: SyncReport) -> None:
        """Those that are nowhere any more; their history stays."""
        known = await self.context.known(owner)
        lost = [path for path in missing if path in known.pages]
        if not lost:
            return
        folder = self.context.folder(owner)
        async with self.context.lock(owner) as draft:
            there = await anyio.to_thread.run_sync(lambda: _at(folder, lost).pages)
            for path in sorted(lost):
                page = draft.known.pages.get(path)
                if page is not None and path not in there:
                    draft.lose(page, by="outside")
                    report.lost += 1
            await draft.commit()

    async def _note_odd(self, owner: str, walked: FileTree) -> None:
        """Keep what cannot be a page, for who asks."""
        known = await self.context.known(owner)
        odd = tuple(sorted((one.path, one.why) for one in walked.odd)[:_MOST_ODD])
        if known.version and (known.vault.odd == odd and known.vault.looked_at and not known.vault.meant):
            return
        async with self.context.lock(owner) as draft:
            vault = msgspec.structs.replace(draft.known.vault, odd=odd, looked_at=draft.at, meant=())
            await self.context.store.commit(owner, [Put(VAULTS, vault, if_version=draft.known.version)])


def changed_among(known: PageTable, walked: FileTree) -> set[str]:
    """The files of these that are not those that were read."""
    return {path for path, stat in walked.pages.items() if _is_other(known.pages.get(path), stat)}


def _is_other(page: PageRecord | None, stat: Stat) -> bool:
    """Whether the file is not the one that was read."""
    return page is None or Stat(page.size, page.mtime, page.inode, page.ctime).is_other(stat)


def _is_nameless(page: PageRecord) -> bool:
    """Whether it was last read when other names were not kept."""
    return page.state == "there" and page.aliases is None


def _at(folder: Folder, paths: Collection[str]) -> FileTree:
    """What is at these paths."""
    walked = FileTree()
    for path in paths:
        try:
            stat = folder.stat(path) if fault_of(path) is None else None
        except BadInput:
            continue
        if stat is not None:
            walked.pages[path] = stat
    return walked


def _chunks(paths: Sequence[str], walked: FileTree) -> Iterator[list[str]]:
    chunk: list[str] = []
    size = 0
    for path in paths:
        if chunk and (len(chunk) == _FILES or size + walked.pages[path].size > _BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(path)
        size += walked.pages[path].size
    if chunk:
        yield chunk


def _read_all(folder: Folder, chunk: Sequence[str], draft: VaultDraft) -> list[PageFile | _Unread]:
    found: list[PageFile | _Unread] = []
    for path in chunk:
        try:
            content = folder.read(path, draft.sizes.max_file_bytes)
        except (TooLarge, StorageError) as error:
            if (stat := folder.stat(path)) is not None:
                trouble = "too_large" if isinstance(error, TooLarge) else "unreadable"
                found.append(_Unread(path, stat, trouble))
            continue
        except BadInput:
            # A link by now: the next look at all files tells of it.
            continue
        if content is not None:
            one = page_file(path, content)
            found.append(one if one.text is not None else _Unread(path, one.stat, "not_utf8"))
    return found


def _moves(folder: Folder, draft: VaultDraft, found: Sequence[PageFile | _Unread]) -> dict[str, PageRecord]:
    """For paths that are new, the pages that stood elsewhere before."""
    known = draft.known
    moves: dict[str, PageRecord] = {}
    taken: set[str] = set()
    for one in found:
        if isinstance(one, _Unread) or one.path in known.pages:
            continue
        same = sorted(known.by_version.get(one.version, ()))
        old = next((path for path in same if path not in taken and folder.stat(path) is None), None)
        if old is not None:
            taken.add(old)
            moves[one.path] = known.pages[old]
            continue
        lately = draft.at - LATELY_US
        gone = (page for page in known.gone.values() if page.gone_at >= lately)
        lost = next((page for page in gone if page.version == one.version and page.path not in taken), None)
        if lost is not None and lost.path != one.path:
            taken.add(lost.path)
            moves[one.path] = lost
    return moves


def _note(
    draft: VaultDraft, one: PageFile | _Unread, *, moved: dict[str, PageRecord], report: SyncReport
) -> None:
    """Have the draft know what was found at a path."""
    old = draft.known.pages.get(one.path)
    if isinstance(one, _Unread):
        if old is None or old.trouble != one.trouble or _is_other(old, one.stat):
            draft.unread(one.path, one.stat, one.trouble)
        return
    if (before := moved.get(one.path)) is not None:
        draft.move(before, one, by="outside")
        report.moved += 1
        return
    if (trouble := draft.room(one.path, one.stat.size)) is not None:
        _note(draft, _Unread(one.path, one.stat, trouble), moved=moved, report=report)
    elif old is None or old.version != one.version:
        draft.take(one, by="outside")
        report.taken += 1
    elif draft.anew or old.state == "unread":
        draft.reindex(old, one)
        report.taken += 1
    elif not old.sure or _is_other(old, one.stat) or _is_nameless(old):
        draft.touch(old, one)
