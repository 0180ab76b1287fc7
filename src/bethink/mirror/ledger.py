"""What one pass knows of lines, and will keep. `passing`, `arriving` and `placing` share it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.memory.facts import mark_of
from bethink.mirror.fact_pages import Sheet
from bethink.mirror.records import LINES, Line, said
from bethink.store import Put, Versioned

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bethink.forgetting.announcements import StableRead
    from bethink.memory import Fact
    from bethink.mirror.diff import Look, Seen
    from bethink.store import Change, Store

_BATCH: Final = 1_000
_MOST_MARKS: Final = 10


@dataclass(slots=True)
class Ledger:
    """One owner's lines in one pass. `sheets` are the pages that change, by their paths.

    `is_again` says that something came between, and another pass is to follow. `claimed` facts get
    lines once their pages are written.
    """

    store: Store
    owner: str
    look: Look
    unchanged: StableRead
    is_again: bool = False
    trouble: str = ""
    sheets: dict[str, Sheet] = field(default_factory=dict[str, Sheet])
    claimed: set[str] = field(default_factory=set[str])
    changes: list[Change] = field(default_factory=list["Change"])
    _kept: dict[str, Line] = field(default_factory=dict[str, Line])
    _by_fact: defaultdict[str, set[str]] = field(
        default_factory=lambda: defaultdict[str, set[str]](set), repr=False
    )

    def __post_init__(self) -> None:
        for one in self.look.lines.values():
            self._by_fact[one.record.fact].add(one.record.id)

    def line(self, id: str) -> Line | None:
        """A line as this pass leaves it."""
        if id in self._kept:
            return self._kept[id]
        versioned = self.look.lines.get(id)
        return versioned and versioned.record

    def keep(self, line: Line, **changes: str) -> Line:
        """Have the next commit keep a line so."""
        now = msgspec.structs.replace(line, **changes)
        self._kept[line.id] = now
        self._by_fact[now.fact].add(now.id)
        return now

    def know(self, found: Iterable[Versioned[Line]]) -> None:
        """Take in lines that were read."""
        for one in found:
            self.look.lines.setdefault(one.record.id, one)
            self._by_fact[one.record.fact].add(one.record.id)

    def shows(self, fact: str, *, but: str = "") -> bool:
        """Whether a line, another than `but`, shows the fact."""
        if fact in self.claimed:
            return True
        lines = (self.line(id) for id in self._by_fact.get(fact, ()) if id != but)
        return any(line is not None and line.fact == fact and line.state != "gone" for line in lines)

    def spare(self, fact: str) -> Line | None:
        """A line that showed the fact before it was removed."""
        lines = (self.line(id) for id in self._by_fact.get(fact, ()))
        return next((one for one in lines if one and one.fact == fact and one.state == "gone"), None)

    def sheet(self, seen: Seen) -> Sheet:
        """The page, to be changed."""
        return self.sheets.setdefault(seen.path, Sheet(seen))

    def later(self, seen: Seen, line: Line) -> None:
        """Keep a line so once its page is written; nothing else shows its fact until then."""
        self.sheet(seen).lines.append(line)
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
        """Keep what is known by now, durably.

        Raises:
            Conflict: another process was at the same lines, or forgot something.
        """
        puts = [Put(LINES, line, if_version=self._version(line.id)) for line in self._kept.values()]
        changes = [*self.changes, *puts]
        for start in range(0, len(changes), _BATCH):
            batch = changes[start : start + _BATCH]
            await self.store.commit(self.owner, [*batch, *self.unchanged.expected])
        for line in self._kept.values():
            self.look.lines[line.id] = Versioned(line, self._version(line.id) + 1)
        self._kept.clear()
        self.changes.clear()

    def _version(self, id: str) -> int:
        known = self.look.lines.get(id)
        return known.version if known else 0


def agreed(line: Line, fact: Fact, path: str) -> Line:
    """The line, showing exactly what the fact says."""
    return msgspec.structs.replace(
        line, fact=fact.id, path=path, said=said(fact.content), state="kept", refused="", why=""
    )
