"""Clients of the official SDK: over stdio and HTTP, in both eras, with a person to be asked or without."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult, ElicitRequestParams, ElicitResult, Implementation, TextContent

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
    url: str, *, mode: Mode = "auto", person: Person | None = None, name: str = "tests"
) -> AsyncGenerator[Client]:
    """A client of a server that runs."""
    async with (
        httpx2.AsyncClient(timeout=_PATIENCE_S) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode, **told(person, name)) as client,
    ):
        yield client


def text_of(result: CallToolResult) -> str:
    """The words of a result."""
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))


def token_in(result: CallToolResult) -> str:
    """The confirmation that an answer gave."""
    return text_of(result).split('confirm="')[1].split('"')[0]
