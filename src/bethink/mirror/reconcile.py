"""Lines that are known, beside their facts: what changed on one side is carried over. `service` calls it.

Facts are changed first, each durably with the record of its line; pages are
written afterwards, each once. Whatever is cut short is found again the next
time, from what is there by then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.errors import BadInput, BethinkError, Conflict, StorageError, UnknownId
from bethink.memory import Fact, Memory, NewFact, Source
from bethink.memory.terms import dated
from bethink.mirror.lines import (
    FOLDER,
    LINES,
    REFUSALS,
    LineItem,
    MirrorLine,
    PageSnapshot,
    RefusedLine,
    category_of,
    refusal_id,
    said,
)
from bethink.mirror.render import LineLedger, agreed
from bethink.redaction import FORGOTTEN
from bethink.store import Delete, Put

if TYPE_CHECKING:
    from bethink.forgetting.announcements import StableRead
    from bethink.mirror.diff import ChangeReader, Hand
    from bethink.principal import Principal


_CHANGED: str = "the memory was changed in the meantime"


@dataclass(frozen=True, slots=True)
class FactEditor:
    """Changes one owner's facts, as lines of pages say.

    `StorageError` if they cannot be kept, `Conflict` if others kept changing them meanwhile.
    """

    memory: Memory
    principal: Principal
    unchanged: StableRead

    async def edit(self, fact: Fact, text: str, *, path: str, line: str, hand: Hand) -> Fact | str:
        """Have a fact say what its line says; the fact that does, or why the memory does not take it.

        What it was corrected from is taken back, where that is what the line says.
        """
        source = source_of(path, hand, line=line)
        try:
            if fact.state == "suggested":
                new = NewFact(text, category=fact.category, importance=fact.importance, source=source)
                new = new.checked()
                await self.memory.reject(self.principal, fact.id)
                return (await self.memory.add(self.principal, new, forgotten=self.unchanged)).fact
            if (back := await self._taken_back(fact, text)) is not None:
                return back
            correction = replace(fact.statement, content=text, source=source, trust="owner")
            unchanged = self.unchanged.expected
            return (await self.memory.edit(self.principal, fact.id, correction, expected=unchanged)).fact
        except (StorageError, Conflict):
            raise
        except UnknownId as error:
            raise Conflict(_CHANGED) from error
        except BethinkError as error:
            return error.message

    async def add(self, contents: Sequence[str], *, path: str, category: str, hand: Hand) -> list[Fact | str]:
        """Let new lines through the gate; for each the fact that says it, or why it is none."""
        source, trust = source_of(path, hand), "untrusted" if hand == "stranger" else "owner"
        news = [NewFact(content, category=category, source=source, trust=trust) for content in contents]
        try:
            added = await self.memory.add_many(self.principal, news, forgotten=self.unchanged)
            return [changed.fact for changed in added]
        except (StorageError, Conflict):
            raise
        except BethinkError:
            return [await self._add(new) for new in news]

    async def retract(self, fact: Fact) -> bool:
        """Take a fact out of use; whether it still was in use."""
        try:
            await self.memory.retract(self.principal, fact.id)
        except UnknownId:
            return False
        return True

    async def restore(self, id: str) -> Fact | None:
        """Bring back what was retracted; None where that cannot be."""
        for token in ("retracted", "rejected"):
            try:
                return (await self.memory.undo(self.principal, f"{token}:{id}")).fact
            except (UnknownId, BadInput):
                continue
        return None

    def came_from(self, fact: Fact, text: str, *, line: str) -> bool:
        """Whether a fact is what a line's words became when they were taken in, dates beside them."""
        return any(
            dated(NewFact(text), self.principal.time_zone, source.at).content == fact.content
            for source in fact.sources
            if source.message == line
        )

    async def _add(self, new: NewFact) -> Fact | str:
        try:
            return (await self.memory.add(self.principal, new, forgotten=self.unchanged)).fact
        except (StorageError, Conflict):
            raise
        except BethinkError as error:
            return error.message

    async def _taken_back(self, fact: Fact, text: str) -> Fact | None:
        old = await self.memory.get(self.principal, (*fact.supersedes, *fact.corrects))
        if not any(one is not None and one.content == text for one in old):
            return None
        try:
            changed = await self.memory.undo(self.principal, f"superseded:{fact.id}")
        except (UnknownId, BadInput):
            return None
        back = next((one for one in (changed.fact, *changed.others) if one.content == text), None)
        return back or changed.fact


