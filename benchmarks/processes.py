"""A turn through one process and through three behind a proxy; a reader beside the one that is told first.

Part of `bethink bench scale`. The model answers at once and in a process of its own, so what is measured is
Bethink, its database and the proxy. A reader at a second process is compared with the one at the process
that answers: how much later the same characters of the same answer come.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import httpx2
import msgspec

from benchmarks.meter import WARM_UP, Meter
from benchmarks.soak import Fleet
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule
from tests.balancer import balanced
from tests.postgres_server import postgres_server
from tests.redis_server import redis_server

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    _Request = tuple[str, str, object]
    """Method, address, and a body as JSON."""

TURNS = 60
_STREAMS = 4
_BEHIND = 3
_STORY = " ".join(f"w{number:03}" for number in range(200))
_RULES = (Rule(when="story", text=_STORY, chunk_characters=10, delay_ms=20), Rule(text="It is Paris."))


@dataclass(frozen=True, slots=True)
class _Way:
    name: str
    processes: int
    settings: dict[str, str]


async def measure_processes() -> list[dict[str, Any]]:
    """A row for SQLite in one process and in three, and for three on PostgreSQL, without and with Valkey."""
    with scripted_process() as model, postgres_server(durable=True) as postgres, redis_server() as redis:
        await model.plays(*_RULES)
        told = {"BETHINK_MODEL": "openai:bench", "BETHINK_MODEL_BASE_URL": model.base_url}
        told |= {"OPENAI_API_KEY": "any", "BETHINK_EXTRACTION": "off", "BETHINK_TITLES": "words"}
        valkey = {"BETHINK_REDIS_URL": redis.url, "BETHINK_REDIS_USE": "bus"}
        without, beside = ({"BETHINK_DATABASE_URL": postgres.new_database()} for _ in range(2))
        ways = (
            _Way("sqlite, one process", 1, told),
            _Way("sqlite, three behind a proxy", _BEHIND, told),
            _Way("postgresql, three behind a proxy", _BEHIND, told | without),
            _Way("postgresql and valkey, three behind a proxy", _BEHIND, told | beside | valkey),
        )
        return [await _measured(way) for way in ways]


async def _measured(way: _Way) -> dict[str, Any]:
    own = {name: value for name, value in os.environ.items() if not name.startswith(("BETHINK_", "OPENAI_"))}
    models = {name: value for name, value in os.environ.items() if name == "BETHINK_MODELS_DIR"}
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        async with AsyncExitStack() as stack:
            fleet = Fleet(Path(directory) / "data", {**own, **models, **way.settings}, way.processes)
            stack.push_async_callback(fleet.stop)
            await fleet.start()
            urls = [server.url for server in fleet.servers]
            url = await stack.enter_async_context(balanced(urls)) if way.processes > 1 else urls[0]
            row: dict[str, Any] = {"turns": TURNS, "way": way.name, **await _turns(url)}
            return row | (await _readers(*urls[:2]) if way.processes > 1 else {})


async def _turns(url: str) -> dict[str, float]:
    """Milliseconds of a streamed turn, until its first words and until its end, each on a new connection."""
    words, whole = Meter(), Meter()
    limits = httpx2.Limits(max_keepalive_connections=0)
    async with httpx2.AsyncClient(base_url=url, timeout=60, limits=limits) as http:
        await http.post("/memories", json={"content": "User lives in Paris."})
        conversation = (await http.post("/conversations")).json()["id"]
        for number in range(WARM_UP + TURNS):
            to_words, to_end = words.start(), whole.start()
            async for event in _events(http, _asks(url, conversation, f"Where do I live, time {number}?")):
                if event["kind"] == "text_delta" and to_words is not None:
                    to_words()
                    to_words = None
            to_end()
    rows = {"words": words.figures(), "turn": whole.figures()}
    return {f"{name}_ms_{of}": row[f"wall_ms_{of}"] for name, row in rows.items() for of in ("p50", "p95")}


async def _readers(near: str, far: str) -> dict[str, float]:
    """How many milliseconds later the second process tells the same characters, of all the texts it told."""
    later: list[float] = []
    async with httpx2.AsyncClient(timeout=60) as http:
        for _ in range(_STREAMS):
            conversation = (await http.post(f"{near}/conversations")).json()["id"]
            run: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            told, read = await asyncio.gather(
                _arrivals(http, _asks(near, conversation, "Tell me a story"), run=run),
                _read_elsewhere(http, far, run),
            )
            # What came before the reader was there says nothing.
            for characters, at in told:
                if characters > read[0][0]:
                    later.append(1_000 * (next(seen for count, seen in read if count >= characters) - at))
    cuts = statistics.quantiles(later, n=20)
    return {
        "reader_later_ms_p50": round(statistics.median(later), 2),
        "reader_later_ms_p95": round(cuts[-1], 2),
    }


async def _read_elsewhere(
    http: httpx2.AsyncClient, url: str, run: asyncio.Future[str]
) -> list[tuple[int, float]]:
    return await _arrivals(http, ("GET", f"{url}/runs/{await run}/events", None))


async def _arrivals(
    http: httpx2.AsyncClient, request: _Request, *, run: asyncio.Future[str] | None = None
) -> list[tuple[int, float]]:
    """How many characters were there at which moment."""
    arrived: list[tuple[int, float]] = []
    count = 0
    async for event in _events(http, request):
        if event["kind"] == "run_started" and run is not None:
            run.set_result(event["run"])
        if event["kind"] in {"text_delta", "text_so_far"}:
            count += len(event["text"])
            arrived.append((count, time.perf_counter()))
    return arrived


def _asks(url: str, conversation: str, content: str) -> _Request:
    body = {"message": {"role": "user", "content": content}, "stream": True}
    return "POST", f"{url}/conversations/{conversation}/chat", body


async def _events(http: httpx2.AsyncClient, request: _Request) -> AsyncIterator[dict[str, Any]]:
    method, url, body = request
    async with http.stream(method, url, json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                yield msgspec.json.decode(line.removeprefix("data: "))
