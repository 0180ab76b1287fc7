"""`bethink bench agent`: what a streamed turn with one tool call costs the process that runs it.

Each row is a way to run the same turn (a message, a call of one tool, a streamed
answer) against the scripted server in another process. The baseline, measured
in the same rounds, is a bare loop over aiohttp and json that keeps nothing.
What was said gets its vectors after the turn, in the background: that is held
back here, and measured by itself in the last row.
"""

from __future__ import annotations

import asyncio
import gc
import json
import tempfile
import time
from contextlib import AsyncExitStack, aclosing, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from benchmarks.stand_ins.scripted_process import ScriptedProcess, scripted_process
from bethink.app import App, open_app
from bethink.embeddings.hashing import HashingEmbeddings
from bethink.engines.memory import MemoryBus, MemoryIndex, MemoryStore
from bethink.errors import EmbeddingsUnavailable
from bethink.events import RunDone, TextDelta
from bethink.llm.models import connect_models
from bethink.llm.scripted import Rule, ScriptedCall
from bethink.maintenance.background import Vectors
from bethink.ports import Ports, open_ports
from bethink.principal import LOCAL_OWNER
from bethink.settings import load_settings
from bethink.tool import ToolContext, tool

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
    from contextlib import AbstractAsyncContextManager

    from bethink.embeddings import Embeddings
    from bethink.principal import Principal
    from bethink.settings import Settings

    Prepare = Callable[[], Awaitable[str]]
    Turn = Callable[[str, str], Awaitable[int]]

TOKEN: Final = "token eh"  # noqa: S105 eight characters, the server's chunk
SHORT: Final = 10
_ROUNDS: Final = 3
_MODEL: Final = "scripted-demo"
BASELINE: Final = "aiohttp and json"
_EMBEDDERS: Final = ("multilingual-e5-small", "all-minilm-l6-v2")
"""The first is the default."""


@dataclass(frozen=True, slots=True)
class Load:
    """How answers come: the server's pause before each token, how many turns at once, how many in all."""

    name: str
    delay_ms: float
    at_once: int
    turns: int
    long_tokens: int


LOADS: Final = (
    Load("burst, one at a time", delay_ms=0, at_once=1, turns=60, long_tokens=410),
    Load("every 2 ms, 20 at once", delay_ms=2, at_once=20, turns=60, long_tokens=210),
    Load("burst, 20 at once", delay_ms=0, at_once=20, turns=200, long_tokens=210),
    Load("burst, 500 at once", delay_ms=0, at_once=500, turns=1_000, long_tokens=110),
)


@dataclass(frozen=True, slots=True)
class Way:
    """One way to run a turn: `new` makes a conversation, unmeasured; `turn` counts characters."""

    new: Prepare
    turn: Turn


@tool(effect="read", label="Look up {city}")
async def look_up(context: ToolContext, city: Annotated[str, Field(description="Name of a city")]) -> str:
    """Tell what is known of a city."""
    del context
    return f"{city} is known."


async def measure_agent() -> list[dict[str, Any]]:
    """A row for each load and way, the least of three rounds.

    `turn_cpu_ms` is a whole turn with a ten-token answer, `token_cpu_us` one
    token more; the ratios are to the bare loop under the same load.
    """
    rows: list[dict[str, Any]] = []
    with scripted_process() as server:
        for load in LOADS:
            await server.plays(*script(load, tool=look_up.name, arguments={"city": "Paris"}))
            rows += await _rows(server, load)
        await server.plays(*script(LOADS[0], tool=look_up.name, arguments={"city": "Paris"}))
        return [*rows, await _afterwards(server, LOADS[0].turns)]


