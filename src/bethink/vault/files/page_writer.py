"""How a page is changed: file first, then all that is known of it, under one lock. `service` calls it.

What is in the file and nobody has seen yet becomes a version before it is
overwritten, so that nothing that anybody wrote is lost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.errors import BadInput, Conflict, NoSuchPage, StorageError, TooLarge, UnknownId
from bethink.vault.files.draft import PageFile, seen
from bethink.vault.files.folder import CHANGED, EXISTS, version_of
from bethink.vault.files.folder import Content as FileContent
from bethink.vault.files.paths import checked_new
from bethink.vault.files.records import TROUBLES, Change, Meant

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import ParamSpec, TypeVar

    from bethink.settings_shapes import VaultSettings
    from bethink.vault.files.context import VaultContext
    from bethink.vault.files.draft import Draft
    from bethink.vault.files.folder import Folder
    from bethink.vault.files.records import By, PageVersion, Trouble
    from bethink.vault.files.versions import Versions

    P = ParamSpec("P")
    T = TypeVar("T")

_TOO_LARGE: Final[dict[Trouble, str]] = {
    "too_large": "a page may have {0.max_file_bytes:,} bytes: write several pages",
    "directory_full": "the pages of one folder may have {0.max_directory_bytes:,} bytes: use another folder",
    "vault_full": "all pages together may have {0.max_bytes:,} bytes: delete some, or set `vault`",
}
_UNREAD: Final = "{path} is left alone, since {why}: Bethink could not bring back what it overwrites."
_SINCE: Final = "This change cannot be taken back any more: {path} was changed again since."
_FORGOTTEN: Final = "This change cannot be taken back any more: what it held was forgotten, or is too old."


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who changes a page, and why; whether it is untrusted then, None where it is as it was.

    `holds` is awaited while nobody else can change a page: it raises where the text must not be written.
    """

    by: By
    note: str = ""
    untrusted: bool | None = None
    holds: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class PageWriter:
    """Changes pages of all owners, each within a draft."""

    context: VaultContext
    versions: Versions

    async def write(
        self, draft: Draft, path: str, body: bytes, *, if_version: str | None, how: Authorship
    ) -> Change:
        """Have a page hold this; see `Vault.write`."""
        if how.holds is not None:
            await how.holds()
        if (change := await self._save(draft, path, body, if_version=if_version, how=how)) is not None:
            return change
        now = await self._now(draft, path)
        if if_version is not None and if_version != ("" if now is None else now.version):
            raise Conflict(unlike(path, now and now.version, if_version))
        if now is None:
            path = checked_new(path)
        return await self._put(draft, path, body, now=now, how=how)

    async def replace(self, draft: Draft, path: str, body: bytes, *, version: str, how: Authorship) -> Change:
        """Have a page be where a file of this version is, which is no page; see `Vault.replace`."""
        if (page := draft.known.pages.get(path)) is not None:
            if page.state == "there":
                raise Conflict(EXISTS.format(path=path))
            draft.lose(page, by="outside")
            await draft.commit()
        return await self._put(draft, path, body, now=None, how=how, before=version)

    async def delete(self, draft: Draft, path: str, *, if_version: str | None, how: Authorship) -> Change:
        """Delete a page; see `Vault.delete`."""
        now = await self._now(draft, path)
        if now is None:
            raise NoSuchPage
        if if_version is not None and if_version != now.version:
            raise Conflict(unlike(path, now and now.version, if_version))
        return await self._remove(draft, now, how=how)

    async def move(self, draft: Draft, path: str, to: str, *, how: Authorship) -> Change:
        """Give a page another path; see `Vault.move`."""
        now = await self._now(draft, path)
        if now is None:
            raise NoSuchPage
        if path == to:
            return Change(path, now.version, now.version, None)
        folder, page = self._folder(draft), draft.known.pages[path]
        stat = await anyio.to_thread.run_sync(folder.move, path, to)
        moved = await anyio.to_thread.run_sync(seen, to, FileContent(now.body, stat.behind(now.stat)))
        change = draft.move(page, moved, by=how.by, note=how.note)
        try:
            await draft.commit()
        except StorageError:
            await anyio.to_thread.run_sync(folder.move, to, path)
            raise
        return change

    async def take_back(self, draft: Draft, version: PageVersion, *, how: Authorship) -> Change:
        """Make the page what it was before a change, if it still is what the change made of it.

        Raises:
            UnknownId: what it was is not kept any more.
            Conflict: it was changed again since.
        """
        page = draft.known.ids.get(version.page)
        now = await self._now(draft, version.path)
        here = None if now is None else now.version
        if page is None or draft.known.ids[page.id].path != version.path or here != version.content:
            raise Conflict(_SINCE.format(path=version.path))
        if version.what == "vouched":
            raise Conflict("Vouching for a page is not taken back.")
        if version.was is not None:
            return await self.move(draft, version.path, version.was, how=how)
        if version.before is None:
            if now is None:
                raise Conflict(_SINCE.format(path=version.path))
            return await self._remove(draft, now, how=how)
        body = await self.versions.content(draft.owner, version.before)
        if body is None:
            raise UnknownId(_FORGOTTEN)
        how = replace(how, untrusted=version.was_untrusted)
        return await self._put(draft, version.path, body, now=now, how=how)

    async def vouch(self, draft: Draft, path: str, *, how: Authorship) -> Change:
        """Have a page be its owner's own words; see `Vault.vouch`."""
        now = await self._now(draft, path)
        if now is None:
            raise NoSuchPage
        page = draft.known.pages[path]
        if not page.untrusted:
            return Change(path, now.version, now.version, None)
        change = draft.vouch(page, by=how.by)
        await draft.commit()
        return change

    async def _save(
        self, draft: Draft, path: str, body: bytes, *, if_version: str | None, how: Authorship
    ) -> Change | None:
        """Write a page whose file is as known, in one call of a thread; None if it takes more than that."""
        page = draft.known.pages.get(path)
        version = None if page is None else page.version
        is_simple = page is None or page.state == "there"
        if not is_simple or how.untrusted or if_version not in {None, version or ""}:
            return None
        if version == version_of(body) or draft.room(path, len(body)) is not None:
            return None
        if (base := page or draft.known.gone.get(path)) is not None:
            await draft.fetch([base])
        most = draft.sizes.max_file_bytes
        save = partial(_saved, self._folder(draft), path, body, version=version, most=most)
        written = await anyio.to_thread.run_sync(save)
        if written is None:
            return None
        change = draft.take(written, by=how.by, note=how.note, untrusted=how.untrusted)
        await draft.commit()
        return change

    async def _now(self, draft: Draft, path: str) -> PageFile | None:
        """What the file holds; what nobody had seen of it is a version from now on.

        Raises:
            BadInput: it cannot be kept as a version.
        """
        folder = self._folder(draft)
        content = await anyio.to_thread.run_sync(folder.read, path, draft.sizes.max_file_bytes)
        known = draft.known.pages.get(path)
        if content is None:
            if known is not None:
                await draft.fetch([known])
                draft.lose(known, by="outside")
                await draft.commit()
            return None
        now = await anyio.to_thread.run_sync(seen, path, content)
        if now.text is None:
            raise BadInput(_UNREAD.format(path=path, why=TROUBLES["not_utf8"]))
        base = known or draft.known.gone.get(path)
        await draft.fetch([base] if base else [])
        if known is None or known.state != "there" or known.version != now.version:
            draft.take(now, by="outside")
            await draft.commit()
            await draft.fetch([draft.known.pages[path]])
        return now

    async def _put(
        self,
        draft: Draft,
        path: str,
        body: bytes,
        *,
        now: PageFile | None,
        how: Authorship,
        before: str | None = None,
    ) -> Change:
        if now is not None and now.body == body:
            return Change(path, now.version, now.version, None)
        if (trouble := draft.room(path, len(body))) is not None:
            raise too_large(path, len(body), trouble, sizes=draft.sizes)
        if now is None and (gone := draft.known.gone.get(path)) is not None:
            await draft.fetch([gone])
        before = before if now is None else now.version
        folder = self._folder(draft)
        if how.untrusted:
            # Should the process end between the file and its record, nobody takes it for the owner's words.
            await draft.announce([Meant(path, version_of(body), how.by, how.note, how.untrusted)])
        stat = await anyio.to_thread.run_sync(lambda: folder.write(path, body, before=before))
        written = await anyio.to_thread.run_sync(seen, path, FileContent(body, stat))
        change = draft.take(written, by=how.by, note=how.note, untrusted=how.untrusted)
        await draft.commit()
        return change

    async def _remove(self, draft: Draft, now: PageFile, *, how: Authorship) -> Change:
        folder = self._folder(draft)
        page = draft.known.pages[now.path]
        await anyio.to_thread.run_sync(lambda: folder.delete(now.path, before=now.version))
        change = draft.lose(page, by=how.by, note=how.note)
        try:
            await draft.commit()
        except StorageError:
            # What could not be recorded could not be taken back: the page stays, as is said.
            await anyio.to_thread.run_sync(lambda: folder.write(now.path, now.body, before=None))
            raise
        return change or Change(now.path, now.version, None, None)

    def _folder(self, draft: Draft) -> Folder:
        return self.context.folder(draft.owner)


def _saved(folder: Folder, path: str, body: bytes, *, version: str | None, most: int) -> PageFile | None:
    """Write a page that is still of this version; what it holds then, None if it is of another."""
    content = folder.read(path, most)
    if version != (None if content is None else version_of(content.body)):
        return None
    if content is None:
        checked_new(path)
    return seen(path, FileContent(body, folder.write(path, body, before=version)))


def encoded(text: str) -> bytes:
    """A page's text as its file's bytes.

    Raises:
        BadInput: no file can hold it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(
            "The text holds half of a character (a lone surrogate): remove or replace it."
        ) from error


def too_large(path: str, size: int, trouble: Trouble, *, sizes: VaultSettings) -> TooLarge:
    """Why a page of so many bytes has no place."""
    return TooLarge(f"{path} would have {size:,} bytes: {_TOO_LARGE[trouble].format(sizes)}.")


def unlike(path: str, version: str | None, given: str) -> str:
    """That a page, of this version now, is not of the given one."""
    if version is None:
        return f"{path} is not there any more: list the folder, or write it anew without a version."
    return (CHANGED if given else EXISTS).format(path=path)
