"""What an answer costs the process that gives it, while it streams alone and among many.

Part of `bethink bench scale`. The model gives a token each 33 ms, in a process of its own, so an answer takes
five seconds, in which its text is written to the journal again and again: on SQLite, and on a PostgreSQL
whose commits are dearer.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import httpx2

from benchmarks.process import Serving, can_measure, serving
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule
from tests.postgres_server import postgres_server

if TYPE_CHECKING:
    from pathlib import Path

AT_ONCE: Final = (1, 30)
_TOKENS: Final = 150
_DELAY_MS: Final = 33
_ANSWERS: Final = 120
_FEWEST: Final = 4
_STORY: Final = "".join(f"w{number:04} " for number in range(_TOKENS))


async def measure_streams(models: Path) -> list[dict[str, Any]]:
    """A row for each number of answers at once on each engine."""
    if not can_measure():
        return [{"streams": 0, "skipped": "this machine does not tell what a process has used"}]
    rows: list[dict[str, Any]] = []
    with scripted_process() as model, postgres_server(durable=True) as postgres:
        await model.plays(Rule(text=_STORY, chunk_characters=len("w0000 "), delay_ms=_DELAY_MS))
        told = {
            "BETHINK_MODEL": "openai:bench",
            "BETHINK_MODEL_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "none",
            "BETHINK_EXTRACTION": "off",
            "BETHINK_TITLES": "words",
            "BETHINK_RECALL_LIMIT": "0",
            "BETHINK_RECALL_PROFILE_LIMIT": "0",
        }
        ways = {"sqlite": told, "postgresql": told | {"BETHINK_DATABASE_URL": postgres.new_database()}}
        for way, environment in ways.items():
            async with serving(models, **environment) as server:
                rows += [
                    {"streams": at_once, "way": way, **await _answers(server, at_once)} for at_once in AT_ONCE
                ]
    return rows


async def _answers(server: Serving, at_once: int) -> dict[str, float]:
    """Processor milliseconds of the server for an answer, and how often its text was written."""
    rounds = max(_ANSWERS // at_once, 1) if at_once > 1 else _FEWEST
    talks = [(await server.post("/conversations", {}))["id"] for _ in range(at_once)]
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
    async with httpx2.AsyncClient(base_url=server.origin, timeout=120, limits=limits) as http:
        await asyncio.gather(*(_answer(http, talk) for talk in talks))
        before = server.cpu_ms()
        for _ in range(rounds):
            await asyncio.gather(*(_answer(http, talk) for talk in talks))
        spent = server.cpu_ms() - before
    return {"answer_cpu_ms": round(spent / rounds / at_once, 1)}


async def _answer(http: httpx2.AsyncClient, conversation: str) -> None:
    body = {"message": {"role": "user", "content": "Tell me a story."}, "stream": True}
    async with http.stream("POST", f"/conversations/{conversation}/chat", json=body) as response:
        told = [line async for line in response.aiter_lines() if line.startswith("data: ")]
    if told[-1:] != ["data: [DONE]"]:
        message = f"an answer ended early: {told[-1:]}"
        raise RuntimeError(message)
