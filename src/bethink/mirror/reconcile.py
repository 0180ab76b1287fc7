"""Lines that are known, beside their facts: what changed on one side is carried over. `service` calls it.

Facts are changed first, each durably with the record of its line; pages are
written afterwards, each once. Whatever is cut short is found again the next
time, from what is there by then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.mirror.diff import FOLDER, Seen
from bethink.mirror.ledger import agreed
from bethink.mirror.records import LINES, said
from bethink.mirror.three_way import judged
from bethink.redaction import FORGOTTEN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from bethink.memory import Fact
    from bethink.mirror.diff import Looking
    from bethink.mirror.fact_changes import Facing
    from bethink.mirror.ledger import Ledger
    from bethink.mirror.lines import Shown
    from bethink.mirror.records import Line
    from bethink.mirror.three_way import Verdict

MOST_LOST: Final = 20
"""So many lines may be deleted within `WINDOW_US` before their owner is asked."""
WINDOW_US: Final = 600_000_000
STRANGE: Final = (
    "A model changed this line after it had read words from outside: see whether it is so,"
    " and vouch for the page."
)
_FEW: Final = 2
"""More are asked about where none is left, or where an old page came back."""


@dataclass(slots=True)
class Case:
    """A line's record with what both sides say now. `seen` is the page where the line is, or was."""

    line: Line
    fact: Fact | None
    seen: Seen
    shown: Shown | None = None
    note: Shown | None = None
    note_on: Seen | None = None
    keeps_note: bool = False