def source_of(path: str, hand: Hand, *, line: str | None = None) -> Source:
    """Where a line's fact comes from: its page, and who wrote it there."""
    match hand:
        case "person" | "import":
            kind = hand
        case "agent" | "stranger":
            kind = "tool"
    return Source(kind=kind, id=f"vault:{path}", message=line)


_SAME: Final = "Another memory with its own line says the same: delete one of the two lines."
_TAKEN_BACK: Final = "This was retracted before; store it as a memory if it is true after all."
MOST_LOST: Final = 20
"""So many lines may be deleted within `WINDOW_US` before their owner is asked."""
WINDOW_US: Final = 600_000_000
STRANGE: Final = (
    "A model changed this line after it had read content from outside: check it, and vouch for the page."
)
_FEW: Final = 2
"""More are asked about where none is left, or where an old page came back."""


Arrival = tuple[PageSnapshot, LineItem, MirrorLine | None]


@dataclass(slots=True)
class LineCase:
    """A line's record with what both sides say now. `snapshot` is the page where the line is, or was."""

    line: MirrorLine
    fact: Fact | None
    snapshot: PageSnapshot
    shown: LineItem | None = None
    note: LineItem | None = None
    note_on: PageSnapshot | None = None
    keeps_note: bool = False


@dataclass(slots=True)
class Reconciler:
    """Compares the known lines of an owner with their facts.

    `placed` gathers facts that need a line again, `arrived` lines that are to be facts of their own.
    """

    reader: ChangeReader
    editor: FactEditor
    ledger: LineLedger
    placed: list[tuple[Fact, MirrorLine | None]] = field(
        default_factory=list[tuple["Fact", "MirrorLine | None"]]
    )
    arrived: list[Arrival] = field(default_factory=list[Arrival])
    _losses: list[LineCase] = field(default_factory=list[LineCase])

    async def run(self) -> None:
        """Judge each line, change facts as follows, and have new lines become facts.

        What follows for pages stands in the ledger.
        """
        for id in [*self.ledger.delta.lines]:
            line = self.ledger.line(id)
            case = None if line is None else await self._case(line)
            if case is None:
                continue
            is_known = case.line.fact in self.ledger.delta.facts
            verdict = judged(case.line, case.shown, case.note, fact=case.fact, known=is_known)
            if case.shown is not None and FORGOTTEN in case.shown.content and verdict != "nothing":
                # What is left of a line that said something forgotten is nobody's edit.
                verdict = "remove" if case.fact is None else "rewrite"
            await _DOING[verdict](self, case)
            if case.note is not None and case.note_on is not None and not case.keeps_note:
                self.ledger.page_edit(case.note_on).remove(case.note)
        await self._lose()
        await self.ledger.commit()
        await self._take_in()

    async def _case(self, line: MirrorLine) -> LineCase | None:
        """What there is of a line; None where its page cannot be read."""
        delta = self.ledger.delta
        fact = await self.reader.current(self.ledger.owner, delta, line.fact)
        if fact is not None and fact.id != line.fact and await self._has_another(fact, line):
            fact = None
        found = delta.marked.pop(line.id, [])
        notes = [one for one in found if one[1].is_note]
        mains = [one for one in found if not one[1].is_note]
        mains.sort(key=lambda one: (one[0].path != line.path, said(one[1].content) != line.said))
        note_on, note = notes[0] if notes else (None, None)
        for snapshot, shown in notes[1:]:
            self.ledger.page_edit(snapshot).remove(shown)
        for snapshot, shown in mains[1:]:
            # A copy that was changed is a fact of its own; one that says the same is left alone.
            if shown.content != mains[0][1].content and snapshot.path.startswith(FOLDER):
                self.arrived.append((snapshot, shown, None))
        if mains:
            if line.why == STRANGE and not mains[0][0].untrusted:
                line = msgspec.structs.replace(line, refused="", why="")
            return LineCase(line, fact, *mains[0], note, note_on)
        snapshot = delta.pages.get(line.path) or PageSnapshot(line.path, odd=line.state != "gone")
        return None if snapshot.odd else LineCase(line, fact, snapshot, None, note, note_on)

    async def _has_another(self, fact: Fact, line: MirrorLine) -> bool:
        """Whether a line of its own shows what the line's fact became, on whichever page."""
        if not self.ledger.shows(fact.id, but=line.id):
            self.ledger.know(await self.reader.lines_of(self.ledger.owner, [fact.id]))
        return self.ledger.shows(fact.id, but=line.id)

    # --- what follows from a verdict ------------------------------------------

    async def nothing(self, case: LineCase) -> None:
        """The line at most stands on another page."""
        if case.shown is not None and case.line.path != case.snapshot.path:
            self.ledger.keep(case.line, path=case.snapshot.path)

    async def settled(self, case: LineCase) -> None:
        """Both say the same now."""
        if case.fact is not None:
            self.ledger.keep(agreed(case.line, case.fact, case.snapshot.path))

    async def edit(self, case: LineCase) -> None:
        """The line was changed: so is its fact."""
        if case.shown is None or case.fact is None:
            return
        path, text, delta = case.snapshot.path, case.shown.content, self.ledger.delta
        hand = await self.reader.hand(self.ledger.owner, case.snapshot, delta.now.looked)
        if hand == "stranger":
            # Tried again once the owner vouches for the page.
            self.ledger.keep(case.line, path=path, state="kept", refused=said(text), why=STRANGE)
            return
        result = await self.editor.edit(case.fact, text, path=path, line=case.line.id, hand=hand)
        if isinstance(result, str):
            self.ledger.keep(case.line, path=path, state="kept", refused=said(text), why=result)
            return
        delta.facts[result.id] = result
        case.fact = result
        case.line = self.ledger.keep(agreed(case.line, result, path), said=said(text))
        if result.content != text:
            await self.rewrite(case)

    async def rewrite(self, case: LineCase) -> None:
        """The fact was changed: so is its line."""
        if case.fact is None:
            return
        if case.shown is not None:
            snapshot = case.snapshot
            self.ledger.page_edit(snapshot).say(case.shown, case.fact.content, case.line.id)
        elif case.note is not None and case.note_on is not None:
            snapshot, case.keeps_note = case.note_on, True
            self.ledger.page_edit(snapshot).unnote(case.note, case.fact.content, case.line.id)
        else:
            return
        self.ledger.later(snapshot, agreed(case.line, case.fact, snapshot.path))

    async def conflict(self, case: LineCase) -> None:
        """Both were changed: the page shows both, and its owner decides by editing it."""
        if case.shown is None or case.fact is None:
            return
        if self.editor.came_from(case.fact, case.shown.content, line=case.line.id):
            # The edit was taken in, and cut short before that was kept.
            await self.rewrite(case)
            return
        case.keeps_note = True
        if case.note is None or case.note_on is None:
            self.ledger.page_edit(case.snapshot).note(case.shown, case.fact.content, case.line.id)
        else:
            self.ledger.page_edit(case.note_on).renote(case.note, case.fact.content, case.line.id)
        both = agreed(case.line, case.fact, case.snapshot.path)
        self.ledger.later(case.snapshot, msgspec.structs.replace(both, state="conflict"))

    async def retract(self, case: LineCase) -> None:
        """The line was deleted: its fact is retracted, if not too many are."""
        self._losses.append(case)

    async def place(self, case: LineCase) -> None:
        """The fact gets a line again."""
        if case.fact is not None and case.fact.state == "active":
            self.placed.append((case.fact, case.line))

    async def remove(self, case: LineCase) -> None:
        """The fact is gone: so is its line."""
        gone = msgspec.structs.replace(case.line, state="gone", refused="", why="")
        if case.shown is None:
            self.ledger.keep(gone)
            return
        self.ledger.page_edit(case.snapshot).remove(case.shown)
        self.ledger.later(case.snapshot, gone)

    async def restore(self, case: LineCase) -> None:
        """A line is back that was deleted: so is its fact."""
        back = await self.editor.restore(case.line.fact)
        if back is None:
            await self.renew(case)
            return
        self.ledger.delta.facts[back.id] = case.fact = back
        case.line = self.ledger.keep(agreed(case.line, back, case.snapshot.path))
        if case.shown is not None and case.shown.content != back.content:
            await self.edit(case)

    async def renew(self, case: LineCase) -> None:
        """The line was changed while its fact went: it is a fact of its own."""
        if case.shown is not None:
            self.arrived.append((case.snapshot, case.shown, case.line))

    async def wait(self, case: LineCase) -> None:
        """Nothing is done before the owner has decided."""
        case.keeps_note = True

    # --- lines that were deleted ----------------------------------------------

    async def _lose(self) -> None:
        """Retract the facts whose lines were deleted, or hold them until their owner has decided."""
        asked = [case for case in self._losses if case.snapshot.version is None]
        rest = [case for case in self._losses if case.snapshot.version is not None]
        if rest and await self._is_too_much(rest):
            asked, rest = self._losses, []
        for case in asked:
            self.ledger.keep(case.line, state="held")
        for case in rest:
            if case.fact is not None:
                if not await self.editor.retract(case.fact):
                    self.ledger.is_again = True
                    continue
                # It gets no line again in this pass.
                retracted = msgspec.structs.replace(case.fact, state="retracted")
                self.ledger.delta.facts[retracted.id] = retracted
            if case.shown is not None:
                self.ledger.page_edit(case.snapshot).remove(case.shown)
            fact = case.line.fact if case.fact is None else case.fact.id
            self.ledger.keep(case.line, fact=fact, state="gone", refused="", why="")

    async def _is_too_much(self, losses: Sequence[LineCase]) -> bool:
        delta = self.ledger.delta
        is_over = delta.next.looked - delta.next.lost_at > WINDOW_US
        lost = len(losses) + (0 if is_over else delta.next.lost)
        if lost > MOST_LOST:
            return True
        if len(losses) > _FEW:
            kept = await self.ledger.store.count(self.ledger.owner, LINES, {"state": "kept"})
            if len(losses) >= kept:
                return True
            for snapshot in {case.snapshot.path: case.snapshot for case in losses}.values():
                if await self.reader.is_reverted(self.ledger.owner, snapshot):
                    return True
        begun = delta.next.looked if is_over else delta.next.lost_at
        delta.next = msgspec.structs.replace(delta.next, lost=lost, lost_at=begun)
        return False

    # --- lines that are new ----------------------------------------------------

    async def _take_in(self) -> None:
        """Have new lines become facts, through the same gate as anything that is told."""
        pages: defaultdict[str, list[Arrival]] = defaultdict(list)
        for one in (*self.arrived, *self._unknown()):
            pages[one[0].path].append(one)
        for path, snapshot in self.ledger.delta.pages.items():
            pages[path] += [(snapshot, shown, None) for shown in snapshot.unmarked]
        for path, news in pages.items():
            if not self.ledger.delta.pages[path].odd:
                await self._take(path, news)
        await self.ledger.commit()

    def _unknown(self) -> list[Arrival]:
        """Lines with an id that no record has; what forgetting left of one is removed."""
        news: list[Arrival] = []
        for found in self.ledger.delta.marked.values():
            for snapshot, shown in found:
                if shown.is_note or FORGOTTEN in shown.content or not shown.content:
                    self.ledger.page_edit(snapshot).remove(shown)
                else:
                    news.append((snapshot, shown, None))
        self.ledger.delta.marked.clear()
        return news

    async def _take(self, path: str, news: Sequence[Arrival]) -> None:
        owner = self.ledger.owner
        known = {one.record.id for one in await self.reader.refusals(owner, path)}
        stays = {refusal_id(path, shown.content) for _, shown, _ in news}
        self.ledger.changes += [Delete(REFUSALS, id) for id in sorted(known - stays)]
        if self.ledger.delta.is_anew:
            # What stood against it then may be gone.
            known = set[str]()
        fresh = [one for one in news if refusal_id(path, one[1].content) not in known]
        if not fresh:
            return
        hand = await self.reader.hand(owner, self.ledger.delta.pages[path], self.ledger.delta.now.looked)
        contents = [shown.content for _, shown, _ in fresh]
        result = await self.editor.add(contents, path=path, category=category_of(path), hand=hand)
        facts = [fact for fact in result if not isinstance(fact, str)]
        self.ledger.delta.facts |= {fact.id: fact for fact in facts}
        self.ledger.know(await self.reader.lines_of(owner, [fact.id for fact in facts]))
        marks = dict(zip((fact.id for fact in facts), await self.ledger.marks(facts), strict=True))
        for one, fact in zip(fresh, result, strict=True):
            why = fact if isinstance(fact, str) else self._bound(one, fact, mark=marks[fact.id])
            if why is not None:
                id = refusal_id(path, one[1].content)
                self.ledger.changes.append(Put(REFUSALS, RefusedLine(id=id, path=path, why=why)))

    def _bound(self, one: Arrival, fact: Fact, *, mark: str) -> str | None:
        """Have the line show its fact; why it cannot, if it cannot."""
        snapshot, shown, line = one
        if fact.state not in {"active", "suggested"}:
            return _TAKEN_BACK
        if self.ledger.shows(fact.id, but=line.id if line else ""):
            return _SAME
        line = (
            line
            or self.ledger.spare(fact.id)
            or MirrorLine(id=mark, fact=fact.id, path=snapshot.path, said="")
        )
        page_edit = self.ledger.page_edit(snapshot)
        if fact.content != shown.content:
            page_edit.say(shown, fact.content, line.id)
        elif shown.id != line.id:
            page_edit.mark(shown, line.id)
        self.ledger.later(snapshot, agreed(line, fact, snapshot.path))
        return None


