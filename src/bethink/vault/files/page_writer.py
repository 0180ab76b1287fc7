"""How pages are changed: file first, then all that is known of it, under one lock. `service` calls it.

What is in the file and nobody has seen yet becomes a version before it is overwritten, so that nothing
that anybody wrote is lost. Many pages are one commit, and a flush of each folder: before their files come
into their places it is noted what is meant to be there; if the process dies before the commit, the next
look at the files takes them in as what they are, and not as somebody else's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

import anyio.to_thread

from bethink.errors import BadInput, BethinkError, Conflict, NoSuchPage, StorageError, TooLarge, UnknownId
from bethink.vault.files.draft import PageFile, VaultDraft, page_file
from bethink.vault.files.folder import CHANGED, EXISTS, FileContent, Folder, version_of
from bethink.vault.files.paths import checked, checked_new, folder_of
from bethink.vault.files.records import TROUBLES, By, Change, Meant, PageRecord, PageVersion, Trouble

if TYPE_CHECKING:
    from bethink.vault.files.versions import Versions

T = TypeVar("T")

_TOO_LARGE: Final[dict[Trouble, str]] = {
    "too_large": "a page may have {0.max_file_bytes:,} bytes: write several pages",
    "directory_full": "the pages of one folder may have {0.max_directory_bytes:,} bytes: use another folder",
    "vault_full": "all pages together may have {0.max_bytes:,} bytes: delete some, or set `vault`",
}
_UNREAD: Final = "{path} is left alone, since {why}: Bethink could not restore what it overwrites."
_SINCE: Final = "This change can no longer be undone: {path} was changed again since."
FORGOTTEN: Final = "This change can no longer be undone: its text was forgotten, or is too old."

BulkResult = Change | BethinkError
"""What became of one of many pages, or why nothing did."""


@dataclass(frozen=True, slots=True)
class Authorship:
    """Who changes a page, and why; whether it is untrusted then, None if it stays as it was.

    `holds` is awaited while nobody else can change a page: it raises if the text must not be written.
    """

    by: By
    note: str = ""
    untrusted: bool | None = None
    holds: Callable[[], Awaitable[None]] | None = None


@dataclass(frozen=True, slots=True)
class PageToWrite:
    """A page that is to hold a text, by whom; `if_version` is as in `Vault.write`."""

    path: str
    text: str
    how: Authorship
    if_version: str | None = None


@dataclass(frozen=True, slots=True)
class PageToDelete:
    """A page that is to go, if it `may` as the version that it is of."""

    path: str
    may: Callable[[str], bool]


class _Now(NamedTuple):
    """Of which version the file at a path is; None if there is none."""

    path: str
    version: str | None


@dataclass(frozen=True, slots=True)
class _Plan:
    """A page that is written with the others: what it is to hold, and of which version its file is."""

    place: int
    path: str
    body: bytes
    how: Authorship
    before: str | None


@dataclass(frozen=True, slots=True)
class PageWriter:
    """Changes pages of one owner within a draft, whose lock is held; errors are those of `Vault`."""

    draft: VaultDraft
    folder: Folder
    versions: Versions

    async def write(self, path: str, body: bytes, *, if_version: str | None, how: Authorship) -> Change:
        """Have a page hold this."""
        if how.holds is not None:
            await how.holds()
        if (change := await self._save(path, body, if_version=if_version, how=how)) is not None:
            return change
        now = await self._now(path)
        if if_version is not None and if_version != ("" if now is None else now.version):
            raise Conflict(_unlike(path, now and now.version, if_version))
        return await self._put(checked_new(path) if now is None else path, body, now=now, how=how)

    async def replace(self, path: str, body: bytes, *, version: str, how: Authorship) -> Change:
        """Have a page be where a file of this version is, which is no page."""
        if (page := self.draft.known.pages.get(path)) is not None:
            if page.state == "there":
                raise Conflict(EXISTS.format(path=path))
            self.draft.lose(page, by="outside")
            await self.draft.commit()
        return await self._put(path, body, now=None, how=how, before=version)

    async def delete(self, path: str, *, if_version: str | None, how: Authorship) -> Change:
        """Delete a page."""
        now = await self._there(path)
        if if_version is not None and if_version != now.version:
            raise Conflict(_unlike(path, now.version, if_version))
        return await self._remove(now, how=how)

    async def move(self, path: str, to: str, *, how: Authorship) -> Change:
        """Give a page another path."""
        now = await self._there(path)
        if path == to:
            return Change(path, now.version, now.version, None)
        page = self.draft.known.pages[path]
        stat = await anyio.to_thread.run_sync(self.folder.move, path, to)
        moved = await anyio.to_thread.run_sync(page_file, to, FileContent(now.body, stat.behind(now.stat)))
        change = self.draft.move(page, moved, by=how.by, note=how.note)
        try:
            await self.draft.commit()
        except StorageError:
            await anyio.to_thread.run_sync(self.folder.move, to, path)
            raise
        return change

    async def take_back(self, version: PageVersion, *, how: Authorship) -> Change:
        """Make the page what it was before a change, if it still is what the change made of it.

        Raises:
            UnknownId: what it was is not kept any more.
            Conflict: it was changed again since.
        """
        page = self.draft.known.ids.get(version.page)
        now = await self._now(version.path)
        here = None if now is None else now.version
        if page is None or self.draft.known.ids[page.id].path != version.path or here != version.content:
            raise Conflict(_SINCE.format(path=version.path))
        if version.what == "vouched":
            raise Conflict("Vouching for a page cannot be undone.")
        if version.was is not None:
            return await self.move(version.path, version.was, how=how)
        if version.before is None:
            if now is None:
                raise Conflict(_SINCE.format(path=version.path))
            return await self._remove(now, how=how)
        body = await self.versions.content(self.draft.owner, version.before)
        if body is None:
            raise UnknownId(FORGOTTEN)
        how = replace(how, untrusted=version.was_untrusted)
        return await self._put(version.path, body, now=now, how=how)

    async def vouch(self, path: str, *, how: Authorship) -> Change:
        """Have a page be its owner's own words."""
        now = await self._there(path)
        page = self.draft.known.pages[path]
        if not page.untrusted:
            return Change(path, now.version, now.version, None)
        change = self.draft.vouch(page, by=how.by)
        await self.draft.commit()
        return change

    async def write_many(self, wanted: Sequence[PageToWrite]) -> list[BulkResult]:
        """Have the pages hold their texts; what became of each, in their order."""
        became: dict[int, BulkResult] = {}
        plans = await self._plans(wanted, became)
        if plans:
            became |= await self._write_together(plans)
        # What differs from what is known of it is looked at, and written, by itself.
        for place, one in enumerate(wanted):
            if place not in became:
                became[place] = await _outcome(self._write_alone(one))
        return [became[place] for place in range(len(wanted))]

    async def delete_many(self, unwanted: Sequence[PageToDelete], how: Authorship) -> list[BulkResult]:
        """Have the pages go; what became of each, in their order."""
        found = await anyio.to_thread.run_sync(self._versions_at, [one.path for one in unwanted])
        became: dict[int, BulkResult] = {}
        going: dict[int, PageRecord] = {}
        paths: set[str] = set()
        for place, now in enumerate(found):
            if isinstance(now, BethinkError):
                became[place] = now
                continue
            page = self.draft.known.pages.get(now.path)
            if now.version is not None and not unwanted[place].may(now.version):
                became[place] = Conflict(_unlike(now.path, now.version, now.version))
            elif page and (page.state, page.version) == ("there", now.version) and now.path not in paths:
                paths.add(now.path)
                going[place] = page
        gone = await anyio.to_thread.run_sync(self._remove_files, going)
        for place, error in gone.items():
            page = going[place]
            change = None if error is not None else self.draft.lose(page, by=how.by, note=how.note)
            became[place] = error or change or Change(page.path, page.version, None, None)
        await self.draft.commit()
        for place, now in enumerate(found):
            if place not in became and isinstance(now, _Now):
                became[place] = await _outcome(self.delete(now.path, if_version=now.version, how=how))
        return [became[place] for place in range(len(unwanted))]

    def _remove_files(self, going: Mapping[int, PageRecord]) -> dict[int, BethinkError | None]:
        """Remove the files; why one was not."""
        delete = partial(self.folder.delete, flush=False)
        gone = {at: _tried(partial(delete, page.path, before=page.version)) for at, page in going.items()}
        self.folder.flush({folder_of(page.path) for page in going.values()})
        return gone

    async def _plans(self, wanted: Sequence[PageToWrite], became: dict[int, BulkResult]) -> list[_Plan]:
        """Those that can be written together; of those that are decided already, what became of them."""
        planned, plans = Counter[str](), list[_Plan]()
        paths: set[str] = set()
        found = await anyio.to_thread.run_sync(self._versions_at, [one.path for one in wanted])
        for place, now in enumerate(found):
            if isinstance(now, BethinkError):
                became[place] = now
                continue
            page = self.draft.known.pages.get(now.path)
            is_as_known = now.version == (page and page.version) and (page is None or page.state == "there")
            if now.path in paths or not is_as_known:
                continue
            paths.add(now.path)
            match _tried(partial(self._plan, place, wanted[place], now, planned=planned)):
                case _Plan() as plan:
                    plans.append(plan)
                case outcome:
                    became[place] = outcome or Change(now.path, now.version, now.version, None)
        return plans

    def _versions_at(self, paths: Sequence[str]) -> list[_Now | BethinkError]:
        """Of which versions the files are now, or what is wrong with them."""

        def now(name: str) -> _Now:
            path = checked(name)
            content = self.folder.read(path, self.draft.sizes.max_file_bytes)
            return _Now(path, None if content is None else version_of(content.body))

        return [_tried(partial(now, name)) for name in paths]

    def _plan(self, place: int, one: PageToWrite, now: _Now, *, planned: Counter[str]) -> _Plan | None:
        """How a page is written; None if nothing is to be done.

        Raises:
            BethinkError: it may not be written.
        """
        if one.if_version is not None and one.if_version != (now.version or ""):
            raise Conflict(_unlike(now.path, now.version, one.if_version))
        path = now.path if now.version else checked_new(one.path)
        body = encoded(one.text)
        if version_of(body) == now.version:
            return None
        self._check_room(path, body, planned)
        planned[folder_of(path)] += len(body)
        return _Plan(place, path, body, one.how, now.version)

    async def _write_together(self, plans: Sequence[_Plan]) -> dict[int, BulkResult]:
        draft, known = self.draft, self.draft.known
        held = [known.pages.get(plan.path) or known.gone.get(plan.path) for plan in plans]
        await draft.fetch([page for page in held if page is not None])
        await draft.announce([_meant(plan.path, plan.body, plan.how) for plan in plans])
        became: dict[int, BulkResult] = {}
        for plan, now in zip(plans, await anyio.to_thread.run_sync(self._write_files, plans), strict=True):
            if isinstance(now, BethinkError):
                became[plan.place] = now
            else:
                how = plan.how
                became[plan.place] = draft.take(now, by=how.by, note=how.note, untrusted=how.untrusted)
        await draft.commit()
        return became

    def _write_files(self, plans: Sequence[_Plan]) -> list[PageFile | BethinkError]:
        """Write the files; what each holds then, or why it does not."""

        def written(plan: _Plan) -> PageFile:
            stat = self.folder.write(plan.path, plan.body, before=plan.before, flush=False)
            return page_file(plan.path, FileContent(plan.body, stat))

        found = [_tried(partial(written, plan)) for plan in plans]
        self.folder.flush({folder_of(plan.path) for plan in plans})
        return found

    async def _write_alone(self, one: PageToWrite) -> Change:
        return await self.write(checked(one.path), encoded(one.text), if_version=one.if_version, how=one.how)

    async def _save(
        self, path: str, body: bytes, *, if_version: str | None, how: Authorship
    ) -> Change | None:
        """Write a page whose file is as known, in one call of a thread; None if it takes more than that."""
        draft, folder = self.draft, self.folder
        page = draft.known.pages.get(path)
        version = None if page is None else page.version
        is_simple = page is None or page.state == "there"
        if not is_simple or how.untrusted or if_version not in {None, version or ""}:
            return None
        if version == version_of(body) or draft.room(path, len(body)) is not None:
            return None
        if (base := page or draft.known.gone.get(path)) is not None:
            await draft.fetch([base])

        def save() -> PageFile | None:
            content = folder.read(path, draft.sizes.max_file_bytes)
            if version != (None if content is None else version_of(content.body)):
                return None
            if content is None:
                checked_new(path)
            return page_file(path, FileContent(body, folder.write(path, body, before=version)))

        written = await anyio.to_thread.run_sync(save)
        return None if written is None else await self._taken(written, how)

    async def _now(self, path: str) -> PageFile | None:
        """What the file holds; what nobody had seen of it is a version from now on.

        Raises:
            BadInput: it cannot be kept as a version.
        """
        draft = self.draft
        content = await anyio.to_thread.run_sync(self.folder.read, path, draft.sizes.max_file_bytes)
        known = draft.known.pages.get(path)
        if content is None:
            if known is not None:
                await draft.fetch([known])
                draft.lose(known, by="outside")
                await draft.commit()
            return None
        now = await anyio.to_thread.run_sync(page_file, path, content)
        if now.text is None:
            raise BadInput(_UNREAD.format(path=path, why=TROUBLES["not_utf8"]))
        base = known or draft.known.gone.get(path)
        await draft.fetch([base] if base else [])
        if known is None or known.state != "there" or known.version != now.version:
            draft.take(now, by="outside")
            await draft.commit()
            await draft.fetch([draft.known.pages[path]])
        return now

    async def _there(self, path: str) -> PageFile:
        now = await self._now(path)
        if now is None:
            raise NoSuchPage
        return now

    async def _put(
        self, path: str, body: bytes, *, now: PageFile | None, how: Authorship, before: str | None = None
    ) -> Change:
        if now is not None and now.body == body:
            return Change(path, now.version, now.version, None)
        self._check_room(path, body)
        if now is None and (gone := self.draft.known.gone.get(path)) is not None:
            await self.draft.fetch([gone])
        before = before if now is None else now.version
        if how.untrusted:
            # Should the process end between the file and its record, nobody takes it for the owner's words.
            await self.draft.announce([_meant(path, body, how)])
        stat = await anyio.to_thread.run_sync(lambda: self.folder.write(path, body, before=before))
        return await self._taken(
            await anyio.to_thread.run_sync(page_file, path, FileContent(body, stat)), how
        )

    async def _taken(self, written: PageFile, how: Authorship) -> Change:
        change = self.draft.take(written, by=how.by, note=how.note, untrusted=how.untrusted)
        await self.draft.commit()
        return change

    async def _remove(self, now: PageFile, *, how: Authorship) -> Change:
        page = self.draft.known.pages[now.path]
        await anyio.to_thread.run_sync(lambda: self.folder.delete(now.path, before=now.version))
        change = self.draft.lose(page, by=how.by, note=how.note)
        try:
            await self.draft.commit()
        except StorageError:
            # What could not be recorded could not be taken back: the page stays, as is said.
            await anyio.to_thread.run_sync(lambda: self.folder.write(now.path, now.body, before=None))
            raise
        return change or Change(now.path, now.version, None, None)

    def _check_room(self, path: str, body: bytes, planned: Counter[str] | None = None) -> None:
        if (trouble := self.draft.room(path, len(body), planned)) is not None:
            why = _TOO_LARGE[trouble].format(self.draft.sizes)
            raise TooLarge(f"{path} would have {len(body):,} bytes: {why}.")


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


def _tried(call: Callable[[], T]) -> T | BethinkError:
    """What a call gives, or why it gives nothing."""
    try:
        return call()
    except BethinkError as error:
        return error


async def _outcome(change: Awaitable[Change]) -> BulkResult:
    try:
        return await change
    except StorageError:
        raise
    except BethinkError as error:
        return error


def _meant(path: str, body: bytes, how: Authorship) -> Meant:
    return Meant(path, version_of(body), how.by, how.note, how.untrusted)


def _unlike(path: str, version: str | None, given: str) -> str:
    """That a page, of this version now, is not of the given one."""
    if version is None:
        return f"{path} no longer exists: list the folder, or write it again without a version."
    return (CHANGED if given else EXISTS).format(path=path)
