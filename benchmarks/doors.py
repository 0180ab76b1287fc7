"""What a streamed token costs through each door, beside a plain proxy of the same stream, and 500 at once.

`door` calls this. A turn is one request to the model, without tools; only the
CPU of the serving process is counted. Conversations are temporary: of others,
what was said is embedded after the answer, which one row shows and `bench agent`
tells apart. Streams of many are timed where they arrive, in the measuring
process: gaps contain what that one is late.
"""

from __future__ import annotations

import asyncio
import importlib.util
import statistics
import subprocess
import sys
import time
import uuid
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import msgspec

from benchmarks import CLONE
from benchmarks.agent import SHORT, TOKEN
from benchmarks.process import Serving, serving
from benchmarks.relay import GREETING
from benchmarks.stand_ins.scripted_process import scripted_process
from bethink.llm.scripted import Rule

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from benchmarks.stand_ins.scripted_process import ScriptedProcess

PROXY: Final = "plain proxy"
_MODEL: Final = "scripted-demo"
_ROUNDS: Final = 2
_DELAY_MS: Final = 2
_AT_ONCE: Final = 20
_TURNS: Final = 40
_LONG: Final = 210
_FIRSTS: Final = 40
_MANY: Final = 500
_MANY_TOKENS: Final = 60
_MANY_DELAY_MS: Final = 150
_KB: Final = 1024
_KEY: Final = "key-of-the-measurement"
_MARK: Final = TOKEN.encode()
_MS: Final = 1_000


@dataclass(slots=True)
class Seen:
    """When an answer's pieces came, in seconds since it was asked for, and how many tokens there were."""

    at: list[float] = field(default_factory=list[float])
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """A door: `url` gives where to ask, `body` what, for an answer of so many tokens."""

    name: str
    serving: Serving
    url: Callable[[], Awaitable[str]]
    body: Callable[[int], dict[str, Any]]
    headers: Callable[[], dict[str, str]] = dict

    async def turn(self, url: str, tokens: int) -> Seen:
        """One streamed answer.

        Raises:
            RuntimeError: it is not whole.
        """
        seen, read = Seen(), bytearray()
        started = time.perf_counter()
        async with self.serving.session.post(url, json=self.body(tokens), headers=self.headers()) as response:
            async for chunk in response.content.iter_any():
                if _MARK in chunk:
                    seen.at.append(time.perf_counter() - started)
                read += chunk
        # Some doors tell the whole text again at the end.
        seen.tokens = read.count(_MARK)
        if response.status != 200 or seen.tokens < tokens:  # noqa: PLR2004 - HTTP's OK
            message = (
                f"{self.name}: {response.status}, {seen.tokens} of {tokens} tokens: {bytes(read[-300:])!r}"
            )
            raise RuntimeError(message)
        return seen

    async def turns(self, count: int, at_once: int, tokens: int) -> list[Seen]:
        """Many of them; how each came."""
        urls = iter([await self.url() for _ in range(count)])
        seen: list[Seen] = []

        async def worker() -> None:
            seen.extend([await self.turn(url, tokens) for url in urls])

        await asyncio.gather(*(worker() for _ in range(at_once)))
        return seen


async def measure_doors(models: Path) -> list[dict[str, Any]]:
    """A row for each door.

    `token_cpu_us` is what one more token costs the serving process, `first_ms`
    the time to the first one beyond the model's own; both medians or least of
    rounds. `many_*` are 500 streams at once: the gap between pieces that 99 of
    100 are below, the longest, and the memory that each took.
    """
    with scripted_process() as llm:
        async with AsyncExitStack() as stack:
            ways = await _ways(stack, models, llm)
            direct = ways.pop(0)
            rows = await _rows(llm, direct, ways)
    base = next(row["token_cpu_us"] for row in rows if row["door"] == PROXY)
    return [row | {"token_ratio": round(row["token_cpu_us"] / base, 2)} for row in rows]


async def _rows(llm: ScriptedProcess, direct: Way, ways: list[Way]) -> list[dict[str, Any]]:
    await llm.plays(*_script(0))
    model_ms = await _first_ms(direct)
    firsts = {way.name: await _first_ms(way) - model_ms for way in ways}
    await llm.plays(*_script(_DELAY_MS))
    costs = {way.name: (float("inf"), float("inf")) for way in ways}
    for _ in range(_ROUNDS):
        for way in ways:
            short, long = [await _cpu_ms(way, tokens) for tokens in (SHORT, _LONG)]
            costs[way.name] = (min(costs[way.name][0], short), min(costs[way.name][1], long))
    await llm.plays(*_script(_MANY_DELAY_MS))
    rows: list[dict[str, Any]] = []
    for way in ways:
        short, long = costs[way.name]
        row = {
            "door": way.name,
            "token_cpu_us": round((long - short) / (_LONG - SHORT) * _MS, 1),
            "turn_cpu_ms": round(short, 2),
            "first_ms": round(firsts[way.name], 2),
        }
        rows.append(row | await _many(way))
    return rows


def _script(delay_ms: float) -> list[Rule]:
    return [
        Rule(when=f"(^|\\n){tokens}$", text=TOKEN * tokens, delay_ms=delay_ms)
        for tokens in (SHORT, _LONG, _MANY_TOKENS)
    ]


