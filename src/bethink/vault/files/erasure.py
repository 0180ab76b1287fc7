"""Takes what is forgotten out of files, versions and what is searched. `forgetting/service` calls it.

What is to go is told by a function, since the vault does not know what others
remember. The files are rewritten first and the records follow in the commit of
the one who forgets: cut short in between, it is begun again and finds the same.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio.to_thread
import msgspec

from bethink.errors import BethinkError, StorageError
from bethink.store import Change as StoreChange
from bethink.store import Delete, Put, Scan, pages_of, records_of
from bethink.vault.files.draft import PageFile, VaultDraft, page_file
from bethink.vault.files.folder import FileContent, FileTree, Folder, version_of
from bethink.vault.files.records import CONTENTS, VERSIONS, PageBytes, PageRecord, PageVersion
from bethink.vault.files.sync import FolderSync, changed_among

if TYPE_CHECKING:
    from bethink.vault.files.context import VaultContext

Erase = Callable[[str, str], tuple[str, tuple[str, ...]]]
"""From a page's path and text to the text without what is forgotten, and what was taken out."""
Rename = Callable[[str], str | None]
"""From a page's path to one that does not say it; None where it does not."""

_PAGE: Final = 200
_MOST_BYTES: Final = 50_000_000
"""A file that is not read for its size is looked through up to this one."""


@dataclass(frozen=True, slots=True)
class PageText:
    """What would go out of one page."""

    path: str
    parts: tuple[str, ...]


@dataclass(slots=True)
class Erased:
    """What goes: `changes` for the commit, the ids of `pages`, and paths that could not be looked through.

    Call `done` behind the commit.
    """

    changes: Sequence[StoreChange] = ()
    pages: Sequence[str] = ()
    unreached: Sequence[str] = ()
    done: Callable[[], None] = lambda: None


@dataclass(frozen=True, slots=True)
class _Now:
    """A content without what is forgotten."""

    version: str
    body: bytes
    gone: tuple[str, ...]


@dataclass(slots=True)
class _Work:
    """One erasing under the owner's lock."""

    draft: VaultDraft
    folder: Folder
    erase: Erase
    rename: Rename
    contents: dict[str, _Now]
    names: dict[str, str] = field(default_factory=dict[str, str])
    unreached: list[str] = field(default_factory=list[str])


@dataclass(frozen=True, slots=True)
class PageEraser:
    """Erases from the vaults of all owners."""

    context: VaultContext

    async def said(self, owner: str, erase: Erase) -> list[PageText]:
        """What would go out of pages as they are now; nothing changes."""
        found = await self._contents(owner, erase, [])
        known = await self.context.known(owner)
        paths = {
            path: now.gone for version, now in found.items() for path in known.by_version.get(version, ())
        }
        return [PageText(path, paths[path]) for path in sorted(paths)]

    @asynccontextmanager
    async def erasing(self, owner: str, erase: Erase, rename: Rename) -> AsyncGenerator[Erased]:
        """Erase from the files, and give the changes that are left to be committed.

        An owner of whose pages nothing is known has none that are touched.
        """
        if not self.context.settings.enabled or not (await self.context.known(owner)).version:
            yield Erased()
            return
        if (fault := await self.context.folder_fault(owner)) is not None:
            # What is on the pages would come back with their folder.
            raise StorageError(fault)
        await FolderSync(self.context).sync(owner)
        async with self.context.lock(owner) as draft:
            kept = records_of(self.context.store, owner, Scan(VERSIONS, limit=_PAGE))
            versions = [version async for version in kept]
            contents = await self._contents(owner, erase, versions)
            work = _Work(draft, self.context.folder(owner), erase, rename, contents)
            pages = await self._pages(work)
            for version, now in contents.items():
                draft.add(Delete(CONTENTS, version), Put(CONTENTS, PageBytes.of(now.version, now.body)))
            draft.add(*_of_versions(versions, work))
            if not draft.is_changed:
                yield Erased(unreached=work.unreached)
                return
            changes, vault = draft.changes()

            def applied() -> None:
                draft.applied(vault)
                # A name that is forgotten is told to nobody, not even as one that went.
                draft.known.left.clear()

            yield Erased(changes, pages, work.unreached, applied)

    async def _pages(self, work: _Work) -> list[str]:
        """Rewrite the files that say it; the ids of their pages."""
        draft, done = work.draft, list[str]()
        walked = FileTree()
        if await anyio.to_thread.run_sync(work.folder.exists):
            walked = await anyio.to_thread.run_sync(work.folder.walk, 0)
        # What was saved since all files were compared; nothing of it is taken in behind the forgetting.
        fresh = changed_among(draft.known, walked)
        for path in sorted(fresh - draft.known.pages.keys()):
            await anyio.to_thread.run_sync(_erase_file, work, path)
        for page in [*draft.known.pages.values()]:
            now, to = work.contents.get(page.version), work.rename(page.path)
            if page.state == "unread" or (page.path in fresh and now is None and to is None):
                if await anyio.to_thread.run_sync(_erase_file, work, page.path):
                    done.append(page.id)
                continue
            if now is None and to is None:
                continue
            await draft.fetch([page])
            written = await anyio.to_thread.run_sync(_rewrite, work, page, to)
            if written is None:
                draft.lose(page, by="outside")
            else:
                draft.rewrite(page, written)
            done.append(page.id)
        for page in [*draft.known.gone.values()]:
            if (to := work.rename(page.path)) is not None:
                draft.rename_gone(page, to)
        return done

    async def _contents(self, owner: str, erase: Erase, versions: Sequence[PageVersion]) -> dict[str, _Now]:
        """The contents that say it, by their versions, and what becomes of them."""
        known = await self.context.known(owner)
        paths = {one.content: one.path for one in versions if one.content is not None}
        paths |= {version: min(at) for version, at in known.by_version.items()}
        found: dict[str, _Now] = {}
        async for page in pages_of(self.context.store, owner, Scan(CONTENTS, limit=_PAGE)):
            contents = [item.record for item in page]
            found |= await anyio.to_thread.run_sync(_among, contents, paths, erase)
        return found


