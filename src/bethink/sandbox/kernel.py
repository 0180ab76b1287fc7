"""A session: an IPython kernel in a confined process, and what one execution in it shows.

Between executions the process is stopped by the kernel of the machine: what
code left running in threads takes nothing while nobody asks for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.errors import SandboxUnavailable
from bethink.sandbox import REASONS, Answer
from bethink.sandbox.channels import Channels
from bethink.sandbox.confinement import Job
from bethink.sandbox.folder import remove
from bethink.sandbox.process import ConfinedProcess
from bethink.sandbox.shown import Shown

if TYPE_CHECKING:
    from bethink.sandbox import Ending, Limits
    from bethink.sandbox.confinement import Confinement

_START_TIMEOUT_S: Final = 30
"""A cold disk and a busy machine included: usually one second."""
_GRACE_S: Final = 2
"""From an interrupt to the end of patience."""
_LAST_WORDS_S: Final = 1
"""What is shown may come in after the reply; then it was lost with its connection."""
_READY: Final = "READY"
SCRATCH_PREFIX: Final = "scratch-"


async def open_kernel(
    confinement: Confinement, directory: Path, limits: Limits, *, scratches: Path | None
) -> KernelSession:
    """A kernel that answers. Its sockets and temporary files go into a new directory in `scratches`.

    Raises:
        SandboxUnavailable: it does not start.
    """
    scratch = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, "", SCRATCH_PREFIX, scratches))
    key = secrets.token_hex(16)
    orders = {"key": key, "most_chars": limits.output_chars}
    job = Job(directory, limits, "guest_kernel.py", scratch, with_packages=True, orders=orders)
    try:
        process = await ConfinedProcess.start(job, confinement)
    except OSError as error:
        await anyio.to_thread.run_sync(remove, scratch)
        raise SandboxUnavailable(f"The interpreter does not start: {error}") from error
    session = KernelSession(process, job, scratch)
    try:
        async with asyncio.timeout(_START_TIMEOUT_S):
            await session.greet(key)
    except TimeoutError as error:
        await session.close()
        raise SandboxUnavailable(
            f"The interpreter did not start within {_START_TIMEOUT_S} s. {process.text[-500:]}"
        ) from error
    except BaseException:
        await session.close()
        raise
    return session


class KernelSession:
    """See `Session`. Made by `open_kernel`."""

    def __init__(self, process: ConfinedProcess, job: Job, scratch: Path) -> None:
        self._process = process
        self._limits = job.limits
        self._scratch = scratch
        self._channels: Channels | None = None
        self._turn = asyncio.Lock()
        self._stopping: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def is_alive(self) -> bool:
        """See `Session.is_alive`."""
        return not self._closed and self._process.exit_code is None and self._process.ending is None

    async def greet(self, key: str) -> None:
        """Connect once the kernel's sockets are there, and wait for its first word.

        Raises:
            SandboxUnavailable: it died.
        """
        await self._process.said_something()
        if not self._process.text.startswith(_READY):
            await self._process.end("died")
            reason = self._process.text.strip()[-500:] or REASONS[self._process.ending or "died"]
            raise SandboxUnavailable(f"The interpreter does not start: {reason}")
        await self._process.find_inner()
        self._channels = Channels(self._scratch, key)
        await self._channels.ready()
        self._rest()

    async def execute(self, code: str, timeout_s: float) -> Answer:
        """See `Session.execute`."""
        async with self._turn:
            if self._stopping is not None:
                await asyncio.shield(self._stopping)
            if not self.is_alive or self._channels is None:
                return self._lost(Shown(self._limits.output_chars))
            self._process.is_watched = True
            self._process.signal(signal.SIGCONT)
            shown = Shown(self._limits.output_chars)
            running = asyncio.create_task(self._run(self._channels, code, shown))
            dying = asyncio.create_task(self._process.ended())
            try:
                return await self._outcome(running, dying, shown, timeout_s=timeout_s)
            finally:
                dying.cancel()
                if not running.done() and self.is_alive:
                    self._stopping = asyncio.create_task(self._stop(running))
                elif self.is_alive:
                    self._rest()

    async def interrupt(self) -> None:
        """See `Session.interrupt`.

        By a signal from the host, not by a message: it arrives where the sockets are broken, too.
        """
        self._process.signal(signal.SIGINT)

    async def close(self) -> None:
        """See `Session.close`."""
        self._closed = True
        if self._channels is not None:
            self._channels.close()
        if self._stopping is not None:
            self._stopping.cancel()
        with anyio.CancelScope(shield=True):
            await self._process.end("died")
            await anyio.to_thread.run_sync(remove, self._scratch)

    async def _outcome(
        self, running: asyncio.Task[Ending], dying: asyncio.Task[None], shown: Shown, *, timeout_s: float
    ) -> Answer:
        both = {running, dying}
        done, _ = await asyncio.wait(both, timeout=timeout_s, return_when=asyncio.FIRST_COMPLETED)
        is_late = not done
        if is_late:
            await self.interrupt()
            done, _ = await asyncio.wait(both, timeout=_GRACE_S, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            self._process.kill("timed_out")
        if running not in done:
            running.cancel()
            await self._process.ended()
            return self._lost(shown)
        ending = await self._process.over_at_last() or running.result()
        if ending not in {"finished", "failed"}:
            await self._process.end(ending)
            return self._lost(shown)
        return shown.answer("timed_out" if is_late else ending)

    async def _run(self, channels: Channels, code: str, shown: Shown) -> Ending:
        """Until the kernel has replied and shown everything, or can do neither any more."""
        request = await channels.ask("execute_request", _execution(code))
        showing = asyncio.create_task(_show(channels, request, shown))
        try:
            replying = asyncio.create_task(channels.reply(request))
            try:
                await asyncio.wait({showing, replying}, return_when=asyncio.FIRST_COMPLETED)
                if showing.done() and shown.is_over:
                    return "too_much_output"
                reply = await replying
            finally:
                replying.cancel()
            # No last word came: a message was too large, and its connection is gone.
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_LAST_WORDS_S):
                    await asyncio.shield(showing)
            if not showing.done() or shown.is_over:
                return "too_much_output"
            return "finished" if reply.content.status == "ok" else "failed"
        finally:
            showing.cancel()

    async def _stop(self, running: asyncio.Task[Ending]) -> None:
        """Nobody waits for what runs any more: interrupt it, or else kill it."""
        await self.interrupt()
        await asyncio.wait({running}, timeout=_GRACE_S)
        if running.done() and self.is_alive:
            self._rest()
        else:
            running.cancel()
            await self._process.end("timed_out")

    def _rest(self) -> None:
        self._process.is_watched = False
        self._process.signal(signal.SIGSTOP)

    def _lost(self, shown: Shown) -> Answer:
        return shown.answer(self._process.ending or "died", lost=True)


async def _show(channels: Channels, request: str, shown: Shown) -> None:
    while not (shown.is_complete or shown.is_over):
        message, size = await channels.published(request)
        await shown.take_soon(message, size)


def _execution(code: str) -> dict[str, object]:
    return {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
        "allow_stdin": False,
        "stop_on_error": True,
    }
