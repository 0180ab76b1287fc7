"""Child processes with pipes: one is gone, its pipes closed, when whoever started it leaves.

`asyncio` alone leaves a child behind in three ways: a wait that is cancelled leaves it unreaped, a pipe that
a grandchild holds or that nobody reads to its end stays open, and before Python 3.13 `Process.wait` waits
for that pipe. So the sandbox, the readers of documents and pages and the model servers start children here.
"""

from __future__ import annotations

import asyncio
import os
import signal
from asyncio.subprocess import Process, SubprocessStreamProtocol
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import IO, Any, TypedDict, TypeVar, Unpack

import anyio

_LINE_BYTES = 1 << 16
"""As `asyncio` has it."""
T = TypeVar("T")


class Options(TypedDict, total=False):
    """Those of `Popen`."""

    stdin: int | IO[Any] | None
    stdout: int | IO[Any] | None
    stderr: int | IO[Any] | None
    env: Mapping[str, str] | None
    cwd: str | None
    start_new_session: bool
    pass_fds: Collection[int]


class ChildProcess(Process):
    """A child. Make one with `start` or `opened`, and `end` it."""

    def __init__(
        self,
        transport: asyncio.SubprocessTransport,
        protocol: SubprocessStreamProtocol,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(transport, protocol, loop)
        self._child = transport

    @classmethod
    async def start(cls, *command: str, limit: int = _LINE_BYTES, **options: Unpack[Options]) -> ChildProcess:
        """A child; `limit` is the longest line that `readline` reads. Cancelled meanwhile, it is ended.

        Raises:
            OSError: it cannot be started.
        """
        loop = asyncio.get_running_loop()
        # Inherited unless asked for, as with `Popen`: the loop by itself makes three pipes.
        chosen: Options = {"stdin": None, "stdout": None, "stderr": None, **options}

        async def started() -> ChildProcess:
            transport, protocol = await loop.subprocess_exec(
                lambda: SubprocessStreamProtocol(limit=limit, loop=loop), *command, **chosen
            )
            return cls(transport, protocol, loop)

        return await ended_if_cancelled(started(), ChildProcess.end)

    @classmethod
    @asynccontextmanager
    async def opened(cls, *command: str, **options: Unpack[Options]) -> AsyncGenerator[ChildProcess]:
        """The same, ended with the block."""
        child = await cls.start(*command, **options)
        try:
            yield child
        finally:
            await child.end()

    async def end(self) -> None:
        """Kill it, close its pipes whoever else holds them, and wait until it is gone: see `uncancelled`."""
        await uncancelled(self._end)

    async def _end(self) -> None:
        # Neither `self.kill` nor the transport's `close` before the exit is known: both may take
        # the exit code from the thread that waits for it.
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        for number in range(3):
            pipe = self._child.get_pipe_transport(number)
            if isinstance(pipe, asyncio.WriteTransport) and pipe.get_write_buffer_size():
                pipe.abort()
            elif pipe is not None:
                pipe.close()
        await self.wait()
        self._child.close()
        # A pipe is closed by the loop's next turn.
        await asyncio.sleep(0)


async def ended_if_cancelled(making: Coroutine[Any, Any, T], end: Callable[[T], Awaitable[object]]) -> T:
    """What `making` makes. Cancelled meanwhile it is made all the same, and ended: nobody else would."""
    task = asyncio.create_task(making)

    async def ended() -> None:
        await asyncio.wait({task})
        if not task.cancelled() and task.exception() is None:
            await end(task.result())

    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await uncancelled(ended)
        raise


async def uncancelled(work: Callable[[], Coroutine[Any, Any, object]]) -> None:
    """Do to its end what can be begun again, however often it is cancelled; that is raised afterwards."""
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        task = asyncio.create_task(work())
        while not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as error:
                cancelled = error
            if task.cancelled():  # as all tasks are where the loop is about to end
                task = asyncio.create_task(work())
        task.result()
    if cancelled is not None:
        raise cancelled
