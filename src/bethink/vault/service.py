"""The vaults of all owners: folders of Markdown files, read and changed here, and everything raw.

For the owner's own eyes, and for code that filters afterwards (`views`). The
files are the truth; a change is in the file, in the history and in what is
searched when it returns.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

import anyio.to_thread

from bethink.errors import BadInput, Conflict, NoSuchPage, StorageError, TooLarge, UnknownId
from bethink.forgettable import Forgettable
from bethink.principal import OWN_EYES, Principal
from bethink.vault.files.context import PageNews, VaultContext
from bethink.vault.files.draft import UNDO
from bethink.vault.files.erasure import Erase, Erased, PageEraser, PageText, Rename
from bethink.vault.files.folder import Folder, brought_back, kept_beside, version_of
from bethink.vault.files.page_reader import FoundPart, found_parts, is_searched_whole, listing
from bethink.vault.files.page_writer import FORGOTTEN, Authorship, PageToDelete, PageWriter, encoded
from bethink.vault.files.paths import (
    ENDING,
    checked,
    checked_folder,
    checked_new,
    folder_of,
    folders_of,
    is_page,
)
from bethink.vault.files.records import ASIDE, TROUBLES, Change, CurrentPage, VaultState
from bethink.vault.files.sync import FolderSync, SyncReport
from bethink.vault.files.versions import Versions

if TYPE_CHECKING:
    from bethink.clock import Clock, Ids
    from bethink.settings import Settings, VaultSettings
    from bethink.store import Store
    from bethink.vault.files.page_writer import BulkResult, PageToWrite
    from bethink.vault.files.records import By, ListedFile, PageRecord, PageVersion

USER_PAGE: Final = "user.md"
IMPORTED: Final = "imported"
"""The folder in which imports write."""
_MOST_ATTACHED: Final = 200_000_000
"""Bytes of a file beside the pages that is compared; nothing so long is imported."""
_ASIDE: Final = "page-aside:"
"""How the tokens begin that bring back a file that was set aside."""
_FIRST: Final = "# About me\n"
_NO_TOKEN: Final = "This is not an undo token of a page: use the one that came with the change."  # noqa: S105 - a sentence
_NAMELESS: Final = "forgotten.md"
_SHARED: Final = "The pages lie in {}: other programs may use them there, and lose them too."
_NOT_TEXT: Final = "{path} is not UTF-8 text: save it as UTF-8."


@dataclass(slots=True)
class Vault:
    """The pages of all owners. What reads takes an owner, what changes a `Principal`.

    Paths are relative, POSIX and end in `.md`; `if_version` is the version that was read, "" for a page
    that must not exist.

    Raises:
        NotAllowed: there are no vaults.
        NoSuchPage: there is no page at the path, or never was one whose versions are asked for.
        BadInput: the path is not safe, the text is none, what is there cannot be kept as a version, or the
            token is none of a page's.
        Conflict: the page is of another version or was changed again since, there is one already, or a name
            differs from another's in case only.
        TooLarge: the page, its folder or the vault would be larger than they may be.
        UnknownId: there is no such version, or what it held is not kept any more.
        StorageError: the disk refuses.
    """

    context: VaultContext
    versions: Versions = field(init=False)
    _syncing: FolderSync = field(init=False, repr=False)
    _erasing: PageEraser = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.versions = Versions(self.context)
        self._syncing = FolderSync(self.context)
        self._erasing = PageEraser(self.context)

    @classmethod
    def of(cls, settings: Settings, store: Store, clock: Clock, *, new_id: Ids) -> Vault:
        """As the settings want it."""
        return cls(VaultContext(settings.vault, settings.data_dir, store, clock, new_id))

    @property
    def settings(self) -> VaultSettings:
        """Where the pages are, and how large they may be."""
        return self.context.settings

    @property
    def news(self) -> PageNews:
        """Wakes those who follow pages."""
        return self.context.news

    def root(self, owner: str) -> Path:
        """The owner's folder; there may be none yet."""
        return self.context.root(owner)

    async def exists(self, owner: str) -> bool:
        """Whether the owner has a vault."""
        return self.settings.enabled and await anyio.to_thread.run_sync(self.context.folder(owner).exists)

    async def folder_fault(self, owner: str) -> str | None:
        """Why the folder is not used: it is missing, or another one than that of the pages; None if it is."""
        return await self.context.folder_fault(owner) if self.settings.enabled else None

    async def begin(self, principal: Principal, *, takes_any: bool = False) -> bool:
        """Have the folder and `user.md` be there; whether anything was made.

        If it `takes_any` folder, that is the one of the pages from now on: those that are not in it are gone.
        """
        folder = self.context.folder(principal.owner)
        if takes_any:
            await self.context.take_folder(principal.owner)
        elif (fault := await self.folder_fault(principal.owner)) is not None:
            raise StorageError(fault)
        await anyio.to_thread.run_sync(folder.make)
        if await anyio.to_thread.run_sync(folder.stat, USER_PAGE) is not None:
            return False
        try:
            await self.write(principal, USER_PAGE, _FIRST, if_version="", by="person", note="The first page")
        except Conflict:
            return False
        return True

    async def read(self, owner: str, path: str) -> CurrentPage:
        """A page as its file is now."""
        path = checked(path)
        folder, most = self.context.folder(owner), self.settings.max_file_bytes
        content = await anyio.to_thread.run_sync(folder.read, path, most)
        if content is None:
            raise NoSuchPage
        try:
            text = content.body.decode()
        except UnicodeDecodeError as error:
            raise BadInput(_NOT_TEXT.format(path=path)) from error
        known = (await self.context.known(owner)).pages.get(path)
        # What nobody has taken in yet was laid in by another program.
        untrusted = self.settings.trust == "untrusted" if known is None else known.untrusted
        size, changed = content.stat.size, content.stat.mtime // 1000
        return CurrentPage(path, text, version_of(content.body), size, changed, untrusted)

    async def picture(self, owner: str, source: str, page: str) -> PagePicture | None:
        """The picture that a page names; None where there is none that can be shown."""
        return await anyio.to_thread.run_sync(picture_in, self.context.folder(owner), source, page)

    async def attached(self, owner: str, path: str) -> str | None:
        """The version of a file that lies beside the pages; None where there is none, "" of a huge one."""
        folder = self.context.folder(owner)
        try:
            found = await anyio.to_thread.run_sync(folder.read, checked_folder(path), _MOST_ATTACHED)
        except TooLarge:
            return ""
        return found and version_of(found.body)

    async def attach(self, principal: Principal, path: str, body: bytes) -> None:
        """Lay a new file beside the pages.

        Raises:
            BadInput: some system cannot keep such a path.
            Conflict: something lies there.
            StorageError: it cannot be kept.
        """
        path = checked_folder(path, new=True)
        async with self.context.lock(principal.owner, "made"):
            write = partial(self.context.folder(principal.owner).write, path, body, before=None)
            await anyio.to_thread.run_sync(write)

    async def detach(self, owner: str, path: str, version: str) -> None:
        """Remove a file that lies beside the pages, if it is of this version still.

        Raises:
            Conflict: it is not.
        """
        path = checked_folder(path)
        async with self.context.lock(owner, "there"):
            delete = partial(self.context.folder(owner).delete, path, before=version)
            await anyio.to_thread.run_sync(delete)

    async def listed(self, owner: str, folder: str = "", *, deep: bool = False) -> Sequence[ListedFile]:
        """What is in a folder now, folders first, or with `deep` in all those below it, too."""
        return await listing(self.context, owner, checked_folder(folder), deep=deep)

    async def is_untrusted(self, owner: str, paths: Iterable[str]) -> bool:
        """Whether any of these pages, or of those in these folders, is from outside.

        One that is not known yet counts as laid in by another program.
        """
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
            if folders.get(path, self.settings.trust == "untrusted"):
                return True
        return False

    async def pages(self, owner: str) -> Mapping[str, PageRecord]:
        """What is known of all pages by their paths, without looking at the files: those that are read."""
        known = await self.context.known(owner)
        return {path: page for path, page in known.pages.items() if page.state == "there"}

    async def aliases(self, owner: str) -> Mapping[str, str]:
        """Other names of the pages, from their front matter, with their paths."""
        return (await self.context.known(owner)).aliases

    async def changed_since(self, owner: str, change: int) -> tuple[int, Sequence[PageRecord]]:
        """The pages changed after the change of this number, and the number of the last one."""
        known = await self.context.known(owner)
        found = [page for page in known.ids.values() if page.change > change]
        return known.vault.change, sorted(found, key=lambda page: page.change)

    async def left_since(self, owner: str, change: int) -> Sequence[str]:
        """The paths from which pages moved away after the change of this number, and where none is now."""
        known = await self.context.known(owner)
        return [path for at, path in known.left if at > change and path not in known.pages]

    async def state(self, owner: str) -> VaultState:
        """How many pages there are, what cannot be read and why."""
        known = await self.context.known(owner)
        unread = [
            (path, TROUBLES[page.trouble])
            for path, page in sorted(known.pages.items())
            if page.trouble is not None
        ]
        there = sum(page.state == "there" for page in known.pages.values())
        return VaultState(there, known.bytes, (*unread, *known.vault.odd))

    async def ignore_in_checks(self, owner: str, kinds: Sequence[str]) -> None:
        """Keep which kinds of defects a check of this vault is to say nothing of."""
        async with self.context.lock(owner) as draft:
            await draft.ignore(kinds)

    async def faults(self, owner: str) -> Sequence[str]:
        """What of the vault is not as its files are, in words; nothing where all is well."""
        behind = await self._syncing.behind(owner)
        faults = [f"{behind:,} changed files are not indexed yet: `bethink vault sync`"] if behind else []
        if not await is_searched_whole(self.context, owner):
            faults.append("the index is not complete: `bethink vault sync --rebuild`")
        return faults

    async def parts(self, owner: str, ids: Sequence[str]) -> Sequence[FoundPart | None]:
        """The parts with these ids of index items, in their order, None for what is gone."""
        return await found_parts(self.context, owner, ids)

    async def write(
        self,
        principal: Principal,
        path: str,
        text: str,
        *,
        if_version: str | None = None,
        by: By,
        note: str = "",
    ) -> Change:
        """Have a page hold a text, exactly; it is made if it is not there."""
        return await self.put(principal, path, text, if_version=if_version, how=Authorship(by, note))

    async def put(
        self, principal: Principal, path: str, text: str, *, if_version: str | None = None, how: Authorship
    ) -> Change:
        """The same, by somebody who may have had the text from outside; see `write` for what it raises."""
        path = checked(path)
        body = encoded(text)
        async with self._writing(principal.owner, "made") as writer:
            return await writer.write(path, body, if_version=if_version, how=how)

    async def write_many(self, principal: Principal, wanted: Sequence[PageToWrite]) -> list[BulkResult]:
        """Have many pages hold what they should, each as `put` does, as one change: much faster.

        What became of each, in their order; one that is refused keeps no other. All is durable when it
        returns. What stands in its place when the process ends before that is known as what it is later.
        """
        async with self._writing(principal.owner, "made") as writer:
            return await writer.write_many(wanted)

    async def delete(
        self, principal: Principal, path: str, *, if_version: str | None = None, by: By, note: str = ""
    ) -> Change:
        """Delete a page; its history stays, and the change can be taken back."""
        path = checked(path)
        async with self._writing(principal.owner, "there") as writer:
            return await writer.delete(path, if_version=if_version, how=Authorship(by, note))

    async def delete_many(
        self, principal: Principal, unwanted: Sequence[PageToDelete], *, by: By, note: str = ""
    ) -> list[BulkResult]:
        """Delete many pages, each as `delete` does, as one change: much faster; what became of each."""
        async with self._writing(principal.owner, "there") as writer:
            return await writer.delete_many(unwanted, Authorship(by, note))

    async def move(self, principal: Principal, path: str, to: str, *, by: By, note: str = "") -> Change:
        """Give a page another path; it keeps its history."""
        path, to = checked(path), checked_new(to)
        async with self._writing(principal.owner, "there") as writer:
            return await writer.move(path, to, how=Authorship(by, note))

    async def create_folder(self, principal: Principal, folder: str) -> None:
        """Have a folder be there."""
        folder = checked_folder(folder, new=True)
        async with self.context.lock(principal.owner, "made"):
            await anyio.to_thread.run_sync(self.context.folder(principal.owner).make_folder, folder)

    async def delete_folder(self, principal: Principal, folder: str) -> None:
        """Remove an empty folder."""
        folder = checked_folder(folder)
        if not folder:
            raise BadInput("The vault itself is not removed from here.")
        async with self.context.lock(principal.owner, "there"):
            await anyio.to_thread.run_sync(self.context.folder(principal.owner).remove_folder, folder)

    async def history(self, owner: str, path: str) -> Sequence[PageVersion]:
        """The changes of a page, the newest first; also of one that is deleted."""
        return await self.versions.history(owner, checked(path))

    async def version(self, owner: str, path: str, id: str) -> CurrentPage:
        """The page as one of its changes left it."""
        return await self.versions.version(owner, checked(path), id)

    async def restore(self, principal: Principal, path: str, id: str, *, by: By = "person") -> Change:
        """Have a page say again what it said after one of its changes; also one that is deleted."""
        path = checked(path)
        async with self._writing(principal.owner, "made") as writer:
            # Read while nobody forgets anything of it.
            old = await self.versions.version(principal.owner, path, id)
            how = Authorship(by, f"Restored version {id}", old.untrusted)
            return await writer.write(path, encoded(old.text), if_version=None, how=how)

    async def vouch(self, principal: Principal, path: str) -> Change:
        """Say that a page is the owner's own words, whoever wrote them."""
        path = checked(path)
        async with self._writing(principal.owner, "there") as writer:
            return await writer.vouch(path, how=Authorship("person"))

    async def undo(self, principal: Principal, token: str, *, by: By = "person") -> Change:
        """Take back the change that a token names; that is a change, too, with a token of its own."""
        if token.startswith(_ASIDE) and principal.audience in OWN_EYES:
            return await self._bring_back(principal.owner, token.removeprefix(_ASIDE))
        if not token.startswith(UNDO):
            raise BadInput(_NO_TOKEN)
        version = await self.versions.get(principal.owner, token.removeprefix(UNDO))
        if version is None or version.final:
            raise UnknownId(FORGOTTEN)
        async with self._writing(principal.owner, "there") as writer:
            return await writer.take_back(version, how=Authorship(by, "Taken back"))

    async def set_aside(self, principal: Principal, path: str, version: str) -> Change:
        """Have a file that cannot be read be kept beside, too, by a name of its own; see `replace`."""
        path = checked(path)
        async with self.context.lock(principal.owner, "there"):
            aside = await anyio.to_thread.run_sync(
                kept_beside, self.context.folder(principal.owner), path, version
            )
        return Change(path, version, None, f"{_ASIDE}{aside}")

    async def replace(
        self, principal: Principal, path: str, text: str, *, version: str, how: Authorship
    ) -> Change:
        """Have a page take the place of a file that cannot be read, which was set aside."""
        path, body = checked(path), encoded(text)
        async with self._writing(principal.owner, "there") as writer:
            return await writer.replace(path, body, version=version, how=how)

    async def _bring_back(self, owner: str, aside: str) -> Change:
        path = checked(aside.rpartition(ASIDE)[0])
        checked(f"{aside}{ENDING}")
        async with self.context.lock(owner, "there"):
            await anyio.to_thread.run_sync(brought_back, self.context.folder(owner), path, aside)
        await self.sync(owner, [path])
        return Change(path, None, "", None)

    async def said(self, owner: str, erase: Erase) -> Sequence[PageText]:
        """What would be erased from pages as they are; nothing changes."""
        if not await self.exists(owner):
            return ()
        return await self._erasing.said(owner, erase)

    def erasing(self, owner: str, erase: Erase, rename: Rename) -> AbstractAsyncContextManager[Erased]:
        """Erase from files, versions and what is searched; see `PageEraser.erasing`."""
        return self._erasing.erasing(owner, erase, rename)

    @property
    def forgettable(self) -> Forgettable:
        """How all of an owner's pages go, with their history."""

        async def paths(owner: str, limit: int | None = None) -> list[str]:
            return sorted(await self.pages(owner))[:limit] if await self.exists(owner) else []

        async def count(owner: str) -> int:
            return len(await paths(owner))

        async def shared(owner: str) -> str:
            if not self.settings.enabled:
                return ""
            root = self.root(owner)
            is_ours = await anyio.to_thread.run_sync(
                lambda: root.resolve().is_relative_to(self.context.data_dir.resolve())
            )
            return "" if is_ours else _SHARED.format(root)

        return Forgettable("pages", "page", "pages", count, paths, self._remove_all, shared)

    async def _remove_all(self, owner: str) -> None:
        """Empty all pages and what is kept of them under other names, then delete them."""
        if not self.settings.enabled or not (await self.pages(owner) or await self.exists(owner)):
            return

        def erase(path: str, text: str) -> tuple[str, tuple[str, ...]]:
            del path
            return "", ((text,) if text else ())

        async with self.erasing(
            owner, erase, lambda path: _NAMELESS if path != _NAMELESS else None
        ) as erased:
            await self.context.store.commit(owner, erased.changes)
            erased.done()
        async with self._writing(owner, "there") as writer:
            unwanted = [
                PageToDelete(path, lambda _version: True)
                for path, page in writer.draft.known.pages.items()
                if page.state == "there"
            ]
            await writer.delete_many(unwanted, Authorship("person", ""))
            await anyio.to_thread.run_sync(remove_attached, self.root(owner) / IMPORTED)

    @asynccontextmanager
    async def _writing(self, owner: str, folder: Literal["there", "made"]) -> AsyncGenerator[PageWriter]:
        """What changes the owner's pages, while nobody else does; the folder must be there, or is made."""
        async with self.context.lock(owner, folder) as draft:
            yield PageWriter(draft, self.context.folder(owner), self.versions)

    async def purge(self, owner: str) -> None:
        """Leave no trace of what was erased in files that are made from the pages."""
        for purge in self.context.purge_hooks:
            await purge(owner)

    async def sync(
        self, owner: str, paths: Collection[str] | None = None, *, rebuild: bool = False
    ) -> SyncReport:
        """Take in what changed in the files without Bethink; see `FolderSync.sync`."""
        return await self._syncing.sync(owner, paths, rebuild=rebuild)

    async def reindex(self, owner: str, paths: Sequence[str]) -> None:
        """Make anew what is searched of these pages; what says the same keeps its vectors."""
        await self._syncing.reindex(owner, paths)


