"""Whether a Redis keeps what it is given. `store.redis` asks, `/health` and the doctor tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class RedisState:
    """What INFO and CONFIG GET say; None where it may not be asked.

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
    def told(self) -> str:
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


async def state_of(redis: Any) -> RedisState:  # noqa: ANN401 - see `store.redis`
    """What the server says of itself."""
    info: dict[str, Any] = await redis.info()
    config = await _config(redis)
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


async def _config(redis: Any) -> dict[str, str]:  # noqa: ANN401 - the same
    """Its settings; none where a server's owner lets nobody ask."""
    from redis.exceptions import ResponseError

    try:
        return await redis.config_get("appendfsync", "save")
    except ResponseError:
        return {}