async def _afterwards(server: ScriptedProcess, turns: int) -> dict[str, Any]:
    """What it costs, per turn, that its messages get their vectors; none without the embedding model."""
    with tempfile.TemporaryDirectory() as directory:
        settings = _settings(server.base_url, Path(directory), embedder=_EMBEDDERS[0])
        async with open_ports(settings) as ports, open_app(settings, ports, tools=[look_up]) as app:
            way = _way(app)
            for _ in range(turns):
                await way.turn(await way.new(), str(SHORT))
            started = time.process_time()
            with suppress(EmbeddingsUnavailable):
                await Vectors(ports.store, ports.index, ports.embeddings).fill(LOCAL_OWNER)
            spent_ms = (time.process_time() - started) / turns * 1_000
    return {"load": "after the turn", "way": "vectors of what was said", "turn_cpu_ms": round(spent_ms, 3)}


def script(load: Load, *, tool: str, arguments: dict[str, Any]) -> list[Rule]:
    """What the server plays: a call of `tool`, then an answer as long as the message says."""
    calls = (ScriptedCall(tool, arguments),)
    rules: list[Rule] = []
    for tokens in (SHORT, load.long_tokens):
        when = f"(^|\\n){tokens}$"
        rules.append(Rule(when=when, after_tool=True, text=TOKEN * tokens, delay_ms=load.delay_ms))
        rules.append(Rule(when=when, after_tool=False, tool_calls=calls))
    return rules


async def _rows(server: ScriptedProcess, load: Load) -> list[dict[str, Any]]:
    async with AsyncExitStack() as stack:
        ways: dict[str, Way] = {}
        for name, way in _WAYS.items():
            # Without its model a way would recall by words alone, and look cheaper than it is.
            with suppress(EmbeddingsUnavailable):
                ways[name] = await stack.enter_async_context(way(server.base_url))
        least = {name: (float("inf"), float("inf")) for name in ways}
        for _ in range(_ROUNDS):
            for name, way in ways.items():
                short_ms = await cpu_ms(way, load, SHORT)
                long_ms = await cpu_ms(way, load, load.long_tokens)
                least[name] = (min(least[name][0], short_ms), min(least[name][1], long_ms))
    further = load.long_tokens - SHORT
    costs = {name: (short, (long - short) / further * 1_000) for name, (short, long) in least.items()}
    bare_turn, bare_token = costs[BASELINE]
    return [
        {
            "load": load.name,
            "way": name,
            "turn_cpu_ms": round(turn, 3),
            "token_cpu_us": round(token, 1),
            "turn_ratio": round(turn / bare_turn, 2),
            "token_ratio": round(token / bare_token, 2),
        }
        for name, (turn, token) in costs.items()
    ]


async def cpu_ms(way: Way, load: Load, tokens: int) -> float:
    """CPU milliseconds of this process for one turn of this load."""

    async def worker(conversations: Iterator[str]) -> None:
        for conversation in conversations:
            characters = await way.turn(conversation, str(tokens))
            if characters != len(TOKEN) * tokens:
                message = f"an answer of {tokens} tokens came as {characters} characters"
                raise RuntimeError(message)

    async def spread(turns: int) -> float:
        conversations = iter([await way.new() for _ in range(turns)])
        gc.collect()
        started = time.process_time()
        await asyncio.gather(*(worker(conversations) for _ in range(load.at_once)))
        return (time.process_time() - started) / turns * 1_000

    await spread(load.at_once)  # opens the connections
    return await spread(load.turns)


# --- the ways -----------------------------------------------------------------


