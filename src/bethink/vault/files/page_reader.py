"""What a vault holds, as listings and as parts that recall finds. `service` calls it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.errors import NoSuchPage
from bethink.store import Scan, records_of
from bethink.vault.files.parts import PagePart, part_of, said_in, title_of
from bethink.vault.files.records import CONTENTS, PARTS, PLACES, TROUBLES, ListedFile, PageTable, PartPlace

if TYPE_CHECKING:
    from bethink.vault.files.context import VaultContext
    from bethink.vault.files.folder import FileTree

_PAGE = 500
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
    def part(self) -> PagePart:
        """The part, as it was cut."""
        place = PagePart(self.start, self.end, self.line, self.headings, "")
        return part_of(title_of(self.path), said_in(self.text[self.start : self.end]), place)


async def listing(context: VaultContext, owner: str, folder: str, *, deep: bool) -> Sequence[ListedFile]:
    """What is in a folder; see `Vault.listed`."""
    files = context.folder(owner)
    if not await anyio.to_thread.run_sync(files.exists):
        if folder:
            raise NoSuchPage(_NO_FOLDER.format(folder=folder))
        return ()

    def walk() -> FileTree | None:
        if not deep:
            return files.look(folder)
        tree = files.walk()
        return tree if not folder or folder in tree.folders else None

    tree = await anyio.to_thread.run_sync(walk)
    if tree is None:
        raise NoSuchPage(_NO_FOLDER.format(folder=folder))
    known = await context.known(owner)
    beginning = f"{folder}/" if folder else ""
    entries = [
        entry
        for entry in _entries(tree, known)
        if entry.path.startswith(beginning) and (deep or "/" not in entry.path[len(beginning) :])
    ]
    return sorted(entries, key=lambda entry: (not entry.is_folder, entry.path))


def _entries(tree: FileTree, known: PageTable) -> Iterator[ListedFile]:
    yield from (ListedFile(folder, is_folder=True) for folder in tree.folders)
    for path, stat in tree.pages.items():
        page = known.pages.get(path)
        trouble = None if page is None or page.trouble is None else TROUBLES[page.trouble]
        yield ListedFile(path, size=stat.size, changed=stat.mtime // 1000, trouble=trouble)
    for odd in tree.odd:
        yield ListedFile(odd.path, size=odd.size, changed=odd.mtime // 1000, trouble=odd.why)


async def is_searched_whole(context: VaultContext, owner: str) -> bool:
    """Whether each part of each page has the items by which it is found, and there are no others."""
    wanted = 0
    async for record in records_of(context.store, owner, Scan(PLACES, limit=_PAGE)):
        wanted += sum(len(place.kinds) for place in record.places)
    return wanted == await context.store.count(owner, PARTS, {})


async def found_parts(context: VaultContext, owner: str, ids: Sequence[str]) -> Sequence[FoundPart | None]:
    """The parts with these ids; see `Vault.parts`."""
    known = await context.known(owner)
    pages = {
        id: page
        for id in dict.fromkeys(map(_page_of, ids))
        if (page := known.ids.get(id)) is not None and page.state == "there"
    }
    places: dict[str, PartPlace] = {}
    versions: dict[str, str] = {}
    for found in await context.store.get(PLACES, owner, [*pages]):
        if found is not None:
            versions[found.record.id] = found.record.version
            places |= {place.id: place for place in found.record.places}
    contents = await context.store.get(CONTENTS, owner, [*{*versions.values()}])
    texts = {one.record.id: one.record.inflated.decode() for one in contents if one is not None}

    def part(id: str) -> FoundPart | None:
        place, page = places.get(id.removesuffix("o")), pages.get(_page_of(id))
        text = texts.get(versions.get(_page_of(id), ""))
        if place is None or page is None or text is None:
            return None
        return FoundPart(
            path=page.path,
            text=text,
            start=place.start,
            end=place.end,
            line=place.line,
            headings=place.headings,
            changed=page.changed,
            untrusted=page.untrusted,
            digest=place.digest,
            kinds=place.kinds,
            is_own=id != place.id,
        )

    return [part(id) for id in ids]


def _page_of(part: str) -> str:
    return part.partition(".")[0]
