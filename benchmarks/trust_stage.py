"""Where a case of `bench.trust` takes place: an app with an empty memory, a clock and a model's script."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from bethink.app import App, open_app
from bethink.clock import FakeClock, to_datetime
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.llm.scripted import ScriptedLlm
from bethink.memory import NewFact, Source
from bethink.ports import Ports
from bethink.principal import LOCAL_OWNER
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
    from datetime import datetime

    from bethink.embeddings import Embeddings
    from bethink.llm import LlmRequest
    from bethink.llm.scripted import Answer
    from bethink.memory import Fact, FactChange
    from bethink.principal import Principal
    from bethink.recall.service import Hit
    from bethink.tool import Tool

DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class Stage:
    """An app with an empty memory, and short ways to live in it."""

    app: App
    me: Principal
    clock: FakeClock
    conversation: str

    async def tell(self, content: str, **more: Any) -> FactChange:  # noqa: ANN401 - fields of a new fact
        """Keep what the owner says, a minute after what was said before."""
        self.clock.advance(60)
        source = Source(kind="conversation", id=self.conversation, message=f"m{self.clock.now_us()}")
        return await self.app.memory.add(self.me, NewFact(content, source=source, **more))

    async def ask(self, question: str, k: int = 5, *, as_of: datetime | None = None) -> list[Hit]:
        """The facts that answer, best first."""
        return await self.app.recall.search(self.me, question, k, kinds={"fact"}, as_of=as_of)

    async def say(self, content: str) -> None:
        """A whole turn of a conversation of its own, with the model that plays the case's script."""
        conversation = await self.app.conversations.create(self.me)
        run = await self.app.runs.start(self.me, conversation.id, content)
        async for _ in self.app.runs.follow(self.me, run):
            pass

    async def facts(self, *states: str) -> list[Fact]:
        """The facts in these states, or all; newest first."""
        page = await self.app.memory.list(self.me, limit=200)
        return [item.record for item in page.items if not states or item.record.state in states]

    @property
    def now(self) -> datetime:
        """The present of the case."""
        return to_datetime(self.clock.now_us())


@dataclass(frozen=True, slots=True)
class Case:
    """`check` lives the case and tells what was wrong, None if nothing.

    A model that takes part answers from `script`, and may use `tools` beside the app's.
    """

    kind: str
    name: str
    check: Callable[[Stage], Awaitable[str | None]] = field(repr=False)
    script: Sequence[Answer] | Callable[[LlmRequest], Answer] = ()
    tools: Sequence[Tool] = ()
    extraction: Literal["auto", "off"] = "off"


@asynccontextmanager
async def staged(case: Case, embeddings: Embeddings) -> AsyncGenerator[Stage]:
    """The case's stage: nothing is known on it yet, and nothing is left of it."""
    index = MemoryIndex()
    clock = FakeClock()
    llm = ScriptedLlm(case.script) if case.script else None
    ports = Ports(MemoryStore(index), index, MemoryBus(), embeddings, llm, clock)
    async with open_app(Settings(extraction=case.extraction), ports, tools=case.tools) as app:
        me = app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench")
        conversation = await app.conversations.create(me)
        yield Stage(app, me, clock, conversation.id)
