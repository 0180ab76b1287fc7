"""One commit of changes of an owner's pages: records, versions, parts. `context` opens it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.index import IndexItem
from bethink.store import Change as StoreChange
from bethink.store import Delete, DeleteAll, Put, Store
from bethink.vault.files.folder import FileContent, Stat, version_of
from bethink.vault.files.parts import Items, PagePart, digest_of, parts_of
from bethink.vault.files.paths import folder_of
from bethink.vault.files.records import (
    CONTENTS,
    OWN_KIND,
    PAGES,
    PARTS,
    PLACES,
    VAULTS,
    VERSIONS,
    Change,
    PageBytes,
    PageRecord,
    PageVersion,
    PartPlace,
    PartRecord,
    Places,
)
from bethink.vault.markdown.format import parse
from bethink.vault.markdown.frontmatter import other_names
from bethink.vault.markdown.lines import BOM

if TYPE_CHECKING:
    from bethink.clock import Ids
    from bethink.settings import VaultSettings
    from bethink.vault.files.records import By, Meant, PageTable, Trouble, VaultRecord, What

UNDO: Final = "page:"
"""How the tokens begin that take back a change of a page."""
_BOM: Final = BOM.encode()
_COARSE_NS: Final = 50_000_000
"""Two changes within so short a time may leave the same time on a file."""
LATELY_US: Final = 60_000_000
"""A file may be seen to vanish before it is seen to appear again, or elsewhere."""
_AHEAD_NS: Final = 2_000_000_000
"""A file's time that lies further ahead comes from another clock, and tells nothing of ours."""


@dataclass(frozen=True, slots=True)
class PageFile:
    """A page's file as it was read. `text` is None where it is not UTF-8."""

    path: str
    body: bytes
    stat: Stat
    version: str
    text: str | None
    parts: Sequence[PagePart]
    aliases: tuple[str, ...]
    sure: bool


def page_file(path: str, content: FileContent) -> PageFile:
    """What is to be known of a file that was just read. Blocking: parsing takes its time."""
    body, stat = content
    now = time.time_ns()
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = None
    parts = [] if text is None else parts_of(path, text)
    # Few pages have a front matter: the others are not read once more.
    aliases = other_names(parse(text)) if text is not None and body.lstrip(_BOM).startswith(b"---") else ()
    sure = not now - _COARSE_NS < stat.mtime < now + _AHEAD_NS
    return PageFile(path, body, stat, version_of(body), text, parts, aliases, sure)