_DOING: Final[dict[Verdict, Callable[[Reconciler, LineCase], Awaitable[None]]]] = {
    "nothing": Reconciler.nothing,
    "settled": Reconciler.settled,
    "edit": Reconciler.edit,
    "rewrite": Reconciler.rewrite,
    "conflict": Reconciler.conflict,
    "retract": Reconciler.retract,
    "place": Reconciler.place,
    "remove": Reconciler.remove,
    "vanished": Reconciler.remove,
    "restore": Reconciler.restore,
    "new": Reconciler.renew,
    "waiting": Reconciler.wait,
}


Verdict = Literal[
    "nothing",  # both say what they said
    "settled",  # both were changed to the same
    "edit",  # the line was changed: it supersedes the fact
    "rewrite",  # the fact was changed: the line says so
    "conflict",  # both were changed
    "retract",  # the line was deleted: the fact is retracted
    "place",  # the fact has to have a line again
    "remove",  # the fact is gone: the line goes
    "vanished",  # both are gone
    "restore",  # the line is back: so is the fact
    "new",  # the line was changed, and its fact is gone: it is a fact of its own
    "waiting",  # nothing is done before its owner has decided
]


def judged(
    line: MirrorLine, shown: LineItem | None, note: LineItem | None, *, fact: Fact | None, known: bool
) -> Verdict:
    """What is to be done.

    `shown` is the line as it is now, `note` what stands below it in a conflict;
    `fact` is what is in use of the fact and what became of it, None where nothing
    is; `known` says whether any of it is kept, or it was forgotten.
    """
    text = None if shown is None or not shown.content else said(shown.content)
    now = None if fact is None else said(fact.content)
    if line.state == "conflict" and note is not None:
        return _in_conflict(line, text, now, known=known)
    if line.state == "gone":
        return _of_a_pair_that_went(text, now, known=known)
    if text is None:
        return _of_none(line, now)
    if text == line.said:
        return _of_the_same(line, now)
    return _of_a_changed_line(line, text, now, known=known)


