"""What the mirror does to facts: through `Memory`, as anybody else. `reconcile` calls it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.errors import BadInput, BethinkError, Conflict, StorageError, UnknownId
from bethink.memory import NewFact, Source
from bethink.memory.wording import dated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.forgetting.announcements import StableRead
    from bethink.memory import Fact, FactChange, Memory
    from bethink.mirror.diff import Hand
    from bethink.principal import Principal

_CHANGED: str = "the memory was changed meanwhile"


@dataclass(frozen=True, slots=True)
class FactEditor:
    """Changes one owner's facts, as lines of pages say."""

    memory: Memory
    principal: Principal
    unchanged: StableRead

    async def edit(self, fact: Fact, text: str, *, path: str, line: str, hand: Hand) -> Fact | str:
        """Have a fact say what its line says; the fact that does, or why the memory does not take it.

        What it was corrected from is taken back, where that is what the line says.

        Raises:
            StorageError: it cannot be kept.
            Conflict: others kept changing facts meanwhile.
        """
        source = source_of(path, hand, line=line)
        try:
            if fact.state == "suggested":
                return await self._instead(fact, text, source)
            if (back := await self._taken_back(fact, text)) is not None:
                return back
            correction = NewFact(
                content=text,
                category=fact.category,
                importance=fact.importance,
                topics=fact.topics,
                source=source,
                project=fact.project,
                pinned=fact.pinned,
                depends_on=fact.depends_on,
                trust="owner",
            )
            unchanged = self.unchanged.expected
            return (await self.memory.edit(self.principal, fact.id, correction, expected=unchanged)).fact
        except (StorageError, Conflict):
            raise
        except UnknownId as error:
            raise Conflict(_CHANGED) from error
        except BethinkError as error:
            return error.message

    async def add(self, contents: Sequence[str], *, path: str, category: str, hand: Hand) -> list[Fact | str]:
        """Let new lines through the gate; for each the fact that says it, or why it is none.

        Raises:
            StorageError: they cannot be kept.
            Conflict: others kept changing facts meanwhile.
        """
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
        for source in fact.sources:
            if source.message == line:
                told = dated(NewFact(text), self.principal.time_zone, source.at)
                if told.content == fact.content:
                    return True
        return False

    async def _told(self, new: NewFact) -> FactChange:
        return await self.memory.add(self.principal, new, forgotten=self.unchanged)

    async def _add(self, new: NewFact) -> Fact | str:
        try:
            return (await self._told(new)).fact
        except (StorageError, Conflict):
            raise
        except BethinkError as error:
            return error.message

    async def _instead(self, fact: Fact, text: str, source: Source) -> Fact:
        new = NewFact(text, category=fact.category, importance=fact.importance, source=source).checked()
        await self.memory.reject(self.principal, fact.id)
        return (await self._told(new)).fact

    async def _taken_back(self, fact: Fact, text: str) -> Fact | None:
        old = await self.memory.get(self.principal, fact.supersedes)
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
