"""OpenAI's own client of an in-memory house."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import openai

from bethink.llm.scripted import ScriptedLlm
from tests.door import Door, open_door


@dataclass(frozen=True, slots=True)
class Client:
    door: Door
    openai: openai.AsyncOpenAI


@asynccontextmanager
async def client_of(llm: ScriptedLlm | None, **settings: object) -> AsyncGenerator[Client]:
    async with open_door(llm, **settings) as door:  # pyright: ignore[reportArgumentType] - by name
        own = openai.AsyncOpenAI(
            api_key="none", base_url="http://127.0.0.1:8484/v1", http_client=door.http, max_retries=0
        )
        yield Client(door, own)
