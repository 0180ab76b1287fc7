"""Lines that become facts: new ones, and those whose ids nobody knows. `service` calls it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.mirror.diff import Seen
from bethink.mirror.fact_pages import category_of
from bethink.mirror.ledger import agreed
from bethink.mirror.lines import Shown
from bethink.mirror.records import REFUSALS, Line, Refusal, refusal_id
from bethink.redaction import FORGOTTEN
from bethink.store import Delete, Put

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.memory import Fact
    from bethink.mirror.diff import Looking
    from bethink.mirror.fact_changes import Facing
    from bethink.mirror.ledger import Ledger

Arrival = tuple[Seen, Shown, Line | None]
_SAME: Final = "Another memory says this already, and has a line of its own: delete one of the two."
_TAKEN_BACK: Final = "This was taken back before; store it as a memory if it is so after all."


@dataclass(frozen=True, slots=True)
class Arriving:
    """Has new lines of an owner become facts, through the same gate as anything that is told."""

    looking: Looking
    facing: Facing
    ledger: Ledger

    async def run(self, arrived: Sequence[Arrival]) -> None:
        """Take in these lines, and those that the pages have beside them.

        Raises:
            Conflict: facts were changed meanwhile.
            StorageError: they cannot be kept.
        """
        pages: defaultdict[str, list[Arrival]] = defaultdict(list)
        for one in (*arrived, *self._unknown()):
            pages[one[0].path].append(one)
        for path, seen in self.ledger.look.pages.items():
            pages[path] += [(seen, shown, None) for shown in seen.unmarked]
        for path, news in pages.items():
            if not self.ledger.look.pages[path].odd:
                await self._take(path, news)
        await self.ledger.commit()

    def _unknown(self) -> list[Arrival]:
        """Lines with an id that no record has; what forgetting left of one is removed."""
        news: list[Arrival] = []
        for found in self.ledger.look.marked.values():
            for seen, shown in found:
                if shown.is_note or FORGOTTEN in shown.content or not shown.content:
                    self.ledger.sheet(seen).remove(shown)
                else:
                    news.append((seen, shown, None))
        self.ledger.look.marked.clear()
        return news

    async def _take(self, path: str, news: Sequence[Arrival]) -> None:
        owner = self.ledger.owner
        known = {one.record.id for one in await self.looking.refusals(owner, path)}
        stays = {refusal_id(path, shown.content) for _, shown, _ in news}
        self.ledger.changes += [Delete(REFUSALS, id) for id in sorted(known - stays)]
        if self.ledger.look.is_anew:
            # What stood against it then may be gone.
            known = set[str]()
        fresh = [one for one in news if refusal_id(path, one[1].content) not in known]
        if not fresh:
            return
        hand = await self.looking.hand(owner, self.ledger.look.pages[path], self.ledger.look.now.looked)
        contents = [shown.content for _, shown, _ in fresh]
        told = await self.facing.add(contents, path=path, category=category_of(path), hand=hand)
        facts = [fact for fact in told if not isinstance(fact, str)]
        self.ledger.look.facts |= {fact.id: fact for fact in facts}
        self.ledger.know(await self.looking.lines_of(owner, [fact.id for fact in facts]))
        marks = dict(zip((fact.id for fact in facts), await self.ledger.marks(facts), strict=True))
        for one, fact in zip(fresh, told, strict=True):
            why = fact if isinstance(fact, str) else self._bound(one, fact, mark=marks[fact.id])
            if why is not None:
                id = refusal_id(path, one[1].content)
                self.ledger.changes.append(Put(REFUSALS, Refusal(id=id, path=path, why=why)))

    def _bound(self, one: Arrival, fact: Fact, *, mark: str) -> str | None:
        """Have the line show its fact; why it cannot, if it cannot."""
        seen, shown, line = one
        if fact.state not in {"active", "suggested"}:
            return _TAKEN_BACK
        if self.ledger.shows(fact.id, but=line.id if line else ""):
            return _SAME
        line = line or self.ledger.spare(fact.id) or Line(id=mark, fact=fact.id, path=seen.path, said="")
        sheet = self.ledger.sheet(seen)
        if fact.content != shown.content:
            sheet.say(shown, fact.content, line.id)
        elif shown.id != line.id:
            sheet.mark(shown, line.id)
        self.ledger.later(seen, agreed(line, fact, seen.path))
        return None
