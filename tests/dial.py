"""DIAL Core for tests: the stand-in on a free port, or a real one where DIAL_URL and DIAL_API_KEY are set."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from aiohttp import web

from bethink.dial.core import Core, CoreClient
from bethink.dial.stand_in import StandIn
from bethink.llm.script import Rule, Rules
from bethink.llm.scripted_server import ScriptedServer

KEY, OTHER_KEY = "key-of-alice", "key-of-bob"
IS_REAL = bool(os.environ.get("DIAL_URL") and os.environ.get("DIAL_API_KEY"))


@dataclass(frozen=True, slots=True)
class Dial:
    """Core, where it is, and who may ask it."""

    url: str
    core: Core
    stand_in: StandIn | None

    @property
    def own(self) -> StandIn:
        """The stand-in, for tests that look into it."""
        assert self.stand_in is not None
        return self.stand_in

    def other(self) -> Core:
        """Core as somebody else sees it."""
        return self.core.client.with_key(OTHER_KEY)


@asynccontextmanager
async def open_dial(*, real: bool = False, timeout_s: float = 5) -> AsyncGenerator[Dial]:
    """Core; the real one if asked for and there."""
    if real and IS_REAL:
        client = CoreClient(os.environ["DIAL_URL"], timeout_s=timeout_s)
        yield Dial(client.url, client.with_key(os.environ["DIAL_API_KEY"]), None)
        await client.close()
        return
    stand_in = StandIn({KEY: "alice", OTHER_KEY: "bob"})
    async with stand_in.served() as url:
        client = CoreClient(url, timeout_s=timeout_s)
        yield Dial(url, client.with_key(KEY), stand_in)
        await client.close()


@asynccontextmanager
async def open_model(*rules: Rule, delay_ms: float = 0) -> AsyncGenerator[str]:
    """The base URL of an OpenAI-compatible server in this process, which answers by the rules."""
    script = Rules(rules) if rules else Rules()
    runner = web.AppRunner(ScriptedServer(script, delay_ms=delay_ms).application(), shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()
