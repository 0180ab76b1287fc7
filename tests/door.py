"""The web door over an in-memory house: called directly, or behind a real server where answers stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import anyio
import httpx2
import msgspec
from starlette.types import Message, Receive, Scope, Send

from bethink.llm import Llm
from bethink.ports import Ports
from bethink.tool import Tool
from bethink.web import create_rooms, create_web
from bethink.web.server import ConnectionLimits, Server, configured, listening
from tests.house import House, open_house

DONE = "[DONE]"
OWN = "http://127.0.0.1:8484"
ROOMS = create_rooms()
"""For all houses: they hold nothing, and working out the routes takes longer than most tests."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event: its id and its data, taken apart unless it is the end."""

    id: str | None
    data: Any

    @property
    def kind(self) -> str:
        return self.data if self.data == DONE else self.data["kind"]


@dataclass(frozen=True, slots=True)
class Door:
    """A client of the door, and the house behind it."""

    house: House
    http: httpx2.AsyncClient

    async def new(self) -> str:
        """A new conversation's id."""
        return (await self.http.post("/conversations")).json()["id"]

    async def chat(self, conversation: str, content: str) -> httpx2.Response:
        """The whole answer to a message."""
        return await self.http.post(f"/conversations/{conversation}/chat", json=said(content, stream=False))

    @asynccontextmanager
    async def stream(self, conversation: str, content: str) -> AsyncGenerator[AsyncIterator[Frame]]:
        """The frames of an answer, as they come."""
        url = f"/conversations/{conversation}/chat"
        async with self.http.stream("POST", url, json=said(content)) as response:
            yield frames(response)

    async def streamed(self, conversation: str, content: str) -> list[Frame]:
        """All frames of an answer."""
        async with self.stream(conversation, content) as answer:
            return [frame async for frame in answer]

    async def followed(self, run: str, after: str = "0") -> list[Frame]:
        """The frames of a run behind a place, until its end."""
        url = f"/runs/{run}/events"
        async with self.http.stream("GET", url, headers={"Last-Event-ID": after}) as response:
            return [frame async for frame in frames(response)]


def said(content: str, *, stream: bool = True) -> dict[str, Any]:
    return {"message": {"role": "user", "content": content}, "stream": stream}


async def frames(response: httpx2.Response) -> AsyncIterator[Frame]:
    """The frames of a stream, comments left out."""
    fields: dict[str, str] = {}
    async for line in response.aiter_lines():
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            data = fields["data"]
            yield Frame(fields.get("id"), data if data == DONE else msgspec.json.decode(data))
            fields = {}


def text_of(told: Sequence[Frame]) -> str:
    return "".join(frame.data["text"] for frame in told if frame.kind == "text_delta")


@asynccontextmanager
async def open_door(
    llm: Llm | None = None, *, ports: Ports | None = None, tools: Sequence[Tool] = (), **settings: object
) -> AsyncGenerator[Door]:
    """The door called directly: streams arrive when they have ended."""
    async with open_house(llm, ports=ports, tools=tools, **settings) as house, called(house) as http:
        yield Door(house, http)


@asynccontextmanager
async def called(house: House, *, peer: str = "127.0.0.1") -> AsyncGenerator[httpx2.AsyncClient]:
    """A client that calls the application without a network, from the address `peer`."""
    web = create_web(nullcontext(house.app), ROOMS)
    state: dict[str, Any] = {}
    is_up, is_over = anyio.Event(), anyio.Event()

    async def receive() -> dict[str, Any]:
        if is_up.is_set():
            await is_over.wait()
            return {"type": "lifespan.shutdown"}
        return {"type": "lifespan.startup"}

    async def send(_: Message) -> None:
        is_up.set()

    async def with_state(scope: Scope, receive: Receive, send: Send) -> None:
        await web({**scope, "state": dict(state)}, receive, send)

    async def live() -> None:
        await web({"type": "lifespan", "state": state}, receive, send)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(live)
        await is_up.wait()
        transport = httpx2.ASGITransport(with_state, raise_app_exceptions=False, client=(peer, 1))
        async with httpx2.AsyncClient(transport=transport, base_url=OWN) as http:
            yield http
        is_over.set()


@asynccontextmanager
async def open_server(llm: Llm | None = None) -> AsyncGenerator[Door]:
    """The door behind a real server on a free port."""
    async with open_house(llm) as house, served(house) as (http, _):
        yield Door(house, http)


@asynccontextmanager
async def served(
    house: House, limits: ConnectionLimits | None = None
) -> AsyncGenerator[tuple[httpx2.AsyncClient, Server]]:
    is_ready = anyio.Event()
    with listening("127.0.0.1", 0) as listener:
        server = Server(
            configured(create_web(nullcontext(house.app), ROOMS), limits),
            on_ready=is_ready.set,
            on_stop=house.app.runs.interrupt,
        )
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            await is_ready.wait()
            url = f"http://127.0.0.1:{listener.getsockname()[1]}"
            async with httpx2.AsyncClient(base_url=url, timeout=120) as http:
                yield http, server
            server.should_exit = True
