"""Facts that need a line, and the pages that are written. `service` calls it, last of all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import BethinkError, Busy, Conflict, StorageError
from bethink.mirror.fact_pages import Room, takes_lines
from bethink.mirror.ledger import agreed
from bethink.mirror.records import MIRRORS, Line, said
from bethink.store import Put
from bethink.vault import How

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.memory import Fact
    from bethink.mirror.diff import Looking
    from bethink.mirror.ledger import Ledger
    from bethink.principal import Principal
    from bethink.vault import Vault


@dataclass(slots=True)
class Placing:
    """Writes an owner's lines, each page once."""

    vault: Vault
    looking: Looking
    ledger: Ledger
    principal: Principal
    _takes: dict[str, bool] = field(default_factory=dict[str, bool])
    _written: int = 0

    def lineless(self) -> list[tuple[Fact, Line | None]]:
        """The facts in use that have no line and changed."""
        look = self.ledger.look
        facts = (look.facts.get(id) for id in look.touched)
        return [
            (fact, self.ledger.spare(fact.id))
            for fact in facts
            if fact is not None and fact.state == "active" and not self.ledger.shows(fact.id)
        ]

    async def adopt(self) -> None:
        """Know the lines that were written, and not noted, before something was cut short."""
        look = self.ledger.look
        facts = [fact for fact, line in self.lineless() if line is None]
        if not look.marked or not facts:
            return
        for fact, mark in zip(facts, await self.ledger.marks(facts), strict=True):
            on = [seen for seen, shown in look.marked.get(mark, ()) if not shown.is_note]
            if on:
                self.ledger.keep(Line(id=mark, fact=fact.id, path=on[0].path, said=said(fact.content)))
        await self.ledger.commit()

    async def place(self, wanted: Sequence[tuple[Fact, Line | None]]) -> None:
        """Give facts lines, unless some are held: then nobody knows where the files are."""
        look = self.ledger.look
        held = await self.looking.all_lines(self.ledger.owner, state="held")
        # Facts that came meanwhile are known only where all are looked at once more.
        is_paused = bool(held) or (look.now.paused and not look.is_whole)
        look.next = msgspec.structs.replace(look.next, paused=is_paused)
        if held:
            return
        wanted = [*{fact.id: (fact, line) for fact, line in wanted}.values()]
        wanted = [(fact, line) for fact, line in wanted if not self.ledger.shows(fact.id)]
        if not wanted:
            return
        marks = await self.ledger.marks([fact for fact, _ in wanted])
        known = await self.vault.pages(self.ledger.owner)
        room = Room.of({path: page.size for path, page in known.items()}, self.vault.settings.max_file_bytes)
        for (fact, line), mark in zip(wanted, marks, strict=True):
            path = room.place(fact.category, fact.content)
            while not await self._is_fit(path):
                room.close(path)
                path = room.place(fact.category, fact.content)
            line = line or Line(id=mark, fact=fact.id, path=path, said="")  # noqa: PLW2901 - a new one
            self.ledger.sheet(look.pages[path]).add(fact.content, line.id)
            self.ledger.later(look.pages[path], agreed(line, fact, path))

    async def write(self) -> None:
        """Write the pages, and keep what stands on each then.

        Raises:
            Busy: another program keeps the vault to itself.
            StorageError: the disk refuses.
        """
        for path, sheet in self.ledger.sheets.items():
            if sheet.is_changed and not await self._is_written(path):
                continue
            for line in sheet.lines:
                self.ledger.keep(line)
            await self.ledger.commit()

    async def finish(self) -> None:
        """Keep how far both sides are compared."""
        look, store, owner = self.ledger.look, self.ledger.store, self.ledger.owner
        await self.ledger.commit()
        if self.ledger.is_again:
            return
        change, _ = await self.vault.changed_since(owner, 2**62)
        if change == look.next.change + self._written:
            # Nobody else changed a page meanwhile: what was written here need not be read again.
            look.next = msgspec.structs.replace(look.next, change=change)
        look.next = msgspec.structs.replace(look.next, trouble=self.ledger.trouble)
        if look.next != look.now:
            await store.commit(owner, [Put(MIRRORS, look.next, if_version=look.version)])

    async def _is_written(self, path: str) -> bool:
        sheet = self.ledger.sheets[path]
        version = sheet.seen.version or ""
        # What is forgotten meanwhile must not be written again.
        how = How("mirror", "Facts", holds=self.ledger.unchanged.listen)
        try:
            await self.vault.put(self.principal, path, sheet.text(), if_version=version, how=how)
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
        pages = self.ledger.look.pages
        if path not in self._takes:
            if path not in pages:
                pages[path] = await self.looking.page(self.ledger.owner, path)
            self._takes[path] = takes_lines(pages[path])
        return self._takes[path]
