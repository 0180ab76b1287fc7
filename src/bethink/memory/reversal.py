"""Takes back a change of many facts: an import, a consolidation, an expiry, or such an undoing itself.

`Memory.undo` calls it. Each fact that nobody changed since becomes what it was;
the others stay as they are now.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from bethink.errors import UnknownId
from bethink.memory.facts import Fact, FactChange, anew
from bethink.memory.steps import STEPS, FactStep, LogStep
from bethink.store import Scan
from bethink.store.reading import records_of

if TYPE_CHECKING:
    from bethink.memory.draft import Draft
    from bethink.memory.writing import FactWriter
    from bethink.principal import Principal

_KINDS = ("import:", "consolidated:", "expired:", "undone:")
_SHOWN = 20


def takes_back_many(token: str) -> bool:
    """Whether the token is one of those that `Reversal` knows."""
    return token.startswith(_KINDS)


@dataclass(frozen=True, slots=True)
class Reversal:
    """Works in one commit for each step: a consolidation has one, an import one for each batch."""

    writing: FactWriter

    async def undo(self, principal: Principal, token: str) -> FactChange:
        """Take back what the token names; what cannot be taken back any more stays.

        Raises:
            UnknownId: there is nothing of it to take back.
            Conflict: another process kept changing facts meanwhile.
        """
        undone = f"undone:{self.writing.new_id()}"
        shown: list[Fact] = []
        count = 0
        scan = Scan(STEPS, where={"undo": token}, order="at", reverse=True, limit=1)
        async for step in records_of(self.writing.store, principal.owner, scan):
            back = await self.writing.repeated(principal, partial(self._reversed, step, undone))
            count += len(back)
            shown += back[: _SHOWN - len(shown)]
        if not shown:
            message = (
                "There is nothing to take back: it was undone already, or each memory was changed since."
            )
            raise UnknownId(message)
        change = "retracted" if shown[0].state == "retracted" else "restored"
        return FactChange(shown[0], change, undone, tuple(shown[1:]), count)

    async def _reversed(self, step: LogStep, undone: str, draft: Draft) -> list[Fact]:
        await draft.read(touched.id for touched in step.facts)
        back = [touched.id for touched in step.facts if await self._back(draft, touched)]
        if back:
            self.writing.note(draft, "undone", undo=undone)
            await self.writing.commit(draft)
        return [draft.get(id) for id in back]

    async def _back(self, draft: Draft, touched: FactStep) -> bool:
        """Make the fact what it was, if it still is what the step made of it, and nobody says it again."""
        if touched.id not in draft or draft.version(touched.id) != touched.version:
            return False
        fact = draft.get(touched.id)
        state = touched.was or "retracted"
        returns = state == "active" and fact.state != "active"
        if returns and await self._is_said(draft, fact):
            return False
        now = fact
        if touched.in_place and fact.before is not None:
            now = self.writing.in_its_slot(anew(fact, **msgspec.structs.asdict(fact.before)))
        draft.put(msgspec.structs.replace(now, state=state, superseded_by=touched.by, merges=touched.merges))
        if returns:
            await draft.returned(draft.get(fact.id))
        elif fact.state == "active" != state:
            await draft.left(fact)
        return True

    async def _is_said(self, draft: Draft, fact: Fact) -> bool:
        (same,) = await self.writing.said(draft.owner, [fact.digest])
        return any(one.record.state == "active" for one in same)
