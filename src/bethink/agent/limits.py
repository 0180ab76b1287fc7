"""How many calls may run at once, and how often: per owner, and per owner and tool. The toolbox asks."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from bethink.errors import RateLimited
from bethink.per_key import PerKey, Recent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from bethink.tool import Tool


_COUNTED = 10_000
"""Owners and tools whose calls are counted: only in a flood are there more within a tool's time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At most `concurrency` calls of one owner at once, and what each tool says of itself.

    No owner waits for another: every one has room of their own. `now` is in seconds.
    """

    concurrency: int
    now: Callable[[], float] = monotonic
    _owners: PerKey[str, asyncio.Semaphore] = field(init=False, repr=False)
    _tools: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary[tuple[str, str], asyncio.Semaphore], repr=False
    )
    _begun: Recent[tuple[str, str], deque[float]] = field(
        default_factory=lambda: Recent[tuple[str, str], deque[float]](_COUNTED), repr=False
    )

    def __post_init__(self) -> None:
        owners = PerKey[str, asyncio.Semaphore](lambda: asyncio.Semaphore(self.concurrency))
        object.__setattr__(self, "_owners", owners)

    @asynccontextmanager
    async def room(self, owner: str, tool: Tool) -> AsyncGenerator[None]:
        """Wait for room for one call, and hold it.

        Raises:
            RateLimited: the tool was called too often; the sentence says when it may be again.
        """
        self._count(owner, tool)
        async with AsyncExitStack() as held:
            if tool.concurrency is not None:
                own = self._tools.setdefault((owner, tool.name), asyncio.Semaphore(tool.concurrency))
                await held.enter_async_context(own)
            await held.enter_async_context(self._owners[owner])
            yield

    def _count(self, owner: str, tool: Tool) -> None:
        if tool.rate is None:
            return
        key, now = (owner, tool.name), self.now()
        begun = self._begun.get(key)
        if begun is None:
            self._begun[key] = begun = deque[float]()
        while begun and begun[0] <= now - tool.rate.per_s:
            begun.popleft()
        if len(begun) >= tool.rate.calls:
            wait_s = begun[0] + tool.rate.per_s - now
            message = (
                f"{tool.name} may be called {tool.rate.calls} times in {tool.rate.per_s:g} s: "
                f"wait {wait_s:.0f} s before the next call, or go on without it."
            )
            raise RateLimited(message, retry_after_s=wait_s)
        begun.append(now)
