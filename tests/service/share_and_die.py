"""Talks with a Redis beside the data, in a process that ends as by a power cut at a step that is named.

Called with the data directory, the Redis, how many writes are let through, and
`before` or `after`: of the next one. Prints what was acknowledged: a conversation and a text.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio

from bethink.redis_mirror.client import ConversationRedis
from bethink.redis_mirror.outbox import OutboxStore
from tests.shared_house import shared_house, sharing_of

_left = int(sys.argv[3])


def dying(write: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """The same, which counts down to the end."""

    async def counted(*arguments: Any, **named: Any) -> Any:  # noqa: ANN401 - whatever the write takes
        global _left  # noqa: PLW0603 - one count for all writes of the process
        _left -= 1
        if _left < 0 and sys.argv[4] == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = await write(*arguments, **named)
        if _left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return counted


async def main() -> None:
    async with shared_house(Path(sys.argv[1]), sys.argv[2]) as house:
        for owner, name in (
            (ConversationRedis, "append"),
            (ConversationRedis, "replace"),
            (ConversationRedis, "remove"),
            (OutboxStore, "commit"),
        ):
            setattr(owner, name, dying(getattr(owner, name)))
        conversation = await house.new()
        for text in ("One", "Two"):
            await house.say(text, conversation)
            sys.stdout.write(f"{conversation} {text}\n")
            sys.stdout.flush()
            await sharing_of(house).bring_over()


if __name__ == "__main__":
    anyio.run(main)