@dataclass(slots=True)
class Passing:
    """Compares the known lines of an owner with their facts.

    `placed` gathers facts that need a line again, `arrived` lines that are to be facts of their own.
    """

    looking: Looking
    facing: Facing
    ledger: Ledger
    placed: list[tuple[Fact, Line | None]] = field(default_factory=list[tuple["Fact", "Line | None"]])
    arrived: list[tuple[Seen, Shown, Line | None]] = field(
        default_factory=list[tuple[Seen, "Shown", "Line | None"]]
    )
    _losses: list[Case] = field(default_factory=list[Case])

    async def run(self) -> None:
        """Judge each line, and do what follows for facts; what follows for pages stands on their sheets.

        Raises:
            Conflict: facts were changed meanwhile.
            StorageError: they cannot be changed.
        """
        for id in [*self.ledger.look.lines]:
            line = self.ledger.line(id)
            case = None if line is None else await self._case(line)
            if case is not None:
                await self._judge(case)
        await self._lose()
        await self.ledger.commit()

    async def _judge(self, case: Case) -> None:
        is_known = case.line.fact in self.ledger.look.facts
        verdict = judged(case.line, case.shown, case.note, fact=case.fact, known=is_known)
        if case.shown is not None and FORGOTTEN in case.shown.content and verdict != "nothing":
            # What is left of a line that said something forgotten is nobody's edit.
            verdict = "remove" if case.fact is None else "rewrite"
        await _DOING[verdict](self, case)
        if case.note is not None and case.note_on is not None and not case.keeps_note:
            self.ledger.sheet(case.note_on).remove(case.note)

    async def _case(self, line: Line) -> Case | None:
        """What there is of a line; None where its page cannot be read."""
        look = self.ledger.look
        fact = await self.looking.current(self.ledger.owner, look, line.fact)
        if fact is not None and fact.id != line.fact and await self._has_another(fact, line):
            fact = None
        found = look.marked.pop(line.id, [])
        notes = [one for one in found if one[1].is_note]
        mains = [one for one in found if not one[1].is_note]
        mains.sort(key=lambda one: (one[0].path != line.path, said(one[1].content) != line.said))
        note_on, note = notes[0] if notes else (None, None)
        for seen, shown in notes[1:]:
            self.ledger.sheet(seen).remove(shown)
        for seen, shown in mains[1:]:
            # A copy that was changed is a fact of its own; one that says the same is left alone.
            if shown.content != mains[0][1].content and seen.path.startswith(FOLDER):
                self.arrived.append((seen, shown, None))
        if mains:
            if line.why == STRANGE and not mains[0][0].untrusted:
                line = msgspec.structs.replace(line, refused="", why="")
            return Case(line, fact, *mains[0], note, note_on)
        seen = look.pages.get(line.path) or Seen(line.path, odd=line.state != "gone")
        return None if seen.odd else Case(line, fact, seen, None, note, note_on)

    async def _has_another(self, fact: Fact, line: Line) -> bool:
        """Whether a line of its own shows what the line's fact became, on whichever page."""
        if not self.ledger.shows(fact.id, but=line.id):
            self.ledger.know(await self.looking.lines_of(self.ledger.owner, [fact.id]))
        return self.ledger.shows(fact.id, but=line.id)

    # --- what follows from a verdict ------------------------------------------

    async def nothing(self, case: Case) -> None:
        """The line at most stands on another page."""
        if case.shown is not None and case.line.path != case.seen.path:
            self.ledger.keep(case.line, path=case.seen.path)

    async def settled(self, case: Case) -> None:
        """Both say the same now."""
        if case.fact is not None:
            self.ledger.keep(agreed(case.line, case.fact, case.seen.path))

    async def edit(self, case: Case) -> None:
        """The line was changed: so is its fact."""
        if case.shown is None or case.fact is None:
            return
        path, text, look = case.seen.path, case.shown.content, self.ledger.look
        hand = await self.looking.hand(self.ledger.owner, case.seen, look.now.looked)
        if hand == "stranger":
            # Tried again once the owner vouches for the page.
            self.ledger.keep(case.line, path=path, state="kept", refused=said(text), why=STRANGE)
            return
        told = await self.facing.edit(case.fact, text, path=path, line=case.line.id, hand=hand)
        if isinstance(told, str):
            self.ledger.keep(case.line, path=path, state="kept", refused=said(text), why=told)
            return
        look.facts[told.id] = told
        case.fact = told
        case.line = self.ledger.keep(agreed(case.line, told, path), said=said(text))
        if told.content != text:
            await self.rewrite(case)

    async def rewrite(self, case: Case) -> None:
        """The fact was changed: so is its line."""
        if case.fact is None:
            return
        if case.shown is not None:
            seen = case.seen
            self.ledger.sheet(seen).say(case.shown, case.fact.content, case.line.id)
        elif case.note is not None and case.note_on is not None:
            seen, case.keeps_note = case.note_on, True
            self.ledger.sheet(seen).unnote(case.note, case.fact.content, case.line.id)
        else:
            return
        self.ledger.later(seen, agreed(case.line, case.fact, seen.path))

    async def conflict(self, case: Case) -> None:
        """Both were changed: the page shows both, and its owner decides by editing it."""
        if case.shown is None or case.fact is None:
            return
        if self.facing.came_from(case.fact, case.shown.content, line=case.line.id):
            # The edit was taken in, and cut short before that was kept.
            await self.rewrite(case)
            return
        case.keeps_note = True
        if case.note is None or case.note_on is None:
            self.ledger.sheet(case.seen).note(case.shown, case.fact.content, case.line.id)
        else:
            self.ledger.sheet(case.note_on).renote(case.note, case.fact.content, case.line.id)
        both = agreed(case.line, case.fact, case.seen.path)
        self.ledger.later(case.seen, msgspec.structs.replace(both, state="conflict"))

    async def retract(self, case: Case) -> None:
        """The line was deleted: its fact is retracted, if not too many are."""
        self._losses.append(case)

    async def place(self, case: Case) -> None:
        """The fact gets a line again."""
        if case.fact is not None and case.fact.state == "active":
            self.placed.append((case.fact, case.line))

    async def remove(self, case: Case) -> None:
        """The fact is gone: so is its line."""
        gone = msgspec.structs.replace(case.line, state="gone", refused="", why="")
        if case.shown is None:
            self.ledger.keep(gone)
            return
        self.ledger.sheet(case.seen).remove(case.shown)
        self.ledger.later(case.seen, gone)

    async def restore(self, case: Case) -> None:
        """A line is back that was deleted: so is its fact."""
        back = await self.facing.restore(case.line.fact)
        if back is None:
            await self.renew(case)
            return
        self.ledger.look.facts[back.id] = case.fact = back
        case.line = self.ledger.keep(agreed(case.line, back, case.seen.path))
        if case.shown is not None and case.shown.content != back.content:
            await self.edit(case)

    async def renew(self, case: Case) -> None:
        """The line was changed while its fact went: it is a fact of its own."""
        if case.shown is not None:
            self.arrived.append((case.seen, case.shown, case.line))

    async def wait(self, case: Case) -> None:
        """Nothing is done before the owner has decided."""
        case.keeps_note = True

    # --- lines that were deleted ----------------------------------------------

    async def _lose(self) -> None:
        """Retract the facts whose lines were deleted, or hold them until their owner has decided."""
        asked = [case for case in self._losses if case.seen.version is None]
        rest = [case for case in self._losses if case.seen.version is not None]
        if rest and await self._is_too_much(rest):
            asked, rest = self._losses, []
        for case in asked:
            self.ledger.keep(case.line, state="held")
        for case in rest:
            if case.fact is not None and not await self.facing.retract(case.fact):
                self.ledger.is_again = True
                continue
            if case.shown is not None:
                self.ledger.sheet(case.seen).remove(case.shown)
            fact = case.line.fact if case.fact is None else case.fact.id
            self.ledger.keep(case.line, fact=fact, state="gone", refused="", why="")

    async def _is_too_much(self, losses: Sequence[Case]) -> bool:
        look = self.ledger.look
        is_over = look.next.looked - look.next.lost_at > WINDOW_US
        lost = len(losses) + (0 if is_over else look.next.lost)
        if lost > MOST_LOST:
            return True
        if len(losses) > _FEW:
            kept = await self.ledger.store.count(self.ledger.owner, LINES, {"state": "kept"})
            if len(losses) >= kept:
                return True
            for seen in {case.seen.path: case.seen for case in losses}.values():
                if await self.looking.is_reverted(self.ledger.owner, seen):
                    return True
        begun = look.next.looked if is_over else look.next.lost_at
        look.next = msgspec.structs.replace(look.next, lost=lost, lost_at=begun)
        return False


_DOING: Final[dict[Verdict, Callable[[Passing, Case], Awaitable[None]]]] = {
    "nothing": Passing.nothing,
    "settled": Passing.settled,
    "edit": Passing.edit,
    "rewrite": Passing.rewrite,
    "conflict": Passing.conflict,
    "retract": Passing.retract,
    "place": Passing.place,
    "remove": Passing.remove,
    "vanished": Passing.remove,
    "restore": Passing.restore,
    "new": Passing.renew,
    "waiting": Passing.wait,
}
