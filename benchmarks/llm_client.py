"""`bethink bench`: what a streamed answer costs the process that reads it.

Our client, alone and behind the chain of retries, against a raw aiohttp and
json loop and, where they are installed, a raw httpx2 loop and the `openai`
library. The server is the scripted one, in another process: only the reader's
CPU is counted.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import importlib.util
import json
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.events import TextDelta
from bethink.llm import Llm, LlmRequest
from bethink.llm.models import FallbackLlm
from bethink.llm.providers import ModelConnection, connect
from bethink.llm.scripted import Rule
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Mapping

_TOKEN: Final = "token eh"  # noqa: S105 eight characters, the server's chunk
_SHORT: Final = 10
"""Tokens of a short answer; the cost of a further one comes from a longer answer."""
_ROUNDS: Final = 3
_MODEL: Final = "scripted-demo"

Ask = Callable[[str], Awaitable[int]]
"""One streamed request with this user message; gives the characters that came."""


@dataclass(frozen=True, slots=True)
class Load:
    """How answers come: the server's pause before each token, how many at once, how many in all."""

    name: str
    delay_ms: float
    at_once: int
    requests: int
    long_tokens: int


LOADS: Final = (
    Load("burst, one at a time", delay_ms=0, at_once=1, requests=50, long_tokens=410),
    Load("burst, 20 at once", delay_ms=0, at_once=20, requests=100, long_tokens=210),
    Load("every 2 ms, 20 at once", delay_ms=2, at_once=20, requests=40, long_tokens=210),
    Load("burst, 500 at once", delay_ms=0, at_once=500, requests=1_000, long_tokens=110),
)


async def measure_llm_client(*, peers: bool = False) -> list[dict[str, Any]]:
    """A row for each load and client, the least of three rounds.

    `turn_cpu_ms` is one request with a ten-token answer, `token_cpu_us` one
    token more; the ratios are to the raw aiohttp loop under the same load.
    Nothing else may run in this process. `peers` adds the other libraries,
    which takes minutes.
    """
    rows: list[dict[str, Any]] = []
    with scripted_process() as server:
        for load in LOADS:
            lengths = (_SHORT, load.long_tokens)
            await server.plays(
                *(Rule(when=f"^{n}$", text=_TOKEN * n, delay_ms=load.delay_ms) for n in lengths)
            )
            rows.extend(await _rows(server, load, _CLIENTS | (_PEERS if peers else {})))
    return rows


async def _rows(
    server: ScriptedProcess,
    load: Load,
    makers: Mapping[str, Callable[[str], AbstractAsyncContextManager[Ask]]],
) -> list[dict[str, Any]]:
    async with AsyncExitStack() as stack:
        clients = {
            name: await stack.enter_async_context(client(server.base_url))
            for name, client in makers.items()
            if importlib.util.find_spec(name.partition(" ")[0]) is not None
        }
        least = {name: (float("inf"), float("inf")) for name in clients}
        for _ in range(_ROUNDS):
            for name, ask in clients.items():
                short_ms = await _cpu_ms(ask, load, _SHORT)
                long_ms = await _cpu_ms(ask, load, load.long_tokens)
                least[name] = (min(least[name][0], short_ms), min(least[name][1], long_ms))
    further = load.long_tokens - _SHORT
    costs = {name: (short, (long - short) / further * 1_000) for name, (short, long) in least.items()}
    raw_turn, raw_token = costs["aiohttp and json"]
    return [
        {
            "load": load.name,
            "client": name,
            "turn_cpu_ms": round(turn, 3),
            "token_cpu_us": round(token, 1),
            "turn_ratio": round(turn / raw_turn, 2),
            "token_ratio": round(token / raw_token, 2),
        }
        for name, (turn, token) in costs.items()
    ]


