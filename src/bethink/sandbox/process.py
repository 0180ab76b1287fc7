"""A confined process seen from outside: started, watched, killed. `linux` and `kernel` hold one.

Nothing here relies on what the process says. Its pages, threads and files are
counted by the host, its output is kept only so far, and it is ended by its
process descriptor, which never names another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from pathlib import Path
from subprocess import PIPE, STDOUT
from time import perf_counter
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.sandbox.folder import size_of

if TYPE_CHECKING:
    from bethink.sandbox import Ending
    from bethink.sandbox.confinement import Command, Confinement, Job

_LOOK_EVERY_S: Final = 0.2
_SHARE_OF_LOOKING: Final = 0.1
"""Counting a large directory must not take more than this part of the time."""
_OUTPUT_OVER: Final = 64
"""How often over what is kept a process may print, before it is ended as one that only prints."""
_READ_BYTES: Final = 1 << 16
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class ConfinedProcess:
    """A job at work. Make one with `start`, and `end` it."""

    def __init__(self, job: Job, process: asyncio.subprocess.Process, places: list[int]) -> None:
        self.ending: Ending | None = None
        # By descriptor: a directory may be given another name meanwhile.
        self._places = places
        self._job = job
        self._process = process
        self._head = bytearray()
        self._tail = bytearray()
        self._printed = 0
        self._inner: int | None = None
        self._reading = asyncio.create_task(self._read())
        self._watching = asyncio.create_task(self._watch())
        self._first_line = asyncio.Event()
        self.is_watched = True

    @classmethod
    async def start(cls, job: Job, confinement: Confinement) -> ConfinedProcess:
        """The process, its orders given.

        Raises:
            OSError: it cannot be started.
        """
        command = await anyio.to_thread.run_sync(confinement.command, job)
        # From here to where it is held nothing may come between, or nobody would end it.
        starting = asyncio.create_task(cls._given_its_orders(job, command))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await (await starting).end("died")
            raise

    @classmethod
    async def _given_its_orders(cls, job: Job, command: Command) -> ConfinedProcess:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
        )
        started = cls(job, process, await anyio.to_thread.run_sync(_opened, job))
        stdin = process.stdin
        if stdin is not None:
            stdin.write(json.dumps(dict(command.orders)).encode())
            with contextlib.suppress(ConnectionError):
                await stdin.drain()
            stdin.close()
        return started

    @property
    def text(self) -> str:
        """What it printed, its middle left out where that is much."""
        head, tail = self._head.decode(errors="replace"), self._tail.decode(errors="replace")
        left_out = self._printed - len(self._head) - len(self._tail)
        return f"{head}\n[… {left_out:,} bytes left out …]\n{tail}" if left_out > 0 else head + tail

    @property
    def exit_code(self) -> int | None:
        """How the process itself ended; None while it runs."""
        return self._process.returncode

    async def said_something(self) -> None:
        """Return once it has printed, or has ended."""
        await self._first_line.wait()

    async def ended(self) -> None:
        """Return once nothing of it runs any more: its output is closed by everybody who held it."""
        await asyncio.shield(self._reading)
        await self._process.wait()
        self._watching.cancel()
        await asyncio.wait({self._watching})
        while self._places:
            os.close(self._places.pop())

    async def end(self, ending: Ending) -> None:
        """Kill it, and wait until it is gone. The first ending that is given is the one that holds."""
        self.kill(ending)
        with anyio.CancelScope(shield=True):
            await self.ended()

    def kill(self, ending: Ending) -> None:
        """Kill it at once."""
        if self._process.returncode is not None:
            return
        self.ending = self.ending or ending
        self.signal(signal.SIGKILL)
        # The whole group: what `bwrap` has just begun does not end with it yet, and would hold the output.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def find_inner(self) -> None:
        """Find the interpreter behind what confines it, for `signal`: once it has printed something."""
        pid = await anyio.to_thread.run_sync(_innermost, self._process.pid)
        if pid is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._inner = os.pidfd_open(pid)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the interpreter."""
        if self._inner is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._inner, number)

    async def _read(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        most = self._job.limits.output_chars // 2
        try:
            while part := await stream.read(_READ_BYTES):
                self._first_line.set()
                self._printed += len(part)
                room = most - len(self._head)
                self._head += part[: max(room, 0)]
                self._tail = (self._tail + part[max(room, 0) :])[-most:]
                if self._printed > self._job.limits.output_chars * _OUTPUT_OVER:
                    self.kill("too_much_output")
        finally:
            self._first_line.set()
            inner, self._inner = self._inner, None
            if inner is not None:
                os.close(inner)

    async def _watch(self) -> None:
        while True:
            started = perf_counter()
            if self.is_watched and (ending := await anyio.to_thread.run_sync(self._over)):
                self.kill(ending)
                return
            cost = perf_counter() - started
            await asyncio.sleep(max(_LOOK_EVERY_S, cost / _SHARE_OF_LOOKING))

    def _over(self) -> Ending | None:
        limits = self._job.limits
        pid = _innermost(self._process.pid)
        memory, threads = _use_of(pid) if pid is not None else (0, 0)
        if memory > limits.memory_bytes:
            return "out_of_memory"
        if threads > limits.threads:
            return "too_many_threads"
        sizes = [size_of(f"/proc/self/fd/{place}/.", limits.files) for place in self._places]
        if not all(size.is_whole for size in sizes) or sum(size.bytes for size in sizes) > limits.disk_bytes:
            return "out_of_disk"
        return None


def _opened(job: Job) -> list[int]:
    places = [job.directory] if job.scratch is None else [job.directory, job.scratch]
    return [os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC) for place in places]


def _innermost(pid: int) -> int | None:
    """The last of the processes that were started within one another; None where they are gone.

    Confined code starts none, so that each has one child at most: the two of
    bubblewrap, and the interpreter.
    """
    for _ in range(3):
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        if not children:
            break
        pid = int(children[0])
    return pid


def _use_of(pid: int) -> tuple[int, int]:
    """Bytes that a process holds in memory, shared ones included, and its threads."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        threads = sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except (OSError, IndexError):
        return 0, 0
    return pages * _PAGE_BYTES, threads
