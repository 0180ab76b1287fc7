"""What is known of an owner's pages, at hand in memory, and caught up before each use. `context` holds it.

Whoever changes pages, in whichever process, raises the vault's change number in
the same commit: who knows the number reads only what came since.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from bethink.store import Scan, records_of
from bethink.vault.files.paths import folder_of
from bethink.vault.files.records import ONE, PAGES, VAULTS, VaultRecord

if TYPE_CHECKING:
    from bethink.store import Store, Versioned
    from bethink.vault.files.records import PageRecord

_PAGE: Final = 1_000
_OWNERS: Final = 32
"""So many owners' pages are at hand: a thousand pages take less than a megabyte."""


@dataclass(slots=True)
class PageTable:
    """The pages of one owner. `version` is that of the vault's record, 0 where there is none."""

    vault: VaultRecord = field(default_factory=lambda: VaultRecord(id=ONE))
    version: int = 0
    pages: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    gone: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    ids: dict[str, PageRecord] = field(default_factory=dict[str, "PageRecord"])
    by_version: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    bytes: int = 0
    folder_bytes: Counter[str] = field(default_factory=Counter[str])

    def put(self, record: PageRecord) -> None:
        """Take in what a page became."""
        self.drop(record.id)
        self.ids[record.id] = record
        if record.state == "gone":
            self.gone[record.path] = record
            return
        self.pages[record.path] = record
        if record.state == "there":
            self.bytes += record.size
            self.folder_bytes[folder_of(record.path)] += record.size
            self.by_version.setdefault(record.version, set()).add(record.path)

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of the pages, with their paths; what two pages call themselves is the first one's."""
        found: dict[str, str] = {}
        for path in sorted(path for path, page in self.pages.items() if page.aliases):
            for alias in self.pages[path].aliases or ():
                found.setdefault(alias, path)
        return found

    def drop(self, id: str) -> None:
        """Know nothing of a page any more."""
        old = self.ids.pop(id, None)
        if old is None:
            return
        if old.state == "gone":
            if self.gone.get(old.path) is old:
                del self.gone[old.path]
            return
        if self.pages.get(old.path) is old:
            del self.pages[old.path]
        if old.state == "there":
            self.bytes -= old.size
            self.folder_bytes[folder_of(old.path)] -= old.size
            same = self.by_version[old.version]
            same.discard(old.path)
            if not same:
                del self.by_version[old.version]


class PageTables:
    """The pages of those owners whose vaults were used lately."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._known: OrderedDict[str, PageTable] = OrderedDict()

    async def of(self, owner: str) -> PageTable:
        """What is known now. Nothing is awaited between its last look and its return.

        It is changed by later calls: use it before anything else is awaited, or under the owner's lock.
        """
        while True:
            (found,) = await self._store.get(VAULTS, owner, [ONE])
            known = self._known.setdefault(owner, PageTable())
            self._known.move_to_end(owner)
            if len(self._known) > _OWNERS:
                self._known.popitem(last=False)
            if found is None:
                if known.version:
                    self._known[owner] = known = PageTable()
                return known
            if found.version == known.version:
                return known
            await self._catch_up(owner, found)

    async def _catch_up(self, owner: str, now: Versioned[VaultRecord]) -> None:
        """Read what came since; `of` looks again whether that was all."""
        known = self._known.setdefault(owner, PageTable())
        if known.vault.change < now.record.floor:
            known = self._known[owner] = PageTable()
        scan = Scan(PAGES, order="change", low=known.vault.change + 1, limit=_PAGE)
        # In the order of their changes: a path that two pages had in turn ends as the later one's.
        async for record in records_of(self._store, owner, scan):
            held = known.ids.get(record.id)
            # What was committed here while this was read is newer.
            if held is None or held.change < record.change:
                known.put(record)
        if known.version < now.version:
            known.vault, known.version = now.record, now.version
