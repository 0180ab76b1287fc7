"""Conversations in a Redis, under spec 001's keys. `redis_mirror` says what to write; `app` opens it.

Source: spec 001, "Redis Integration": `conversation:{uuid}` is a string, and
`conversations:list` a sorted set of ids by the time of change in seconds. Those
keys are touched by SET, GET, DEL, ZADD, ZREM and ZREVRANGE alone, the first two
of them inside of a script where a value grows at its end. That schema knows of
no owners: one owner's conversations have the plain keys, any other's the same
behind `bethink:{owner}:`. What the shape cannot hold is in the hash
`conversation:{uuid}:x`.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import anyio

from bethink.engines.redis.connection import (
    RefusedByRedis,
    ScriptsRefused,
    redis_client,
    state_of,
    translated,
)

if TYPE_CHECKING:
    from bethink.engines.redis.connection import RedisState

_LISTING = "conversations:list"
_OWNERS = "bethink:owners"
_HOME = "bethink:home"
_HOME_MS = 60_000
"""How long another data directory's claim holds after it was last heard of."""
_FIELDS_AT_ONCE = 500
_REWRITTEN_S = 10.0
_REWRITE_POLL_S = 0.02
_SAVING = ("aof_rewrite_in_progress", "aof_rewrite_scheduled", "rdb_bgsave_in_progress")
_UNDER_WAY = "already in progress"
_APPEND = """
local value = redis.call('GET', KEYS[1])
local head, tail = tonumber(ARGV[2]), tonumber(ARGV[4])
if not value or #value ~= tonumber(ARGV[1]) or redis.sha1hex(string.sub(value, 1, head)) ~= ARGV[3]
    or redis.sha1hex(string.sub(value, -tail)) ~= ARGV[5] then
  return 0
end
if #ARGV > 5 then
  redis.call('SET', KEYS[1], ARGV[6] .. string.sub(value, head + 1, -tail - 1) .. ARGV[7])
end
return 1
"""
"""Whether the value is what we wrote; grown by the last two arguments: a new head, what follows its body."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What a value was when it was written: enough to see that nobody changed it, without any of its text.

    Its head is everything before the first message, its tail everything behind the last one. The script takes
    its fields in this order.
    """

    length: int
    head: int
    head_sha1: str
    tail: int
    tail_sha1: str

    def fits(self, text: bytes) -> bool:
        """Whether a string is the one that was written."""
        return (
            len(text) == self.length
            and _sha1(text[: self.head]) == self.head_sha1
            and _sha1(text[-self.tail :]) == self.tail_sha1
        )


@dataclass(frozen=True, slots=True)
class ConversationValue:
    """A conversation's string in three parts that follow one another."""

    head: bytes
    body: bytes
    tail: bytes

    @property
    def text(self) -> bytes:
        """The whole string."""
        return b"".join((self.head, self.body, self.tail))

    def fingerprint(self, before: int = 0) -> Fingerprint:
        """Of this value, with a body of `before` bytes before its own."""
        length = len(self.head) + before + len(self.body) + len(self.tail)
        return Fingerprint(length, len(self.head), _sha1(self.head), len(self.tail), _sha1(self.tail))


@dataclass(frozen=True, slots=True)
class ListingEntry:
    """Where a conversation is listed, and what of it lies beside its value.

    `score` is when it changed, in seconds. `extra` are fields of the hash; None removes one.
    """

    id: str
    score: float
    extra: Mapping[str, bytes | None]


