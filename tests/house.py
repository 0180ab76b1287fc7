"""A whole Bethink over in-memory ports and a scripted model, for tests of everything above the ports."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bethink.agent.records import NumberedEvent
from bethink.app import App, open_app
from bethink.blobs import Blobs
from bethink.clock import FakeClock
from bethink.conversations.records import StoredMessage
from bethink.embeddings import Embeddings
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.events import Event, Place
from bethink.internet import Internet
from bethink.llm import Llm
from bethink.ports import Ports
from bethink.principal import Principal
from bethink.settings import Settings
from bethink.store import Store
from bethink.tool import Tool

MASTER_KEY = "bm90aGluZyBidXQgMzIgYnl0ZXMgZm9yIHRlc3RzISE="
"""So that no test makes a key where this machine's own Bethink keeps its data."""


@dataclass(frozen=True, slots=True)
class House:
    """An open app, the local owner, and short ways to talk."""

    app: App
    me: Principal
    clock: FakeClock

    async def new(self) -> str:
        return (await self.app.conversations.create(self.me)).id

    async def say(self, content: str, conversation: str | None = None) -> list[Event]:
        """The events of one turn, deltas merged."""
        run = await self.app.runs.start(self.me, conversation or await self.new(), content)
        return await self.events(run)

    async def events(self, run: str, after: Place | None = None) -> list[Event]:
        return [numbered.event for numbered in await self.numbered(run, after)]

    async def numbered(self, run: str, after: Place | None = None) -> list[NumberedEvent]:
        return [numbered async for batch in self.app.runs.follow(self.me, run, after) for numbered in batch]

    async def messages(self, conversation: str) -> Sequence[StoredMessage]:
        page = await self.app.conversations.messages(self.me, conversation)
        return [item.record for item in reversed(page.items)]


def ports_of(
    llm: Llm | None = None,
    *,
    embeddings: Embeddings | None = None,
    clock: FakeClock | None = None,
    store: Store | None = None,
    internet: Internet | None = None,
    blobs: Blobs | None = None,
) -> Ports:
    index = MemoryIndex()
    return Ports(
        store=store or MemoryStore(index),
        index=index,
        bus=MemoryBus(),
        embeddings=embeddings or HashingEmbeddings(),
        llm=llm,
        clock=clock or FakeClock(),
        internet=internet,
        blobs=blobs,
    )


@asynccontextmanager
async def open_house(
    llm: Llm | None = None, *, ports: Ports | None = None, tools: Sequence[Tool] = (), **settings: object
) -> AsyncGenerator[House]:
    ports = ports or ports_of(llm)
    with tempfile.TemporaryDirectory(prefix="bethink-house-") as home:
        # A script would be asked for facts after each turn: tests of that say so. None leaves it unset.
        merged = {"master_key": MASTER_KEY, "data_dir": home, "extraction": "off"} | settings
        settings = {name: value for name, value in merged.items() if value is not None}
        async with open_app(Settings(**settings), ports, tools=tools) as app:  # pyright: ignore[reportArgumentType] - by name
            assert isinstance(ports.clock, FakeClock)
            yield House(app, await app.accounts.authenticate(audience="test"), ports.clock)
