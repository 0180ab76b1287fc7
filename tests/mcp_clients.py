"""Clients of the official SDK: over stdio and HTTP, in both eras, with a person to be asked or without."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import (
    CallToolResult,
    ElicitRequestParams,
    ElicitResult,
    Implementation,
    ResourceListChangedNotification,
    ResourceUpdatedNotification,
    TextContent,
    ToolListChangedNotification,
)

from tests import warm
from tests.server_process import environment

Mode = Literal["auto", "legacy"]
MODES: tuple[Mode, ...] = ("auto", "legacy")
"""The stateless protocol of 2026-07-28, which `auto` finds, and the sessions before it."""
_PATIENCE_S = 120


class Person:
    """Who is asked; `asked` keeps what they read. Agrees, or not."""

    def __init__(self, *, agrees: bool) -> None:
        self.agrees = agrees
        self.asked: list[str] = []

    async def answer(self, _context: object, params: ElicitRequestParams) -> ElicitResult:
        self.asked.append(params.message)
        return (
            ElicitResult(action="accept", content={"agree": True})
            if self.agrees
            else ElicitResult(action="decline")
        )


class Ear:
    """A client of sessions that hears; `told` is what, in order."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self._news = anyio.Event()

    async def hear(self, message: object) -> None:
        match message:
            case ToolListChangedNotification():
                self.told.append("tools")
            case ResourceListChangedNotification():
                self.told.append("resources")
            case ResourceUpdatedNotification(params=params):
                self.told.append(str(params.uri))
            case _:
                return
        self._news.set()

    async def wait(self, *wanted: str) -> None:
        while not set(wanted) <= set(self.told):
            self._news = anyio.Event()
            with anyio.fail_after(20):
                await self._news.wait()


def told(person: Person | None, name: str) -> dict[str, Any]:
    """What a client is made with."""
    asks = {"elicitation_callback": person.answer} if person else {}
    return {
        "client_info": Implementation(name=name, version="1"),
        "read_timeout_seconds": _PATIENCE_S,
        **asks,
    }


def program(data: Path, *words: str, **more: str) -> StdioServerParameters:
    """`bethink mcp` over a data directory."""
    command, *code = warm.program(warm.BETHINK)
    return StdioServerParameters(
        command=command, args=[*code, "mcp", *words], env=environment(data, None, **more)
    )


@asynccontextmanager
async def over_stdio(
    data: Path, *words: str, mode: Mode = "auto", person: Person | None = None, name: str = "tests"
) -> AsyncGenerator[Client]:
    """A client of a process of its own."""
    async with Client(program(data, *words), mode=mode, **told(person, name)) as client:
        yield client


@asynccontextmanager
async def over_http(
    url: str,
    *,
    mode: Mode = "auto",
    person: Person | None = None,
    name: str = "tests",
    ear: Ear | None = None,
) -> AsyncGenerator[Client]:
    """A client of a server that runs; `ear` hears what it is told by itself."""
    hear = None if ear is None else ear.hear
    async with (
        httpx2.AsyncClient(timeout=_PATIENCE_S) as http,
        Client(
            streamable_http_client(url, http_client=http),
            mode=mode,
            message_handler=hear,
            **told(person, name),
        ) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    """The words of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


def token_in(result: CallToolResult) -> str:
    """The confirmation that an answer gave."""
    return text_of(result).split('confirm="')[1].split('"')[0]