class ConversationRedis:
    """One Redis; connects on first use, and again whenever it was lost.

    Every call may raise `StorageError` if Redis cannot be reached, `RefusedByRedis` if it refuses.
    """

    def __init__(self, url: str, *, plain_owner: str, timeout_s: float) -> None:
        self._plain_owner = plain_owner
        # Its own annotations mix text with bytes and leave out parameters.
        self._redis: Any = redis_client(url, timeout_s)
        self._can_script = True

    async def close(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    def key(self, owner: str, id: str) -> str:
        """Where the conversation's value is."""
        return f"{self._prefix(owner)}conversation:{id}"

    async def replace(self, owner: str, entry: ListingEntry, value: ConversationValue) -> None:
        """Write a conversation anew, all of it at once."""
        key = self.key(owner, entry.id)
        with translated():
            async with self._redis.pipeline() as pipe:
                pipe.set(key, value.text)
                pipe.delete(f"{key}:x")
                self._entered(pipe, owner, entry)
                await pipe.execute()

    async def append(
        self, owner: str, entry: ListingEntry, value: ConversationValue, *, was: Fingerprint
    ) -> bool:
        """Put a new head, more body and a new tail around the value's body; False if it is not what it `was`.

        Costs the length of what is new on the wire, and a copy inside of Redis.
        """
        if not self._can_script:
            return False
        key = self.key(owner, entry.id)
        try:
            with translated():
                async with self._redis.pipeline() as pipe:
                    pipe.eval(_APPEND, 1, key, *astuple(was), value.head, value.body + value.tail)
                    self._entered(pipe, owner, entry)
                    grown, *_ = await pipe.execute()
        except ScriptsRefused:
            self._can_script = False
            return False
        return bool(grown)

    async def are(self, owner: str, values: Sequence[tuple[str, Fingerprint]]) -> list[bool]:
        """Whether each conversation's value is still what it was."""
        if self._can_script and values:
            try:
                return await self._ask(owner, values)
            except ScriptsRefused:
                self._can_script = False
        texts = [await self.value(owner, id) for id, _ in values]
        return [text is not None and was.fits(text) for text, (_, was) in zip(texts, values, strict=True)]

    async def _ask(self, owner: str, values: Sequence[tuple[str, Fingerprint]]) -> list[bool]:
        with translated():
            async with self._redis.pipeline(transaction=False) as pipe:
                for id, was in values:
                    pipe.eval(_APPEND, 1, self.key(owner, id), *astuple(was))
                return [bool(each) for each in await pipe.execute()]

    async def remove(self, owner: str, id: str) -> None:
        """Remove a conversation."""
        key = self.key(owner, id)
        with translated():
            async with self._redis.pipeline() as pipe:
                pipe.delete(key)
                pipe.delete(f"{key}:x")
                pipe.zrem(f"{self._prefix(owner)}{_LISTING}", id)
                await pipe.execute()

    async def deleted(self, owner: str, ids: Sequence[str]) -> set[str]:
        """Those of which somebody removed the value and the place in the list, and left what lies beside it.

        That is what a program does that knows the schema alone; a server that drops keys never
        takes one id out of the list.
        """
        with translated():
            async with self._redis.pipeline() as pipe:
                for id in ids:
                    pipe.exists(self.key(owner, id))
                    pipe.exists(f"{self.key(owner, id)}:x")
                    pipe.zscore(f"{self._prefix(owner)}{_LISTING}", id)
                replies: list[Any] = await pipe.execute() if ids else []
        places = zip(ids, replies[::3], replies[1::3], replies[2::3], strict=True)
        return {id for id, value, beside, score in places if not value and beside and score is None}

    async def listed(self, owner: str) -> dict[str, float]:
        """The ids of the owner's conversations, last changed first, with the time of change in seconds."""
        with translated():
            rows = await self._redis.zrevrange(f"{self._prefix(owner)}{_LISTING}", 0, -1, withscores=True)
        return {id.decode("utf-8", "replace"): score for id, score in rows}

    async def value(self, owner: str, id: str) -> bytes | None:
        """A conversation's string."""
        with translated():
            return await self._redis.get(self.key(owner, id))

    async def extra(self, owner: str, id: str) -> dict[str, bytes]:
        """What lies beside a conversation's string."""
        with translated():
            found: dict[bytes, bytes] = await self._redis.hgetall(f"{self.key(owner, id)}:x")
        return {name.decode("utf-8", "replace"): body for name, body in found.items()}

    async def fields(self, owner: str, id: str, names: Sequence[str]) -> list[bytes | None]:
        """Some of what lies beside a conversation's string, None if there is none."""
        with translated():
            return await self._redis.hmget(f"{self.key(owner, id)}:x", names)

    async def owners(self) -> list[str]:
        """Whose conversations are there, as far as Bethink wrote them, and the owner of the plain keys."""
        with translated():
            members: set[bytes] = await self._redis.smembers(_OWNERS)
        return sorted({self._plain_owner, *(member.decode("utf-8", "replace") for member in members)})

    async def claim(self, home: str) -> str | None:
        """Claim this Redis for a data directory; gives whose it was, None for nobody's.

        Another one's claim stands, until a minute after it was last renewed.
        """
        with translated():
            while not await self._redis.set(_HOME, home, px=_HOME_MS, nx=True):
                held: bytes | None = await self._redis.get(_HOME)
                if held == home.encode():
                    # Both at once: if it ended just now, another's is told, and not taken for this one.
                    async with self._redis.pipeline() as pipe:
                        pipe.pexpire(_HOME, _HOME_MS)
                        pipe.get(_HOME)
                        _, held = await pipe.execute()
                if held is not None:
                    return held.decode("utf-8", "replace")
        return None

    async def state(self) -> RedisState:
        """What it says of itself: whether it keeps what it is given."""
        with translated():
            return await state_of(self._redis)

    async def rewrite_files(self) -> None:
        """Have its files written anew, so that they hold nothing of what was overwritten.

        Returns when that is so.
        """
        state = await self.state()
        deadline = time.monotonic() + _REWRITTEN_S
        with translated():
            if state.appends:
                await self._begin_saving(self._redis.bgrewriteaof, deadline)
            elif state.saves:
                await self._begin_saving(partial(self._redis.bgsave, schedule=True), deadline)
            # Redis keeps the beginnings of slow commands' arguments.
            await self._redis.slowlog_reset()
            await self._wait_until_saved(deadline)

    async def _begin_saving(self, saving: Callable[[], Awaitable[object]], deadline: float) -> None:
        """Have it begin now: what is being written already may hold what was overwritten since."""
        from redis.exceptions import ResponseError

        while True:
            await self._wait_until_saved(deadline)
            try:
                await saving()
            except ResponseError as error:
                if _UNDER_WAY not in str(error) or time.monotonic() > deadline:
                    raise
                await anyio.sleep(_REWRITE_POLL_S)
            else:
                return

    async def _wait_until_saved(self, deadline: float) -> None:
        while True:
            info: dict[str, Any] = await self._redis.info("persistence")
            if not any(info.get(name) for name in _SAVING):
                return
            if time.monotonic() > deadline:
                raise RefusedByRedis("Redis is still rewriting its files.")
            await anyio.sleep(_REWRITE_POLL_S)

    def _prefix(self, owner: str) -> str:
        return "" if owner == self._plain_owner else f"bethink:{quote(owner, safe='')}:"

    def _entered(self, pipe: Any, owner: str, entry: ListingEntry) -> None:  # noqa: ANN401 - as the client
        """List it, and write what lies beside its value."""
        extra = f"{self.key(owner, entry.id)}:x"
        kept = [(name, body) for name, body in entry.extra.items() if body is not None]
        for start in range(0, len(kept), _FIELDS_AT_ONCE):
            pipe.hset(extra, mapping=dict(kept[start : start + _FIELDS_AT_ONCE]))
        if gone := [name for name, body in entry.extra.items() if body is None]:
            pipe.hdel(extra, *gone)
        pipe.zadd(f"{self._prefix(owner)}{_LISTING}", {entry.id: entry.score})
        pipe.sadd(_OWNERS, owner)


def _sha1(text: bytes) -> str:
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()
