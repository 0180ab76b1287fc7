"""What a vault holds, read and not changed: pages, listings, parts that recall finds. `service` calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.errors import BadInput, NoSuchPage
from bethink.store import Scan, records_of
from bethink.vault.files.folder import version_of
from bethink.vault.files.parts import Part, part_of, said_in, title_of
from bethink.vault.files.paths import folders_of
from bethink.vault.files.records import CONTENTS, PARTS, PLACES, TROUBLES, Entry, Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from bethink.vault.files.context import VaultContext
    from bethink.vault.files.folder import FileTree, Folder
    from bethink.vault.files.page_table import PageTable
    from bethink.vault.files.records import PageRecord, Place

_PAGE = 500
_NOT_TEXT = "{path} is no UTF-8 text: save it as UTF-8, and it is read."
_NO_FOLDER = "The vault has no folder {folder}: list the one above it to see which there are."


@dataclass(frozen=True, slots=True)
class FoundPart:
    """A part of a page, as it was when it was last read: `text[start:end]`, below these headings.

    `line` counts from 1, `changed` is microseconds UTC. `digest` is of what is searched of it, `kinds` are
    those of its items; it is found by the one that `is_own` or by the one for everybody.
    """

    path: str
    text: str
    start: int
    end: int
    line: int
    headings: tuple[str, ...]
    changed: int
    untrusted: bool
    digest: str
    kinds: tuple[str, ...]
    is_own: bool

    @property
    def part(self) -> Part:
        """The part, as it was cut."""
        place = Part(self.start, self.end, self.line, self.headings, "")
        return part_of(title_of(self.path), said_in(self.text[self.start : self.end]), place)


@dataclass(frozen=True, slots=True)
class VaultState:
    """How a vault is. `troubles` are files and folders that are not read, by path, each with the reason."""

    pages: int
    bytes: int
    troubles: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads the vaults of all owners."""

    context: VaultContext

    async def page(self, owner: str, path: str) -> Page:
        """A page as its file is now; see `Vault.read`."""
        folder, most = self.context.folder(owner), self.context.settings.max_file_bytes
        content = await anyio.to_thread.run_sync(folder.read, path, most)
        if content is None:
            raise NoSuchPage
        try:
            text = content.body.decode()
        except UnicodeDecodeError as error:
            raise BadInput(_NOT_TEXT.format(path=path)) from error
        known = (await self.context.known(owner)).pages.get(path)
        # What nobody has taken in yet was laid in by another program.
        untrusted = self._distrusts_files if known is None else known.untrusted
        size, changed = content.stat.size, content.stat.mtime // 1000
        return Page(path, text, version_of(content.body), size, changed, untrusted)

    async def listed(self, owner: str, folder: str, *, deep: bool) -> Sequence[Entry]:
        """What is in a folder; see `Vault.listed`."""
        files = self.context.folder(owner)
        if not await anyio.to_thread.run_sync(files.exists):
            if folder:
                raise NoSuchPage(_NO_FOLDER.format(folder=folder))
            return ()
        walked = await anyio.to_thread.run_sync(_looked, files, folder, deep)
        if walked is None:
            raise NoSuchPage(_NO_FOLDER.format(folder=folder))
        known = await self.context.known(owner)
        beginning = f"{folder}/" if folder else ""
        entries = [
            entry
            for entry in _entries(walked, known)
            if entry.path.startswith(beginning) and (deep or "/" not in entry.path[len(beginning) :])
        ]
        return sorted(entries, key=lambda entry: (not entry.is_folder, entry.path))

    async def is_untrusted(self, owner: str, paths: Iterable[str]) -> bool:
        """Whether any of these pages, or of those in these folders, is from outside."""
        pages = (await self.context.known(owner)).pages
        folders: dict[str, bool] = {}
        for path in paths:
            if (page := pages.get(path)) is not None:
                if page.untrusted:
                    return True
                continue
            if not folders:
                for one in pages.values():
                    for folder in folders_of(one.path):
                        folders[folder] = folders.get(folder, False) or one.untrusted
            if folders.get(path, self._distrusts_files):
                return True
        return False

    @property
    def _distrusts_files(self) -> bool:
        return self.context.settings.trust == "untrusted"

    async def state(self, owner: str) -> VaultState:
        """How the vault is; see `Vault.state`."""
        known = await self.context.known(owner)
        unread = [
            (path, TROUBLES[page.trouble])
            for path, page in sorted(known.pages.items())
            if page.trouble is not None
        ]
        there = sum(page.state == "there" for page in known.pages.values())
        return VaultState(there, known.bytes, (*unread, *known.vault.odd))

    async def is_searched_whole(self, owner: str) -> bool:
        """Whether each part of each page has the items by which it is found, and there are no others."""
        wanted = 0
        scan = Scan(PLACES, limit=_PAGE)
        async for record in records_of(self.context.store, owner, scan):
            wanted += sum(len(place.kinds) for place in record.places)
        return wanted == await self.context.store.count(owner, PARTS, {})

    async def parts(self, owner: str, ids: Sequence[str]) -> Sequence[FoundPart | None]:
        """The parts with these ids; see `Vault.parts`."""
        pages = [*dict.fromkeys(map(_page_of, ids))]
        known = await self.context.known(owner)
        there = {
            id: page for id in pages if (page := known.ids.get(id)) is not None and page.state == "there"
        }
        places: dict[str, Place] = {}
        versions: dict[str, str] = {}
        for found in await self.context.store.get(PLACES, owner, [*there]):
            if found is not None:
                versions[found.record.id] = found.record.version
                places |= {place.id: place for place in found.record.places}
        texts = await self._texts(owner, {*versions.values()})
        return [_part(id, there, places, text=texts.get(versions.get(_page_of(id), ""))) for id in ids]

    async def _texts(self, owner: str, versions: set[str]) -> dict[str, str]:
        wanted = [*versions]
        found = await self.context.store.get(CONTENTS, owner, wanted)
        return {one.record.id: one.record.inflated.decode() for one in found if one is not None}


def _page_of(part: str) -> str:
    return part.partition(".")[0]


def _part(
    id: str, pages: dict[str, PageRecord], places: dict[str, Place], *, text: str | None
) -> FoundPart | None:
    place, page = places.get(id.removesuffix("o")), pages.get(_page_of(id))
    if place is None or page is None or text is None:
        return None
    where = (place.start, place.end, place.line, place.headings)
    more = (page.changed, page.untrusted, place.digest, place.kinds)
    return FoundPart(page.path, text, *where, *more, is_own=id != place.id)


def _looked(files: Folder, folder: str, deep: bool) -> FileTree | None:  # noqa: FBT001 - a thread's argument
    """What is there, of the whole vault where that is asked for; None without the folder."""
    if not deep:
        return files.look(folder)
    walked = files.walk()
    return walked if not folder or folder in walked.folders else None


def _entries(walked: FileTree, known: PageTable) -> Iterator[Entry]:
    yield from (Entry(folder, is_folder=True) for folder in walked.folders)
    for path, stat in walked.pages.items():
        page = known.pages.get(path)
        trouble = None if page is None or page.trouble is None else TROUBLES[page.trouble]
        yield Entry(path, size=stat.size, changed=stat.mtime // 1000, trouble=trouble)
    for odd in walked.odd:
        yield Entry(odd.path, size=odd.size, changed=odd.mtime // 1000, trouble=odd.why)
