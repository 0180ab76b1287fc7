"""A question to the memory agent from a door itself: its events, as of any run. `web` and `cli` show them."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.agent.delegating import Gathered
from bethink.agent.journal import Numbered
from bethink.events import Event, MemoryUsed, Place, RunDone
from bethink.tools.memory_agent import sources

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.agent.delegating import Delegating
    from bethink.errands import Delegated
    from bethink.principal import Principal
    from bethink.tools.memory_agent import MemoryAgent


@dataclass(frozen=True, slots=True)
class Asking:
    """Sends the memory agent."""

    delegating: Delegating
    agent: MemoryAgent

    async def ask(self, principal: Principal, question: str, filters: Sequence[str] = ()) -> Delegated:
        """What it answers.

        Raises:
            NoModel: there is none that could be asked.
            BadInput: there is no question, or it is too long.
        """
        return await self.delegating.run(principal, await self.agent.errand(principal, question, filters))

    async def follow(
        self, principal: Principal, question: str, filters: Sequence[str] = ()
    ) -> AsyncGenerator[list[Numbered], None]:
        """What happens until the answer, each event as it comes; before the end the pages that it read.

        Raises:
            NoModel: there is none that could be asked; nothing came before.
            BadInput: there is no question, or it is too long.
        """
        errand = await self.agent.errand(principal, question, filters)
        gathered, number = Gathered(), 0
        async with aclosing(self.delegating.events(principal, errand)) as events:
            async for event in events:
                gathered.take(event)
                told: list[Event] = [event]
                if isinstance(event, RunDone) and (read := sources(gathered.outcome())):
                    told = [MemoryUsed(ids=read, marks=()), event]
                yield [Numbered(Place(number := number + 1), one) for one in told]
