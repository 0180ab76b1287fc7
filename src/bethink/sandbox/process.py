"""A confined process seen from outside: started, watched, killed. `linux` and `kernel` hold one.

Nothing here relies on what the process says. Its pages, threads and files are
counted by the host, its output is kept only so far, and it is ended by its
process descriptor, which never names another process.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import os
import signal
import socket
import stat
from pathlib import Path
from subprocess import PIPE, STDOUT
from time import perf_counter
from typing import TYPE_CHECKING, Final

import anyio.to_thread

from bethink.child_process import ChildProcess, ended_if_cancelled, uncancelled
from bethink.sandbox import MIB, Ending
from bethink.sandbox.folder import BLOCK_BYTES, size_of

if TYPE_CHECKING:
    from bethink.sandbox.confinement import ConfinedCommand, Confinement, Job

_LOOK_EVERY_S: Final = 0.2
_SHARE_OF_LOOKING: Final = 0.1
"""Counting a large directory must not take more than this part of the time."""
_OUTPUT_OVER: Final = 64
"""How often over what is kept a process may print, before it is ended as one that only prints."""
_MOST_TAIL: Final = 1 << 20
_READ_BYTES: Final = 1 << 16
_SPARE_BYTES: Final = 128 * MIB
_SPARE_SHARE: Final = 0.02
"""Of a disk so much is left to others, or this part of a small one: code that fills it is ended before."""
_NOT_FILES: Final = ("/memfd:", "/dev/zero", "/SYSV")
"""Mappings of memory that look as those of deleted files do."""
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")


class ConfinedProcess:
    """A job at work. Make one with `start`, and `end` it.

    `source` is the inode of a file that it was given to read, which does not count as taken by it.
    """

    def __init__(self, job: Job, process: ChildProcess, places: list[int]) -> None:
        self.ending: Ending | None = None
        # By descriptor: a directory may be given another name meanwhile.
        self._places = places
        self._job = job
        self.source: int | None = None
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
        return await ended_if_cancelled(cls._started_with(job, command), lambda made: made.end("died"))

    @classmethod
    async def _started_with(cls, job: Job, command: ConfinedCommand) -> ConfinedProcess:
        process = await ChildProcess.start(
            *command.arguments,
            stdin=PIPE,
            stdout=PIPE,
            stderr=STDOUT,
            env={},
            cwd="/",
            start_new_session=True,
            pass_fds=() if job.source is None else (job.source,),
        )
        try:
            places = [job.directory] if job.scratch is None else [job.directory, job.scratch]
            flags = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
            opened = await anyio.to_thread.run_sync(lambda: [os.open(place, flags) for place in places])
            started = cls(job, process, opened)
        except BaseException:
            await process.end()
            raise
        if (stdin := process.stdin) is not None:
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
    def head(self) -> bytes:
        """The first of what it printed, as it was: half of what is kept."""
        return bytes(self._head)

    @property
    def exit_code(self) -> int | None:
        """How the process itself ended; None while it runs."""
        return self._process.returncode

    async def said_something(self) -> None:
        """Return once it has printed, or has ended."""
        await self._first_line.wait()

    async def ended(self) -> None:
        """Return once nothing of it runs any more: its output is closed by everybody who held it."""
        await asyncio.wait({self._reading})
        await self._process.wait()
        self._watching.cancel()
        await asyncio.wait({self._watching})
        while self._places:
            os.close(self._places.pop())

    async def end(self, ending: Ending) -> None:
        """Kill it, and wait until it is gone. The first ending that is given is the one that holds."""

        async def ended() -> None:
            await asyncio.wait({self._reading})
            await self._process.end()
            await self.ended()

        self.kill(ending)
        await uncancelled(ended)

    def kill(self, ending: Ending) -> None:
        """Kill it at once."""
        if self._process.returncode is not None:
            return
        self.ending = self.ending or ending
        self.signal(signal.SIGKILL)
        # The whole group: what `bwrap` has just begun does not end with it yet, and would hold the output.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    async def over_at_last(self) -> Ending | None:
        """What it was killed for, or used too much of: code may be done before anybody looked."""
        over = None if self.ending else await anyio.to_thread.run_sync(self._over)
        return self.ending or over

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
                self._tail = (self._tail + part[max(room, 0) :])[-min(most, _MOST_TAIL) :]
                over = 0.5 if self._job.source is not None else _OUTPUT_OVER
                if self._printed > self._job.limits.output_chars * over:
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
        unlinked, buffers = _held_by(pid, limits.disk_bytes, self.source) if pid is not None else (0, 0)
        if memory + buffers > limits.memory_bytes:
            return "out_of_memory"
        if threads > limits.threads:
            return "too_many_threads"
        sizes = [size_of(f"/proc/self/fd/{place}/.", limits.files) for place in self._places]
        known = [size for size in sizes if size is not None]
        taken = unlinked + sum(known)
        if len(known) < len(sizes) or taken > limits.disk_bytes:
            return "out_of_disk"
        # What takes little is not to blame for a disk that others have filled.
        is_full = any(_is_full(place) for place in self._places)
        return "out_of_disk" if is_full and taken > limits.disk_bytes // 16 else None


def _innermost(pid: int) -> int | None:
    """The last of the processes that were started within one another; None where they are gone.

    Confined code starts none, so that each has one child at most: the two of
    bubblewrap, the interpreter, and the copy of it that reads a file.
    """
    for _ in range(4):
        try:
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
        except OSError:
            return None
        if not children:
            break
        pid = int(children[0])
    return pid


def _is_full(place: int) -> bool:
    disk = os.statvfs(f"/proc/self/fd/{place}/.")
    return disk.f_bavail * disk.f_frsize < min(_SPARE_BYTES, _SPARE_SHARE * disk.f_blocks * disk.f_frsize)


def _held_by(pid: int, most_of_one: int, source: int | None) -> tuple[int, int]:
    """Bytes that no directory and no page of a process shows: of unlinked files, and of sockets and pipes.

    They are those of what it holds open, but for the file of inode `source`. A deleted file that is only
    mapped counts as `most_of_one`.
    """
    files: dict[tuple[int, int], int] = {}
    inodes: set[int] = set()
    buffers = 0
    with contextlib.suppress(OSError), os.scandir(f"/proc/{pid}/fd") as listing:
        for item in listing:
            try:
                status = item.stat()
            except OSError:
                continue
            inodes.add(status.st_ino)
            if stat.S_ISSOCK(status.st_mode) or stat.S_ISFIFO(status.st_mode):
                buffers += _buffer_bytes()
            elif stat.S_ISREG(status.st_mode) and not status.st_nlink and status.st_ino != source:
                files[status.st_dev, status.st_ino] = status.st_blocks * BLOCK_BYTES
    mapped = len(_deleted_mappings(pid) - inodes)
    return sum(files.values()) + mapped * most_of_one, buffers


def _deleted_mappings(pid: int) -> set[int]:
    """Inodes of files that are mapped and have no name any more. Source: proc_pid_maps(5)."""
    found: set[int] = set()
    with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", "rb") as maps:  # noqa: PTH123 - by its number
        for line in maps:
            if not line.endswith(b" (deleted)\n"):
                continue
            parts = line.decode(errors="replace").split(None, 5)
            if parts[4] != "0" and not parts[5].startswith(_NOT_FILES):
                found.add(int(parts[4]))
    return found


@functools.cache
def _buffer_bytes() -> int:
    """What one socket may hold at most, a pipe included: `net.core.wmem_default`, counted twice."""
    with socket.socket(socket.AF_UNIX) as one:
        return 2 * one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)


def _use_of(pid: int) -> tuple[int, int]:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
        threads = sum(1 for _ in Path(f"/proc/{pid}/task").iterdir())
    except (OSError, IndexError):
        return 0, 0
    return pages * _PAGE_BYTES, threads
