"""A client of a Redis, what that says of itself, and its errors as ours, for the bus and `redis_mirror`."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import anyio.to_thread

from bethink.errors import NotInstalled, StorageError
from bethink.telemetry import Gauge, Gauges

MISSING = 'Redis needs one more package: pip install "bethink[redis]"'
_FULL = "Redis is full (maxmemory): give it more, or remove what is not needed there."
_IN_PIPELINE = " of pipeline caused error: "
"""Behind it stands what Redis said, before it the command with what was to be written."""
_EVAL = re.compile(r"['`]eval['`]", re.IGNORECASE)
"""In a refusal, the name of the command itself: an error inside of a script names the script."""


def redis_client(url: str, timeout_s: float, *, connections: int = 8, protocol: int | None = None) -> Any:  # noqa: ANN401 - its annotations mix text with bytes
    """A client that connects on first use, and again whenever its connection was lost.

    It tries once: whoever asks tries again. `protocol` is the version of Redis's, by default the newest.

    Raises:
        NotInstalled: the package is missing.
        StorageError: the address is none.
    """
    try:
        from redis import asyncio as redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.driver_info import DriverInfo
        from redis.utils import get_lib_version
    except ImportError as error:
        raise NotInstalled(MISSING) from error
    try:
        client: Any = redis.Redis
        return client.from_url(
            url,
            socket_timeout=timeout_s,
            socket_connect_timeout=timeout_s,
            # Whoever asks tries again, and says meanwhile what does not work.
            retry=Retry(NoBackoff(), 0),
            max_connections=connections,
            protocol=protocol,
            client_name="bethink",
            # Left to itself, each connection reads the package's version from the disk.
            driver_info=DriverInfo(lib_version=get_lib_version()),
        )
    except (ValueError, TypeError) as error:
        raise StorageError(f"BETHINK_REDIS_URL is not the address of a Redis: {error}") from error


@dataclass(frozen=True, slots=True)
class RedisState:
    """What INFO and CONFIG GET say; None if it may not be asked.

    `run` is another one after each of its starts. `appends` is the append-only file, flushed to the
    disk as `appendfsync` says; `saves` are snapshots. `evicts` names a policy by which keys go when
    memory is short.
    """

    server: str
    run: str
    appends: bool
    appendfsync: str | None
    saves: bool | None
    last_save_ok: bool
    evicts: str | None
    evicted: int
    replica: bool

    @property
    def persists(self) -> bool | None:
        """Whether what it holds outlives its restart."""
        return True if self.appends else self.saves

    @property
    def fault(self) -> str | None:
        """What is wrong with it for somebody who wants to find conversations there."""
        if self.replica:
            return "it is a replica and takes no writes: name the primary"
        if not self.last_save_ok:
            return "its last save to the disk failed: look at its log"
        if self.evicts is not None:
            return (
                f"it drops keys when memory is short (maxmemory-policy {self.evicts}): set noeviction, or "
                "other programs will miss conversations"
            )
        return None

    @property
    def summary(self) -> str:
        """One line for a person."""
        if self.appends:
            kept = f"persists (append-only file, appendfsync {self.appendfsync or 'unknown'})"
        elif self.saves:
            kept = "persists by snapshots alone: a crash loses what came since the last"
        elif self.saves is None:
            kept = "does not say whether it persists"
        else:
            kept = "does not persist: it is empty after its restart, and is filled again from here"
        return f"{self.server} {kept}"


async def state_of(redis: Any) -> RedisState:  # noqa: ANN401 - as `redis_client`
    """What the server says of itself."""
    from redis.exceptions import ResponseError

    info: dict[str, Any] = await redis.info()
    config: dict[str, str] = {}
    # A server's owner may let nobody ask.
    with suppress(ResponseError):
        config = await redis.config_get("appendfsync", "save")
    appends = bool(info.get("aof_enabled"))
    policy = str(info.get("maxmemory_policy", "noeviction"))
    ok = [info.get("rdb_last_bgsave_status", "ok")]
    if appends:
        ok += [info.get("aof_last_write_status", "ok"), info.get("aof_last_bgrewrite_status", "ok")]
    name = "valkey" if "valkey_version" in info else "redis"
    return RedisState(
        server=f"{name.capitalize()} {info.get(f'{name}_version', '')}".strip(),
        run=str(info.get("run_id", "")),
        appends=appends,
        appendfsync=config.get("appendfsync"),
        saves=bool(config["save"].strip()) if "save" in config else None,
        last_save_ok=all(each == "ok" for each in ok),
        evicts=policy if policy != "noeviction" and info.get("maxmemory") else None,
        evicted=int(info.get("evicted_keys", 0)),
        replica=info.get("role") == "slave",
    )


@asynccontextmanager
async def open_gauges(url: str, *, timeout_s: float) -> AsyncGenerator[Gauges]:
    """What tells how the server is, whatever it is used for; its connection is closed with the block.

    Raises:
        NotInstalled: the package is missing.
        StorageError: the address is none.
    """
    connect = partial(redis_client, url, timeout_s, connections=1)
    redis = await anyio.to_thread.run_sync(connect)
    turn = anyio.Lock()

    async def gauges() -> Sequence[Gauge]:
        started = time.perf_counter()
        try:
            with translated():
                async with turn:
                    info: dict[str, Any] = await redis.info()
        except StorageError:
            return [Gauge("redis_up", _UP, {(): 0})]
        took_s = time.perf_counter() - started
        limit = info.get("maxmemory")
        return [
            Gauge("redis_up", _UP, {(): 1}),
            Gauge("redis_seconds", "What the last question to Redis took.", {(): took_s}),
            Gauge("redis_memory_bytes", "Memory that Redis uses.", {(): info.get("used_memory", 0)}),
            Gauge("redis_memory_limit_bytes", "Its limit, if it has one.", {(): limit} if limit else {}),
            Gauge("redis_clients", "Connections to Redis.", {(): info.get("connected_clients", 0)}),
            Gauge("redis_evicted", "Keys it dropped since its start.", {(): info.get("evicted_keys", 0)}),
        ]

    try:
        yield gauges
    finally:
        with anyio.CancelScope(shield=True):
            await redis.aclose()


_UP = "Whether Redis answers."


class RefusedByRedis(StorageError):
    """Redis answers, and does not do what it was asked."""


class ScriptsRefused(RefusedByRedis):
    """Redis runs no scripts for this user, or has them switched off."""


class WrongKind(RefusedByRedis):
    """What stands under a key is not of the kind that the schema has there."""


@contextmanager
def translated() -> Generator[None]:
    """Redis's errors as ours, each with what to do."""
    from redis import exceptions as errors

    try:
        yield
    except errors.AuthenticationError as error:
        raise StorageError(f"Redis refused the name or password in BETHINK_REDIS_URL ({error}).") from error
    except errors.OutOfMemoryError as error:
        raise RefusedByRedis(_FULL) from error
    except errors.ReadOnlyError as error:
        raise RefusedByRedis("This Redis is a replica and takes no writes: name the primary.") from error
    except errors.ResponseError as error:
        raise _refusal(str(error).rpartition(_IN_PIPELINE)[2]) from error
    except (errors.RedisError, OSError) as error:
        reason = str(error).rstrip(".") or type(error).__name__
        raise StorageError(f"Redis cannot be reached: {reason}.") from error


def _refusal(reason: str) -> RefusedByRedis:
    if "OOM" in reason:
        return RefusedByRedis(_FULL)
    if "MISCONF" in reason:
        return RefusedByRedis(f"Redis cannot save to its disk, and takes no writes until it can: {reason}")
    if "WRONGTYPE" in reason:
        return WrongKind(
            "Another program keeps something else under `conversation:…` or `conversations:list` in this "
            "Redis: name another database, such as redis://host/1."
        )
    if _EVAL.search(reason):
        return ScriptsRefused(f"Redis refused: {reason}")
    return RefusedByRedis(f"Redis refused: {reason}")
