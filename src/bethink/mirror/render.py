"""Facts that need a line, and the pages that are written. `service` calls it, last of all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.errors import BethinkError, Busy, Conflict, StorageError
from bethink.memory.facts import mark_of
from bethink.mirror.lines import LINES, MIRRORS, MirrorLine, PageAllocator, PageEdit, said, takes_lines
from bethink.store import Change, Put, Store, Versioned
from bethink.vault import Authorship, Vault

if TYPE_CHECKING:
    from bethink.forgetting.announcements import StableRead
    from bethink.memory import Fact
    from bethink.mirror.diff import ChangeReader, ChangeSet
    from bethink.mirror.lines import PageSnapshot
    from bethink.principal import Principal


_BATCH: Final = 1_000
_MOST_MARKS: Final = 10


@dataclass(slots=True)
class LineLedger:
    """One owner's lines in one pass. `page_edits` are the pages that change, by their paths.

    `is_again` says that something came between, and another pass is to follow. `claimed` facts get
    lines once their pages are written.
    """

    store: Store
    owner: str
    delta: ChangeSet
    unchanged: StableRead
    is_again: bool = False
    trouble: str = ""
    page_edits: dict[str, PageEdit] = field(default_factory=dict[str, PageEdit])
    claimed: set[str] = field(default_factory=set[str])
    changes: list[Change] = field(default_factory=list["Change"])
    _kept: dict[str, MirrorLine] = field(default_factory=dict[str, MirrorLine])
    _by_fact: defaultdict[str, set[str]] = field(
        default_factory=lambda: defaultdict[str, set[str]](set), repr=False
    )

    def __post_init__(self) -> None:
        for one in self.delta.lines.values():
            self._by_fact[one.record.fact].add(one.record.id)

    def line(self, id: str) -> MirrorLine | None:
        """A line as this pass leaves it."""
        if id in self._kept:
            return self._kept[id]
        versioned = self.delta.lines.get(id)
        return versioned and versioned.record

    def keep(self, line: MirrorLine, **changes: str) -> MirrorLine:
        """Have the next commit keep a line so."""
        now = msgspec.structs.replace(line, **changes)
        self._kept[line.id] = now
        self._by_fact[now.fact].add(now.id)
        return now

    def know(self, found: Iterable[Versioned[MirrorLine]]) -> None:
        """Take in lines that were read."""
        for one in found:
            self.delta.lines.setdefault(one.record.id, one)
            self._by_fact[one.record.fact].add(one.record.id)

    def shows(self, fact: str, *, but: str = "") -> bool:
        """Whether a line, another than `but`, shows the fact."""
        if fact in self.claimed:
            return True
        lines = (self.line(id) for id in self._by_fact.get(fact, ()) if id != but)
        return any(line is not None and line.fact == fact and line.state != "gone" for line in lines)

    def spare(self, fact: str) -> MirrorLine | None:
        """A line that showed the fact before it was removed."""
        lines = (self.line(id) for id in self._by_fact.get(fact, ()))
        return next((one for one in lines if one and one.fact == fact and one.state == "gone"), None)

    def page_edit(self, snapshot: PageSnapshot) -> PageEdit:
        """The page, to be changed."""
        return self.page_edits.setdefault(snapshot.path, PageEdit(snapshot))

    def later(self, snapshot: PageSnapshot, line: MirrorLine) -> None:
        """Keep a line so once its page is written; nothing else shows its fact until then."""
        self.page_edit(snapshot).lines.append(line)
        if line.state != "gone":
            self.claimed.add(line.fact)

    async def marks(self, facts: Sequence[Fact]) -> list[str]:
        """An id for each fact's first line: one that no other fact's has."""
        marks = [mark_of(fact.id) for fact in facts]
        for again in range(1, _MOST_MARKS):
            self.know([one for one in await self.store.get(LINES, self.owner, marks) if one is not None])
            taken = [
                (line := self.line(mark)) is not None and line.fact != fact.id
                for mark, fact in zip(marks, facts, strict=True)
            ]
            if not any(taken):
                break
            marks = [
                mark_of(f"{fact.id} {again}") if is_taken else mark
                for mark, fact, is_taken in zip(marks, facts, taken, strict=True)
            ]
        return marks

    async def commit(self) -> None:
        """Keep what is known by now, durably; `Conflict` if another process was at the same lines."""
        puts = [Put(LINES, line, if_version=self._version(line.id)) for line in self._kept.values()]
        changes = [*self.changes, *puts]
        for start in range(0, len(changes), _BATCH):
            batch = changes[start : start + _BATCH]
            await self.store.commit(self.owner, [*batch, *self.unchanged.expected])
        for line in self._kept.values():
            self.delta.lines[line.id] = Versioned(line, self._version(line.id) + 1)
        self._kept.clear()
        self.changes.clear()

    def _version(self, id: str) -> int:
        known = self.delta.lines.get(id)
        return known.version if known else 0


def agreed(line: MirrorLine, fact: Fact, path: str) -> MirrorLine:
    """The line, showing exactly what the fact says."""
    return msgspec.structs.replace(
        line, fact=fact.id, path=path, said=said(fact.content), state="kept", refused="", why=""
    )


@dataclass(slots=True)
class LineWriter:
    """Writes an owner's lines, each page once."""

    vault: Vault
    reader: ChangeReader
    ledger: LineLedger
    principal: Principal
    _takes: dict[str, bool] = field(default_factory=dict[str, bool])
    _written: int = 0

    def lineless(self) -> list[tuple[Fact, MirrorLine | None]]:
        """The facts in use that have no line and changed."""
        delta = self.ledger.delta
        facts = (delta.facts.get(id) for id in delta.touched)
        return [
            (fact, self.ledger.spare(fact.id))
            for fact in facts
            if fact is not None and fact.state == "active" and not self.ledger.shows(fact.id)
        ]

    async def adopt(self) -> None:
        """Know the lines that were written, and not noted, before something was cut short."""
        delta = self.ledger.delta
        facts = [fact for fact, line in self.lineless() if line is None]
        if not delta.marked or not facts:
            return
        for fact, mark in zip(facts, await self.ledger.marks(facts), strict=True):
            on = [snapshot for snapshot, shown in delta.marked.get(mark, ()) if not shown.is_note]
            if on:
                self.ledger.keep(MirrorLine(id=mark, fact=fact.id, path=on[0].path, said=said(fact.content)))
        await self.ledger.commit()

    async def place(self, wanted: Sequence[tuple[Fact, MirrorLine | None]]) -> None:
        """Give facts lines, unless some are held: then nobody knows where the files are."""
        delta = self.ledger.delta
        held = await self.reader.all_lines(self.ledger.owner, state="held")
        # Facts that came meanwhile are known only where all are looked at once more.
        is_paused = bool(held) or (delta.now.paused and not delta.is_whole)
        delta.next = msgspec.structs.replace(delta.next, paused=is_paused)
        if held:
            return
        wanted = [*{fact.id: (fact, line) for fact, line in wanted}.values()]
        wanted = [(fact, line) for fact, line in wanted if not self.ledger.shows(fact.id)]
        if not wanted:
            return
        marks = await self.ledger.marks([fact for fact, _ in wanted])
        known = await self.vault.pages(self.ledger.owner)
        room = PageAllocator.of(
            {path: page.size for path, page in known.items()}, self.vault.settings.max_file_bytes
        )
        for (fact, line), mark in zip(wanted, marks, strict=True):
            path = room.place(fact.category, fact.content)
            while not await self._is_fit(path):
                room.close(path)
                path = room.place(fact.category, fact.content)
            line = line or MirrorLine(id=mark, fact=fact.id, path=path, said="")  # noqa: PLW2901 - a new one
            self.ledger.page_edit(delta.pages[path]).add(fact.content, line.id)
            self.ledger.later(delta.pages[path], agreed(line, fact, path))

    async def write(self) -> None:
        """Write the pages, and keep what stands on each then."""
        for path, page_edit in self.ledger.page_edits.items():
            if page_edit.is_changed and not await self._is_written(path):
                continue
            for line in page_edit.lines:
                self.ledger.keep(line)
            await self.ledger.commit()

    async def finish(self) -> None:
        """Keep how far both sides are compared."""
        delta, store, owner = self.ledger.delta, self.ledger.store, self.ledger.owner
        await self.ledger.commit()
        if self.ledger.is_again:
            return
        change, _ = await self.vault.changed_since(owner, 2**62)
        if change == delta.next.change + self._written:
            # Nobody else changed a page meanwhile: what was written here need not be read again.
            delta.next = msgspec.structs.replace(delta.next, change=change)
        delta.next = msgspec.structs.replace(delta.next, trouble=self.ledger.trouble)
        if delta.next != delta.now:
            await store.commit(owner, [Put(MIRRORS, delta.next, if_version=delta.version)])

    async def _is_written(self, path: str) -> bool:
        page_edit = self.ledger.page_edits[path]
        version = page_edit.snapshot.version or ""
        # What is forgotten meanwhile must not be written again.
        how = Authorship("mirror", "Facts", holds=self.ledger.unchanged.listen)
        try:
            await self.vault.put(self.principal, path, page_edit.text(), if_version=version, how=how)
        except Conflict:
            self.ledger.is_again = True
        except (Busy, StorageError):
            raise
        except BethinkError as error:
            self.ledger.trouble = error.message
        else:
            self._written += 1
            return True
        return False

    async def _is_fit(self, path: str) -> bool:
        pages = self.ledger.delta.pages
        if path not in self._takes:
            if path not in pages:
                pages[path] = await self.reader.page(self.ledger.owner, path)
            self._takes[path] = takes_lines(pages[path])
        return self._takes[path]