def _among(page: Sequence[PageBytes], paths: dict[str, str], erase: Erase) -> dict[str, _Now]:
    found: dict[str, _Now] = {}
    for content in page:
        text, gone = erase(paths.get(content.id, ""), content.inflated.decode())
        if gone:
            body = text.encode()
            found[content.id] = _Now(version_of(body), body, gone)
    return found


def _rewrite(work: _Work, page: PageRecord, to: str | None) -> PageFile | None:
    """Have the file say nothing of it, neither by its name; None where it is not there any more."""
    folder, path = work.folder, page.path
    content = folder.read(path, _MOST_BYTES)
    if content is None:
        return None
    # As it is now: what was saved meanwhile is kept, but for what is forgotten.
    text, gone = work.erase(path, content.body.decode())
    if to is not None:
        path = _free(work, to)
        folder.move(page.path, path)
    work.names[page.path] = path
    if not gone:
        return page_file(path, content)
    body = text.encode()
    return page_file(path, FileContent(body, folder.write(path, body, before=version_of(content.body))))


def _free(work: _Work, path: str) -> str:
    """The path, with a number where something is there already."""
    stem, number, free = path.removesuffix(".md"), 1, path
    while work.folder.stat(free) is not None:
        number += 1
        free = f"{stem}_{number}.md"
    return free


def _erase_file(work: _Work, path: str) -> bool:
    """Erase from a file that is no page, or not yet; whether it said anything of it."""
    try:
        content = work.folder.read(path, _MOST_BYTES)
        if content is None:
            return False
        text, gone = work.erase(path, content.body.decode())
        if gone:
            work.folder.write(path, text.encode(), before=version_of(content.body))
    except (UnicodeDecodeError, BethinkError):
        work.unreached.append(path)
        return False
    return bool(gone)


def _of_versions(versions: Sequence[PageVersion], work: _Work) -> list[StoreChange]:
    """The versions of what goes: of other content, and not to be taken back any more."""
    changes: list[StoreChange] = []
    for version in versions:
        note, noted = work.erase("", version.note) if version.note else ("", ())
        path, was = (_path(work, one) for one in (version.path, version.was))
        touched = {version.content, version.before} & work.contents.keys()
        if not (touched or noted or path != version.path or was != version.was):
            continue
        now = msgspec.structs.replace(
            version,
            content=_new(work, version.content),
            before=_new(work, version.before),
            path=path or version.path,
            was=was,
            note=note,
            final=True,
        )
        changes.append(Put(VERSIONS, now))
    return changes


def _new(work: _Work, version: str | None) -> str | None:
    now = None if version is None else work.contents.get(version)
    return version if now is None else now.version


def _path(work: _Work, path: str | None) -> str | None:
    return None if path is None else work.names.get(path) or work.rename(path) or path
