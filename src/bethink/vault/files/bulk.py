"""Many pages written or deleted in one go: one lock, one commit, a flush of each folder. `service` calls it.

Before the files come into their places it is noted what is meant to be there: if
the process dies before the commit, the next look at the files takes them in as
what they are, and not as somebody else's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import anyio.to_thread

from bethink.errors import BethinkError, Conflict, StorageError
from bethink.vault.files.draft import PageFile, seen
from bethink.vault.files.folder import Content as FileContent
from bethink.vault.files.folder import version_of
from bethink.vault.files.page_writer import encoded, too_large, unlike
from bethink.vault.files.paths import checked, checked_new, folder_of
from bethink.vault.files.records import Change, Meant

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bethink.vault.files.draft import Draft
    from bethink.vault.files.folder import Folder
    from bethink.vault.files.page_writer import Authorship, PageWriter
    from bethink.vault.files.records import PageRecord

BulkResult = Change | BethinkError
"""What became of one of many pages, or why nothing did."""


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
    """Of which version the file at a path is; None where there is none."""

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

    @property
    def meant(self) -> Meant:
        return Meant(self.path, version_of(self.body), self.how.by, self.how.note, self.how.untrusted)


@dataclass(frozen=True, slots=True)
class Bulk:
    """Writes and deletes pages of one owner, within a draft."""

    changing: PageWriter
    draft: Draft
    folder: Folder

    async def write(self, wanted: Sequence[PageToWrite]) -> list[BulkResult]:
        """Have the pages hold their texts; see `Vault.write_many`."""
        became: dict[int, BulkResult] = {}
        plans = await self._plans(wanted, became)
        if plans:
            became |= await self._written(plans)
        # What differs from what is known of it is looked at, and written, by itself.
        for place, one in enumerate(wanted):
            if place not in became:
                became[place] = await self._alone(one)
        return [became[place] for place in range(len(wanted))]

    async def delete(self, unwanted: Sequence[PageToDelete], how: Authorship) -> list[BulkResult]:
        """Have the pages go; see `Vault.delete_many`."""
        found = await anyio.to_thread.run_sync(self._looked_at, [one.path for one in unwanted])
        became: dict[int, BulkResult] = {}
        going: dict[int, PageRecord] = {}
        paths: set[str] = set()
        for place, now in enumerate(found):
            if isinstance(now, BethinkError):
                became[place] = now
            elif now.version is not None and not unwanted[place].may(now.version):
                became[place] = Conflict(unlike(now.path, now.version, now.version))
            elif (page := self._known(now)) is not None and now.path not in paths:
                paths.add(now.path)
                going[place] = page
        gone = await anyio.to_thread.run_sync(self._remove, going)
        for place, error in gone.items():
            page = going[place]
            change = None if error is not None else self.draft.lose(page, by=how.by, note=how.note)
            became[place] = error or change or Change(page.path, page.version, None, None)
        await self.draft.commit()
        for place, now in enumerate(found):
            if place not in became and isinstance(now, _Now):
                became[place] = await self._alone_gone(now, how)
        return [became[place] for place in range(len(unwanted))]

    def _known(self, now: _Now) -> PageRecord | None:
        """The page, if its file is what is known of it."""
        page = self.draft.known.pages.get(now.path)
        return page if page is not None and (page.state, page.version) == ("there", now.version) else None

    def _remove(self, going: Mapping[int, PageRecord]) -> dict[int, BethinkError | None]:
        """Remove the files; why one was not."""
        gone: dict[int, BethinkError | None] = {}
        for place, page in going.items():
            try:
                self.folder.delete(page.path, before=page.version, flush=False)
                gone[place] = None
            except BethinkError as error:
                gone[place] = error
        self.folder.flush({folder_of(page.path) for page in going.values()})
        return gone

    async def _alone_gone(self, now: _Now, how: Authorship) -> BulkResult:
        try:
            return await self.changing.delete(self.draft, now.path, if_version=now.version, how=how)
        except StorageError:
            raise
        except BethinkError as error:
            return error

    async def _plans(self, wanted: Sequence[PageToWrite], became: dict[int, BulkResult]) -> list[_Plan]:
        """Those that can be written together; of those that are decided already, what became of them."""
        known, planned, plans = self.draft.known, Counter[str](), list[_Plan]()
        paths: set[str] = set()
        found = await anyio.to_thread.run_sync(self._looked_at, [one.path for one in wanted])
        for place, now in enumerate(found):
            if isinstance(now, BethinkError):
                became[place] = now
                continue
            page = known.pages.get(now.path)
            is_as_known = now.version == (page and page.version) and (page is None or page.state == "there")
            if now.path in paths or not is_as_known:
                continue
            paths.add(now.path)
            try:
                plan = self._plan(place, wanted[place], now, planned=planned)
            except BethinkError as error:
                became[place] = error
                continue
            if plan is None:
                became[place] = Change(now.path, now.version, now.version, None)
            else:
                plans.append(plan)
        return plans

    def _looked_at(self, paths: Sequence[str]) -> list[_Now | BethinkError]:
        """What the files are now, or what is wrong with them."""
        found: list[_Now | BethinkError] = []
        for name in paths:
            try:
                path = checked(name)
                content = self.folder.read(path, self.draft.sizes.max_file_bytes)
                found.append(_Now(path, None if content is None else version_of(content.body)))
            except BethinkError as error:
                found.append(error)
        return found

    def _plan(self, place: int, one: PageToWrite, now: _Now, *, planned: Counter[str]) -> _Plan | None:
        """How a page is written; None where nothing is to be done.

        Raises:
            BethinkError: it may not be written.
        """
        if one.if_version is not None and one.if_version != (now.version or ""):
            raise Conflict(unlike(now.path, now.version, one.if_version))
        path = now.path if now.version else checked_new(one.path)
        body = encoded(one.text)
        if version_of(body) == now.version:
            return None
        if (trouble := self.draft.room(path, len(body), planned)) is not None:
            raise too_large(path, len(body), trouble, sizes=self.draft.sizes)
        planned[folder_of(path)] += len(body)
        return _Plan(place, path, body, one.how, now.version)

    async def _written(self, plans: Sequence[_Plan]) -> dict[int, BulkResult]:
        draft, known = self.draft, self.draft.known
        held = [known.pages.get(plan.path) or known.gone.get(plan.path) for plan in plans]
        await draft.fetch([page for page in held if page is not None])
        await draft.announce([plan.meant for plan in plans])
        became: dict[int, BulkResult] = {}
        for plan, now in zip(plans, await anyio.to_thread.run_sync(self._place, plans), strict=True):
            if isinstance(now, BethinkError):
                became[plan.place] = now
            else:
                how = plan.how
                became[plan.place] = draft.take(now, by=how.by, note=how.note, untrusted=how.untrusted)
        await draft.commit()
        return became

    def _place(self, plans: Sequence[_Plan]) -> list[PageFile | BethinkError]:
        """Write the files; what each holds then, or why it does not."""
        found: list[PageFile | BethinkError] = []
        for plan in plans:
            try:
                stat = self.folder.write(plan.path, plan.body, before=plan.before, flush=False)
                found.append(seen(plan.path, FileContent(plan.body, stat)))
            except BethinkError as error:
                found.append(error)
        self.folder.flush({folder_of(plan.path) for plan in plans})
        return found

    async def _alone(self, one: PageToWrite) -> BulkResult:
        try:
            return await self.changing.write(
                self.draft, one.path, encoded(one.text), if_version=one.if_version, how=one.how
            )
        except StorageError:
            raise
        except BethinkError as error:
            return error
