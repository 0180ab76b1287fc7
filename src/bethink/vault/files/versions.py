"""What pages were: every change with who made it, when and why, to be had again. `service` calls it."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Final

from bethink.clock import to_datetime
from bethink.errors import NoSuchPage, UnknownId
from bethink.store import Delete, Scan, records_of
from bethink.vault.files.records import CONTENTS, VERSIONS, CurrentPage, PageRecord, PageVersion

if TYPE_CHECKING:
    from bethink.vault.files.context import VaultContext

_PAGE: Final = 500
_DAY_US: Final = 86_400_000_000
_NO_VERSION: Final = "The page has no such version: look at its history."
_GONE: Final = "This version is no longer stored: it was forgotten, or was too old."


@dataclass(frozen=True, slots=True)
class Versions:
    """The versions of all owners' pages; `NoSuchPage` for a path at which there never was one."""

    context: VaultContext

    async def page(self, owner: str, path: str) -> PageRecord:
        """The page at a path, or the one that was there last."""
        known = await self.context.known(owner)
        found = known.pages.get(path) or known.gone.get(path)
        if found is None:
            raise NoSuchPage
        return found

    async def history(self, owner: str, path: str, *, limit: int = _PAGE) -> Sequence[PageVersion]:
        """The changes of the page, the newest first; also of one that is deleted."""
        page = await self.page(owner, path)
        scan = Scan(VERSIONS, {"page": page.id}, order="at", reverse=True, limit=limit)
        (found,) = await self.context.store.scan(owner, scan)
        return [item.record for item in found.items]

    async def version(self, owner: str, path: str, id: str) -> CurrentPage:
        """The page as one of its changes left it.

        Raises:
            UnknownId: it has no such version, or it left nothing.
        """
        page, version = await self.page(owner, path), await self.get(owner, id)
        if version is None or version.page != page.id:
            raise UnknownId(_NO_VERSION)
        body = await self.content(owner, version.content)
        if version.content is None or body is None:
            raise UnknownId(
                _GONE if version.content else "This change deleted the page: look at the one before."
            )
        text = body.decode()
        return CurrentPage(version.path, text, version.content, len(body), version.at, version.untrusted)

    async def get(self, owner: str, id: str) -> PageVersion | None:
        """A version by its id."""
        (found,) = await self.context.store.get(VERSIONS, owner, [id])
        return found and found.record

    async def content(self, owner: str, version: str | None) -> bytes | None:
        """The bytes with this SHA-256; None where they are not kept."""
        if version is None:
            return None
        (found,) = await self.context.store.get(CONTENTS, owner, [version])
        return found and found.record.inflated

    async def diff(self, owner: str, path: str, id: str, *, against: str | None = None) -> str:
        """What a change did, as a unified diff; or what lies between it and a later one, `against`.

        Raises:
            UnknownId: it has no such version, or what it said is not kept any more.
        """
        page, first = await self.page(owner, path), await self.get(owner, id)
        last = first if against is None else await self.get(owner, against)
        if first is None or last is None or {first.page, last.page} != {page.id}:
            raise UnknownId(_NO_VERSION)
        old = first.before if against is None else first.content
        sides: list[str] = []
        for version in (old, last.content):
            body = await self.content(owner, version)
            if version is not None and body is None:
                raise UnknownId(_GONE)
            sides.append("" if body is None else body.decode())
        return unified(sides[0], sides[1], path=path, names=(_when(first.at), _when(last.at)))

    async def thin(self, owner: str, days: int) -> int:
        """Of versions older than so many days keep the last of each page and day; how many went.

        What nothing names any more goes with them.
        """
        high = self.context.clock.now_us() - days * _DAY_US
        kept: set[tuple[str, int]] = set()
        gone: list[PageVersion] = []
        scan = Scan(VERSIONS, order="at", high=high, reverse=True, limit=_PAGE)
        async for version in records_of(self.context.store, owner, scan):
            day = (version.page, version.at // _DAY_US)
            if day in kept:
                gone.append(version)
            kept.add(day)
        for start in range(0, len(gone), _PAGE):
            async with self.context.lock(owner) as draft:
                draft.add(*(Delete(VERSIONS, version.id) for version in gone[start : start + _PAGE]))
                await draft.commit()
        if gone:
            await self._sweep(owner, {content for version in gone for content in _named(version)})
        return len(gone)

    async def _sweep(self, owner: str, contents: set[str]) -> None:
        """Remove those contents that neither a page has nor a version names."""
        begun = self.context.clock.now_us()
        unused = contents - await self._named(owner)
        async with self.context.lock(owner) as draft:
            # What came while the others were looked through; from here on nothing does.
            unused -= draft.known.by_version.keys() | await self._named(owner, since=begun)
            draft.add(*(Delete(CONTENTS, content) for content in unused))
            await draft.commit()

    async def _named(self, owner: str, *, since: int | None = None) -> set[str]:
        """The contents that versions lead from or to."""
        scan = Scan(VERSIONS, order="at", low=since, limit=_PAGE)
        return {
            content
            async for version in records_of(self.context.store, owner, scan)
            for content in _named(version)
        }


def _named(version: PageVersion) -> set[str]:
    return {content for content in (version.content, version.before) if content is not None}


def unified(old: str, new: str, *, path: str, names: tuple[str, str] = ("", "")) -> str:
    """The unified diff of two texts, as patch(1) reads it; empty where they are the same."""
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"a/{path}", f"b/{path}", *names
    )
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _when(at: int) -> str:
    return f"{to_datetime(at).astimezone(UTC):%Y-%m-%d %H:%M:%S}"