MAX_BYTES: Final = 20_000_000
_KINDS: Final[tuple[tuple[bytes, int, str], ...]] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"ftypavif", 4, "image/avif"),
)
"""First bytes, where they stand, and the kind; SVG is not shown, since it can hold a script."""


class PagePicture(NamedTuple):
    """A picture and its kind."""

    body: bytes
    media_type: str


def picture_in(folder: Folder, source: str, page: str) -> PagePicture | None:
    """The picture that a page names: beside it, else from the top of the vault; None where there is none."""
    for base in dict.fromkeys((folder_of(page), "")):
        path = posixpath.normpath(posixpath.join(base, source.lstrip("/")))
        try:
            # A picture's path is as safe as a folder's.
            found = folder.read(checked_folder(path), MAX_BYTES)
        except (BadInput, TooLarge, StorageError):
            continue
        if found is not None and (kind := _kind(found.body)) is not None:
            return PagePicture(found.body, kind)
    return None


def remove_attached(root: Path) -> None:
    """Remove the files that imports laid beside their pages; links are not followed."""
    if root.is_symlink():
        return
    for folder, _, names in os.walk(root):
        for name in names:
            if not is_page(name) and not name.startswith("."):
                with suppress(OSError):
                    (Path(folder) / name).unlink()


def _kind(body: bytes) -> str | None:
    """What the bytes are, if a browser may show them."""
    return next((kind for start, at, kind in _KINDS if body.startswith(start, at)), None)