def _of_none(line: MirrorLine, now: str | None) -> Verdict:
    if now is None:
        return "vanished"
    if line.state == "held":
        return "waiting"
    return "retract" if now == line.said else "place"


def _of_the_same(line: MirrorLine, now: str | None) -> Verdict:
    if now is None:
        return "remove"
    if now != line.said:
        return "rewrite"
    return "nothing" if line.state == "kept" and not line.refused else "settled"


def _of_a_changed_line(line: MirrorLine, text: str, now: str | None, *, known: bool) -> Verdict:
    if now is None:
        return "new" if known else "remove"
    if text == now:
        return "settled"
    if now != line.said:
        return "conflict"
    return "nothing" if text == line.refused else "edit"


def _of_a_pair_that_went(text: str | None, now: str | None, *, known: bool) -> Verdict:
    if text is None:
        return "nothing" if now is None else "place"
    if now is None:
        return "restore" if known else "remove"
    return "settled" if text == now else "conflict"


def _in_conflict(line: MirrorLine, text: str | None, now: str | None, *, known: bool) -> Verdict:
    """While the note is there, its owner has not decided."""
    if now is None:
        return "new" if known and text is not None else "remove"
    if text is None:
        # The line was deleted, and what the memory says was left.
        return "rewrite"
    if text == now:
        return "settled"
    return "waiting" if now == line.said else "conflict"