async def _first_ms(way: Way) -> float:
    seen = await way.turns(_FIRSTS, 1, SHORT)
    return statistics.median(one.at[0] for one in seen[_FIRSTS // 4 :]) * _MS


async def _cpu_ms(way: Way, tokens: int) -> float:
    """CPU milliseconds of the serving process for a turn of so many tokens."""
    await way.turns(_AT_ONCE, _AT_ONCE, tokens)
    before = way.serving.cpu_ms()
    await way.turns(_TURNS, _AT_ONCE, tokens)
    return (way.serving.cpu_ms() - before) / _TURNS


async def _many(way: Way) -> dict[str, Any]:
    """Streams at once: what is known of how they came, and of the memory that they took."""
    await way.turns(_AT_ONCE, _AT_ONCE, _MANY_TOKENS)
    before = most = way.serving.resident_mb()
    running = asyncio.ensure_future(way.turns(_MANY, _MANY, _MANY_TOKENS))
    while not running.done():
        await asyncio.wait([running], timeout=0.25)
        most = max(most, way.serving.resident_mb())
    gaps = [b - a for one in running.result() for a, b in zip(one.at, one.at[1:], strict=False)]
    return {
        "many_whole": len(running.result()),
        "many_gap_ms_p50": round(statistics.median(gaps) * _MS),
        "many_gap_ms_p99": round(statistics.quantiles(gaps, n=100)[-1] * _MS),
        "many_gap_ms_max": round(max(gaps) * _MS),
        "many_kb_each": round((most - before) * _KB / _MANY),
    }


# --- the doors ----------------------------------------------------------------


async def _ways(stack: AsyncExitStack, models: Path, llm: ScriptedProcess) -> list[Way]:
    """The model itself first, then the proxy, then each door."""
    environment = {
        "BETHINK_MODEL": "openai:scripted",
        "OPENAI_BASE_URL": llm.base_url,
        "OPENAI_API_KEY": "none",
        "BETHINK_RECALL_LIMIT": "0",
        "BETHINK_RECALL_PROFILE_LIMIT": "0",
    }
    has_dial = importlib.util.find_spec("aidial_sdk") is not None
    if has_dial:
        environment["BETHINK_DIAL"] = await _core(stack, llm)
    server = await stack.enter_async_context(serving(models, **environment))
    relay = await stack.enter_async_context(_relayed(llm.base_url, server))
    itself = replace(server, origin=llm.origin)

    async def conversation(*, temporary: bool = True) -> str:
        made = await server.post("/conversations", {"temporary": temporary})
        return f"{server.origin}/conversations/{made['id']}/chat"

    def as_events() -> dict[str, str]:
        return {"Accept": "text/event-stream; profile=openai"}

    def without_memory() -> dict[str, str]:
        return {"X-Bethink-Memory": "off"}

    completions = "/v1/chat/completions"
    ways = [
        Way("the model itself", itself, _at(itself, completions), _completion),
        Way(PROXY, relay, _at(relay, completions), _completion),
        Way("native events", server, conversation, _message),
        Way("native, profile=openai", server, conversation, _message, as_events),
        Way(
            completions,
            server,
            _at(server, completions),
            lambda tokens: _completion(tokens, model="bethink"),
            without_memory,
        ),
        Way("/v1/responses", server, _at(server, "/v1/responses"), _response, without_memory),
    ]
    if has_dial:
        path = "/openai/deployments/bethink/chat/completions"
        ways.append(Way("DIAL", server, _at(server, path), _completion, _as_core))
    # The last: what it leaves to be embedded goes on behind it.
    ways.append(Way("native events, kept", server, partial(conversation, temporary=False), _message))
    return ways


def _as_core() -> dict[str, str]:
    """What Core says of a request: whose it is, and of which conversation."""
    return {"Api-Key": _KEY, "X-CONVERSATION-ID": uuid.uuid4().hex}


def _at(server: Serving, path: str) -> Callable[[], Awaitable[str]]:
    async def url() -> str:
        return server.origin + path

    return url


def _message(tokens: int) -> dict[str, Any]:
    return {"message": {"role": "user", "content": str(tokens)}, "stream": True}


def _completion(tokens: int, *, model: str = _MODEL) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": str(tokens)}], "stream": True}


def _response(tokens: int) -> dict[str, Any]:
    return {"model": "bethink", "input": str(tokens), "stream": True}


async def _core(stack: AsyncExitStack, llm: ScriptedProcess) -> str:
    """The setting of the door, with a stand-in for Core in this process: it reaches the model there."""
    from benchmarks.stand_ins.dial_core import Model, StandIn

    core = StandIn({_KEY: "measurement"})
    url = await stack.enter_async_context(core.served())
    core.models[_MODEL] = Model(llm.base_url, _MODEL)
    return msgspec.json.encode({"enabled": True, "url": url, "model": _MODEL, "memory": "off"}).decode()


@asynccontextmanager
async def _relayed(base_url: str, beside: Serving) -> AsyncGenerator[Serving]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.relay", base_url, cwd=CLONE, stdout=subprocess.PIPE
    )
    try:
        line = await process.stdout.readline() if process.stdout else b""
        yield Serving(line.decode().removeprefix(GREETING).strip(), process.pid, beside.session)
    finally:
        process.terminate()
        await process.wait()