async def _cpu_ms(ask: Ask, load: Load, tokens: int) -> float:
    """CPU milliseconds of this process for one request of this load."""

    async def worker(waiting: Iterator[int]) -> None:
        for _ in waiting:
            characters = await ask(str(tokens))
            if characters != len(_TOKEN) * tokens:
                raise RuntimeError(f"an answer of {tokens} tokens came as {characters} characters")

    async def spread(requests: int) -> None:
        waiting = iter(range(requests))
        await asyncio.gather(*(worker(waiting) for _ in range(load.at_once)))

    await spread(load.at_once)  # opens the connections
    gc.collect()
    started = time.process_time()
    await spread(load.requests)
    return (time.process_time() - started) / load.requests * 1_000


# --- the clients -----------------------------------------------------------------


def _body(text: str) -> dict[str, Any]:
    messages = [{"role": "user", "content": text}]
    return {"model": _MODEL, "messages": messages, "stream": True, "stream_options": {"include_usage": True}}


def _characters(line: bytes | str) -> int:
    """What a raw loop does with a line of the stream."""
    if not line.startswith("data: " if isinstance(line, str) else b"data: "):  # pyright: ignore[reportArgumentType]
        return 0
    payload = line[6:].strip()
    if payload in {"[DONE]", b"[DONE]"}:
        return 0
    choices = json.loads(payload)["choices"]
    return len(choices[0]["delta"].get("content") or "") if choices else 0


@asynccontextmanager
async def _raw_aiohttp(base_url: str) -> AsyncGenerator[Ask, None]:
    aiohttp = importlib.import_module("aiohttp")
    connector = aiohttp.TCPConnector(limit=0)

    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(text: str) -> int:
            count = 0
            async with session.post(f"{base_url}/chat/completions", json=_body(text)) as response:
                async for line in response.content:
                    count += _characters(line)
            return count

        yield ask


@asynccontextmanager
async def _raw_httpx2(base_url: str) -> AsyncGenerator[Ask, None]:
    httpx2 = importlib.import_module("httpx2")
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=500)

    async with httpx2.AsyncClient(limits=limits, timeout=60) as client:

        async def ask(text: str) -> int:
            count = 0
            url = f"{base_url}/chat/completions"
            async with client.stream("POST", url, json=_body(text)) as response:
                async for line in response.aiter_lines():
                    count += _characters(line)
            return count

        yield ask


@asynccontextmanager
async def _openai_library(base_url: str) -> AsyncGenerator[Ask, None]:
    openai = importlib.import_module("openai")

    async with openai.AsyncOpenAI(base_url=base_url, api_key="none", timeout=60) as client:

        async def ask(text: str) -> int:
            count = 0
            async for chunk in await client.chat.completions.create(**_body(text)):
                if chunk.choices:
                    count += len(chunk.choices[0].delta.content or "")
            return count

        yield ask


@asynccontextmanager
async def _ours(base_url: str) -> AsyncGenerator[Ask, None]:
    llm = connect(f"openai:{_MODEL}", ModelConnection(base_url=base_url))
    try:
        yield _asking(llm)
    finally:
        await llm.close()


@asynccontextmanager
async def _our_chain(base_url: str) -> AsyncGenerator[Ask, None]:
    llm = FallbackLlm([connect(f"openai:{_MODEL}", ModelConnection(base_url=base_url))])
    try:
        yield _asking(llm)
    finally:
        await llm.close()


def _asking(llm: Llm) -> Ask:
    async def ask(text: str) -> int:
        count = 0
        async with aclosing(llm.stream(LlmRequest("", (UserMessage(text),)))) as deltas:
            async for delta in deltas:
                if type(delta) is TextDelta:
                    count += len(delta.text)
        return count

    return ask


_CLIENTS: Final = {
    "aiohttp and json": _raw_aiohttp,
    "bethink": _ours,
    "bethink with retries": _our_chain,
}
_PEERS: Final = {
    "httpx2 and json": _raw_httpx2,
    "openai library": _openai_library,
}
"""The first word is the package that must be there."""