@dataclass(slots=True)
class VaultDraft:
    """What is to be changed; nothing is until `commit`. `committed` gathers what became of pages."""

    store: Store
    owner: str
    known: PageTable
    items: Items
    sizes: VaultSettings
    at: int
    new_id: Ids
    anew: bool = False
    meant: tuple[Meant, ...] | None = None
    ignored: tuple[str, ...] | None = None
    committed: list[Change] = field(default_factory=list[Change])
    _changes: list[StoreChange] = field(default_factory=list["StoreChange"])
    _records: list[PageRecord] = field(default_factory=list[PageRecord])
    _contents: set[str] = field(default_factory=set[str])
    _places: dict[str, Places] = field(default_factory=dict[str, Places])
    _pending: list[Change] = field(default_factory=list[Change])
    _change: int = 0
    _version: int = 0
    _grown: int = 0
    _folder_grown: Counter[str] = field(default_factory=Counter[str])

    async def fetch(self, pages: Iterable[PageRecord]) -> None:
        """Read where the parts of these pages stand: needed before one of them is changed."""
        ids = [page.id for page in pages]
        for found in await self.store.get(PLACES, self.owner, ids):
            if found is not None:
                self._places[found.record.id] = found.record

    def room(self, path: str, size: int, beside: Counter[str] | None = None) -> Trouble | None:
        """Why a page of this size has no place there, with so many bytes more in folders `beside` it."""
        beside = Counter() if beside is None else beside
        known, folder = self.known, folder_of(path)
        old = known.pages.get(path)
        was = old.size if old is not None and old.state == "there" else 0
        if size > self.sizes.max_file_bytes:
            return "too_large"
        if size <= was:
            return None
        if (
            known.folder_bytes[folder] + self._folder_grown[folder] + beside[folder] + size - was
            > self.sizes.max_directory_bytes
        ):
            return "directory_full"
        if known.bytes + self._grown + beside.total() + size - was > self.sizes.max_bytes:
            return "vault_full"
        return None

    def take(self, now: PageFile, *, by: By, note: str = "", untrusted: bool | None = None) -> Change:
        """The page holds this now, whether it was there before or not; trusted as it was, unless told.

        A page that nobody saw before, and another program laid in, is as trusted as the settings say.
        """
        old = self.known.pages.get(now.path)
        base = old or self.known.gone.get(now.path)
        before = old.version if old is not None and old.version else None
        if by == "outside" and (meant := self._meant(now)) is not None:
            by, note, untrusted = meant.by, meant.note, meant.untrusted
        if untrusted is None:
            # Away only for a moment, as while it is saved, or saying what it said.
            is_back = base is not None and (
                base.version == now.version or base.gone_at >= self.at - LATELY_US
            )
            is_known = old is not None or (by == "outside" and is_back)
            untrusted = base.untrusted if base and is_known else by == "outside" and self.distrusts_files
        record = self._keep(self._record(base, now, untrusted=untrusted))
        self._put_content(now)
        return self._tell(record, "created" if before is None else "written", by=by, note=note, before=before)

    @property
    def distrusts_files(self) -> bool:
        """Whether what another program lays in is from outside."""
        return self.sizes.trust == "untrusted"

    def move(self, old: PageRecord, now: PageFile, *, by: By, note: str = "") -> Change:
        """The page of `old` stands at another path now."""
        record = self._keep(self._record(old, now, untrusted=old.untrusted))
        self._put_content(now)
        return self._tell(record, "moved", by=by, note=note, before=old.version, was=old.path)

    def lose(self, old: PageRecord, *, by: By, note: str = "") -> Change | None:
        """The page is not there any more; None for one that never was read."""
        self._take_out(old)
        gone = msgspec.structs.replace(
            old,
            state="gone",
            change=self._next(),
            gone_at=self.at,
            trouble=None,
            size=0,
            sure=False,
            aliases=(),
        )
        self._keep(gone)
        if not old.version or old.state != "there":
            return None
        return self._tell(gone, "deleted", by=by, note=note, before=old.version)

    def unread(self, path: str, stat: Stat, trouble: Trouble) -> None:
        """The file is there, and cannot be read."""
        old = self.known.pages.get(path) or self.known.gone.get(path)
        if old is not None:
            self._take_out(old)
        self._keep(
            PageRecord(
                id=old.id if old else self.new_id(),
                path=path,
                change=self._next(),
                state="unread",
                version=old.version if old else "",
                **_of_file(stat),
                # Whether it can be read is decided by its size and its content alone.
                sure=True,
                trouble=trouble,
                parts=old.parts if old else 0,
                untrusted=old.untrusted if old else self.distrusts_files,
            )
        )

    def touch(self, old: PageRecord, now: PageFile) -> None:
        """The file was written, and says what it said."""
        fields = {**_of_file(now.stat), "sure": now.sure, "aliases": now.aliases}
        self._keep(msgspec.structs.replace(old, change=self._next(), **fields))

    def reindex(self, old: PageRecord, now: PageFile) -> None:
        """What is searched of the page is made again; nothing else changes."""
        self._keep(self._record(old, now, untrusted=old.untrusted))

    def vouch(self, old: PageRecord, *, by: By) -> Change:
        """The page is its owner's own words from now on."""
        record = self._keep(msgspec.structs.replace(old, change=self._next(), untrusted=False))
        return self._tell(record, "vouched", by=by, note="", before=old.version)

    def rewrite(self, old: PageRecord, now: PageFile) -> None:
        """The page says less now, and no version tells what it said."""
        self.reindex(old, now)
        self._put_content(now)
        self._pending.append(Change(now.path, None, now.version, None))

    def rename_gone(self, old: PageRecord, path: str) -> None:
        """A page that is not there any more was called otherwise, as far as anybody can tell."""
        self._keep(msgspec.structs.replace(old, path=path, change=self._next()))

    async def announce(self, meant: Sequence[Meant]) -> None:
        """Keep what files are about to hold, lest an end make it somebody else's; raises as `commit` does."""
        left = self.known.vault.meant
        self.meant = (*left, *meant)
        await self.commit(always=True)
        self.meant = left  # With the next commit, which knows of the files.

    async def ignore(self, kinds: Sequence[str]) -> None:
        """Keep what a check is to say nothing of; raises as `commit` does."""
        self.ignored = tuple(kinds)
        await self.commit(always=True)

    @property
    def is_changed(self) -> bool:
        """Whether there is anything to commit."""
        return bool(self._changes)

    def add(self, *changes: StoreChange) -> None:
        """Have other changes committed with these."""
        self._changes += changes

    async def commit(self, *, always: bool = False) -> None:
        """Keep all of it, durably; nothing happens where there is nothing, unless `always`.

        Raises:
            Conflict: another process changed the vault meanwhile.
        """
        if not self._changes and not always:
            return
        changes, vault = self.changes()
        await self.store.commit(self.owner, changes)
        self.applied(vault)

    def changes(self) -> tuple[list[StoreChange], VaultRecord]:
        """The changes, for a commit that has others too; call `applied` behind it."""
        vault = self.known.vault
        meant = vault.meant if self.meant is None else self.meant
        ignored = vault.ignored if self.ignored is None else self.ignored
        vault = msgspec.structs.replace(
            vault, change=max(vault.change, self._change), meant=meant, ignored=ignored
        )
        self._version = self.known.version
        return [Put(VAULTS, vault, if_version=self._version), *self._changes], vault

    def applied(self, vault: VaultRecord) -> None:
        """The changes were committed: know it, and begin anew."""
        for record in self._records:
            self.known.put(record)
        # Who read meanwhile may have caught up with this commit before it was told of here.
        if self.known.version <= self._version:
            self.known.vault, self.known.version = vault, self._version + 1
        self.committed += self._pending
        for gathered in (self._changes, self._records, self._contents, self._pending):
            gathered.clear()
        self._grown = 0
        self._folder_grown.clear()

    def _meant(self, now: PageFile) -> Meant | None:
        """Who wrote what is found, where a process ended before it could say so."""
        meant = self.known.vault.meant
        return next((one for one in meant if (one.path, one.version) == (now.path, now.version)), None)

    def _next(self) -> int:
        self._change = max(self._change, self.known.vault.change) + 1
        return self._change

    def _keep(self, record: PageRecord) -> PageRecord:
        old = self.known.ids.get(record.id)
        for one, sign in ((old, -1), (record, 1)):
            if one is not None and one.state == "there":
                self._grown += sign * one.size
                self._folder_grown[folder_of(one.path)] += sign * one.size
        self._changes.append(Put(PAGES, record))
        self._records.append(record)
        return record

    def _tell(
        self, record: PageRecord, what: What, *, by: By, note: str, before: str | None, was: str | None = None
    ) -> Change:
        """Keep the version that the page became, and what is told of it."""
        after = None if what == "deleted" else record.version
        was_known = self.known.ids.get(record.id)
        version = PageVersion(
            id=self.new_id(),
            page=record.id,
            at=self.at,
            by=by,
            what=what,
            path=record.path,
            content=after,
            before=before,
            was=was,
            size=0 if after is None else record.size,
            note=note,
            untrusted=record.untrusted,
            was_untrusted=was_known is not None and was_known.untrusted,
        )
        self._changes.append(Put(VERSIONS, version, if_version=0))
        change = Change(record.path, before, after, f"{UNDO}{version.id}", was)
        self._pending.append(change)
        return change

    def _put_content(self, now: PageFile) -> None:
        if now.version not in self.known.by_version and now.version not in self._contents:
            self._contents.add(now.version)
            self._changes.append(Put(CONTENTS, PageBytes.of(now.version, now.body)))

    def _take_out(self, old: PageRecord) -> None:
        """Nothing of the page is searched any more."""
        self._changes += [DeleteAll(PARTS, {"page": old.id}), Delete(PLACES, old.id)]

    def _record(self, base: PageRecord | None, now: PageFile, *, untrusted: bool) -> PageRecord:
        """The page as it is now, with its parts searched; those that say the same keep their vectors."""
        id = base.id if base else self.new_id()
        made = base.parts if base else 0
        held = self._places.get(id)
        if self.anew and base is not None:
            self._take_out(base)
            held = None
        spare: defaultdict[str, list[PartPlace]] = defaultdict(list)
        for place in held.places if held else ():
            spare[place.digest].append(place)
        places: list[PartPlace] = []
        for part in now.parts:
            items = self.items(now.path, now.text or "", part)
            digest = digest_of(items)
            if spare[digest]:
                part_id = spare[digest].pop(0).id
            else:
                part_id, made = f"{id}.{made}", made + 1
                for kind, text in items:
                    record = PartRecord(id=_item_id(part_id, kind), page=id)
                    item = IndexItem(kind, text, now.stat.mtime // 1000)
                    self._changes.append(Put(PARTS, record, if_version=0, index=item))
            kinds = tuple(kind for kind, _ in items)
            places.append(PartPlace(part_id, part.start, part.end, part.line, part.headings, digest, kinds))
        for place in (place for left in spare.values() for place in left):
            self._changes += [Delete(PARTS, _item_id(place.id, kind)) for kind in place.kinds]
        self._changes.append(Put(PLACES, Places(id=id, version=now.version, places=tuple(places))))
        return PageRecord(
            id=id,
            path=now.path,
            change=self._next(),
            version=now.version,
            **_of_file(now.stat),
            sure=now.sure,
            parts=made,
            untrusted=untrusted,
            aliases=now.aliases,
        )


def _of_file(stat: Stat) -> dict[str, Any]:
    """What a page's record has of its file."""
    return {**stat._asdict(), "changed": stat.mtime // 1000}


def _item_id(part: str, kind: str) -> str:
    """The id of an item: that with all that a part says, if others see less, is another."""
    return f"{part}o" if kind == OWN_KIND else part
