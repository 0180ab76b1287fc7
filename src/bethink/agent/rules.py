"""What an owner decided about a tool for always. `agent/policy` asks, approvals and settings write."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from bethink.store import Collection, Delete, Put, Record, Scan

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from bethink.clock import Clock
    from bethink.principal import Principal
    from bethink.store import Store
    from bethink.tool import Tool

Decision = Literal["auto", "ask", "deny"]

_MAX_RULES = 1_000


class Rule(Record, frozen=True, kw_only=True):
    """That calls of the tool `id` run, ask or are refused by themselves. `at` is microseconds UTC.

    It was decided about what had this `origin`: for another that comes under the
    same name only a denial holds.
    """

    decision: Decision
    at: int
    origin: str = ""

    def holds(self, tool: Tool) -> bool:
        """Whether it speaks of this tool, and not of another of its name."""
        return self.decision == "deny" or self.origin == tool.origin


RULES = Collection("tool_rules", Rule, searchable=False)


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of all owners."""

    store: Store
    clock: Clock

    async def among(self, principal: Principal, tools: Iterable[Tool]) -> Mapping[str, Decision]:
        """The decisions that hold for these tools, by name."""
        named = {tool.name: tool for tool in tools}
        found = await self.store.get(RULES, principal.owner, [*named])
        rules = [item.record for item in found if item is not None]
        return {rule.id: rule.decision for rule in rules if rule.holds(named[rule.id])}

    async def list(self, principal: Principal) -> Sequence[Rule]:
        """All of the owner's rules, by the tool's name."""
        page = await self.store.scan(principal.owner, Scan(RULES, limit=_MAX_RULES))
        return [item.record for item in page.items]

    async def set(
        self, principal: Principal, tool: str, decision: Decision | None, *, origin: str = ""
    ) -> None:
        """Decide about a tool for always; None goes back to what holds without a rule."""
        if decision is None:
            await self.store.commit(principal.owner, [Delete(RULES, tool)])
            return
        rule = Rule(id=tool, decision=decision, at=self.clock.now_us(), origin=origin)
        await self.store.commit(principal.owner, [Put(RULES, rule)])
