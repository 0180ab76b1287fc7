"""DIAL Core for tests: the stand-in on a free port, or a real one where DIAL_URL and DIAL_API_KEY are set."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from aiohttp import web

from benchmarks.stand_ins.dial_core import Application, Model, StandIn
from benchmarks.stand_ins.scripted_server import ScriptedServer
from bethink.dial.core import Core, CoreClient
from bethink.llm.scripted import Rule, Rules
from bethink.ports import Ports
from bethink.tool import Tool
from tests.door import served
from tests.house import House, open_house, ports_of

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


@dataclass(frozen=True, slots=True)
class Way:
    """DIAL's whole way: a client asks Core, Core asks Bethink, Bethink asks Core for a model."""

    dial: Dial
    house: House
    http: httpx2.AsyncClient
    model: str

    @property
    def path(self) -> str:
        return "/openai/deployments/bethink/chat/completions"

    async def ask(
        self, *messages: dict[str, Any], key: str = KEY, conversation: str = "one", **more: object
    ) -> httpx2.Response:
        """The whole answer to a conversation."""
        headers = {"Api-Key": key, "X-CONVERSATION-ID": conversation}
        return await self.http.post(self.path, json={"messages": [*messages], **more}, headers=headers)

    async def say(
        self, text: str, *before: dict[str, Any], key: str = KEY, conversation: str = "one"
    ) -> dict[str, Any]:
        """The message that answers a text."""
        said = {"role": "user", "content": text}
        response = await self.ask(*before, said, key=key, conversation=conversation)
        assert response.status_code == 200, response.text
        return response.json()["choices"][0]["message"]

    async def requests(self) -> list[dict[str, Any]]:
        """What the model was asked, oldest first."""
        async with httpx2.AsyncClient() as http:
            seen = await http.get(self.model.removesuffix("/v1") + "/requests")
        return [one["body"] for one in seen.json() if one["body"]]

    async def memory(self, key: str = KEY) -> dict[str, Any] | None:
        """The memory file, as Core holds it."""
        own = self.dial.own
        bucket = own.callers.of({"api-key": key}).bucket
        content = own.files.contents.get(f"{bucket}/appdata/bethink/__long-memories/data.json")
        return content and json.loads(content.body)


@asynccontextmanager
async def open_dial_house(
    *rules: Rule,
    ports: Ports | None = None,
    tools: Sequence[Tool] = (),
    **settings: Any,  # noqa: ANN401 - as `Settings` has them
) -> AsyncGenerator[Way]:
    """Core, Bethink as its application and a scripted model behind it, all of them over the network."""
    async with open_dial(timeout_s=2) as dial, open_model(*rules) as model:
        door = {"enabled": True, "url": dial.url, "model": "gpt-4o", "timeout_s": 2} | settings.pop(
            "dial", {}
        )
        async with (
            open_house(
                ports=ports or ports_of(), tools=tools, dial=door, model_attempts=1, **settings
            ) as house,
            served(house) as (bethink, _),
        ):
            dial.own.models["gpt-4o"] = Model(model, "scripted-demo")
            url = f"{str(bethink.base_url).rstrip('/')}/openai/deployments/bethink/chat/completions"
            dial.own.applications["bethink"] = Application(url)
            async with httpx2.AsyncClient(base_url=dial.url, timeout=120) as http:
                yield Way(dial, house, http, model)