@asynccontextmanager
async def bare_way(base_url: str) -> AsyncGenerator[Way]:
    """The baseline: what somebody writes in an hour, without records, events or bounds."""
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def ask(messages: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
            body = {"model": _MODEL, "messages": messages, "stream": True, "tools": [_SCHEMA]}
            texts: list[str] = []
            calls: dict[int, dict[str, Any]] = {}
            async with session.post(f"{base_url}/chat/completions", json=body) as response:
                async for line in response.content:
                    _read(line, texts, calls)
            return "".join(texts), list(calls.values())

        async def turn(_: str, said: str) -> int:
            messages: list[dict[str, Any]] = [{"role": "user", "content": said}]
            while True:
                text, calls = await ask(messages)
                if not calls:
                    return len(text)
                messages.append({"role": "assistant", "content": text, "tool_calls": calls})
                for call in calls:
                    (sought,) = json.loads(call["function"]["arguments"]).values()
                    messages.append(
                        {"role": "tool", "tool_call_id": call["id"], "content": f"{sought} is known."}
                    )

        yield Way(_nothing, turn)


def _read(line: bytes, texts: list[str], calls: dict[int, dict[str, Any]]) -> None:
    if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
        return
    for choice in json.loads(line[6:])["choices"]:
        delta = choice["delta"]
        if content := delta.get("content"):
            texts.append(content)
        for piece in delta.get("tool_calls") or ():
            if (call := calls.get(piece["index"])) is None:
                calls[piece["index"]] = piece
            else:
                call["function"]["arguments"] += piece["function"]["arguments"]


async def _nothing() -> str:
    return ""


@asynccontextmanager
async def _in_memory(base_url: str) -> AsyncGenerator[Way]:
    settings = _settings(base_url, Path("unused"))
    index = MemoryIndex()
    llm = connect_models(settings)
    ports = Ports(MemoryStore(index), index, MemoryBus(), HashingEmbeddings(), llm)
    async with open_app(settings, ports, tools=[look_up]) as app:
        yield _way(app)
    if llm is not None:
        await llm.close()


@asynccontextmanager
async def _on_disk(base_url: str, *, embedder: str | None = None) -> AsyncGenerator[Way]:
    """Recalling with the model `embedder`, or not at all."""
    with tempfile.TemporaryDirectory() as directory:
        settings = _settings(base_url, Path(directory), embedder=embedder)
        async with open_ports(settings) as ports, open_app(settings, ports, tools=[look_up]) as app:
            if embedder is not None:
                await ports.embeddings.load()
                if ports.embeddings.unavailable:
                    raise EmbeddingsUnavailable
            yield _way(app)


def _settings(base_url: str, data_dir: Path, *, embedder: str | None = None) -> Settings:
    return load_settings(
        data_dir=data_dir,
        model=f"openai:{_MODEL}",
        model_base_url=base_url,
        model_api_key="none",
        extraction="off",
        embedding_model=embedder or _EMBEDDERS[0],
        recall_limit=5 if embedder else 0,
        recall_profile_limit=8 if embedder else 0,
    )


class _Later:
    """Embeddings that the background takes for absent: what it would do is measured by itself."""

    unavailable = "held back while turns are measured"

    def __init__(self, embeddings: Embeddings) -> None:
        self.model = embeddings.model
        self.load = embeddings.load
        self.embed = embeddings.embed


def _way(app: App) -> Way:
    app.background.vectors = replace(app.background.vectors, embeddings=_Later(app.ports.embeddings))
    me: Principal = app.accounts.on_behalf_of(LOCAL_OWNER, audience="bench")

    async def new() -> str:
        return (await app.conversations.create(me)).id

    async def turn(conversation: str, said: str) -> int:
        run = await app.runs.start(me, conversation, said)
        characters = 0
        async with aclosing(app.runs.follow(me, run)) as batches:
            async for batch in batches:
                for numbered in batch:
                    if isinstance(numbered.event, TextDelta):
                        characters += len(numbered.event.text)
                    elif isinstance(numbered.event, RunDone) and numbered.event.reason != "answered":
                        message = f"the run ended as {numbered.event.reason}"
                        raise RuntimeError(message)
        return characters

    return Way(new, turn)


_SCHEMA: Final = {
    "type": "function",
    "function": {
        "name": look_up.name,
        "description": look_up.description,
        "parameters": look_up.parameters,
    },
}

_WAYS: Final[dict[str, Callable[[str], AbstractAsyncContextManager[Way]]]] = {
    BASELINE: bare_way,
    "Bethink, records in memory": _in_memory,
    "Bethink, records and journal on disk": _on_disk,
    **{
        f"Bethink, on disk and recalling with {embedder}": partial(_on_disk, embedder=embedder)
        for embedder in _EMBEDDERS
    },
}
