"""A process that reads files for modules of ours, seen from outside: see `guest_reader`.

Each file is read by a copy of it, which has the file and the writing end of a pipe for its answer. The copy
is not believed when it says that it is done: the process says so, over a socket that copies do not have.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from subprocess import DEVNULL
from typing import TYPE_CHECKING, BinaryIO, Final

from bethink.child_process import ChildProcess
from bethink.sandbox.folder import removed
from bethink.sandbox.process import ConfinedProcess

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sandbox import FileReading
    from bethink.sandbox.confinement import Confinement, Job

_PART: Final = 1 << 16
_GONE_S: Final = 1.0
"""A copy that closed its pipe has ended, or hides."""
_MODULE: Final = "bethink.sandbox.guest_reader"


@dataclass(slots=True)
class ForkingReader:
    """Adapter: see `FileReader`. Make one with `confined` or `plain`, and `close` it."""

    _process: ChildProcess | ConfinedProcess
    _asking: socket.socket
    _place: Path | None = None
    """The directory of a confined process, which stays empty."""
    is_alive: bool = field(default=True, init=False)

    @classmethod
    async def confined(
        cls, confinement: Confinement, job: Callable[[int], Job], place: Path
    ) -> ForkingReader:
        """One whose copies are confined; `job` says how, given its standard input. `place` goes with it.

        Raises:
            OSError: it does not start.
        """
        ours, theirs = _sockets()
        try:
            with theirs:
                return cls(await ConfinedProcess.start(job(theirs.fileno()), confinement), ours, place)
        except BaseException:
            ours.close()
            await removed(place)
            raise

    @classmethod
    async def plain(cls) -> ForkingReader:
        """One that reaches what this process does; it has none of its variables, for they hold keys.

        Raises:
            OSError: it does not start.
        """
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
        ours, theirs = _sockets()
        try:
            with theirs:
                process = await ChildProcess.start(
                    sys.executable,
                    "-P",
                    "-m",
                    _MODULE,
                    stdin=theirs.fileno(),
                    stdout=DEVNULL,
                    stderr=DEVNULL,
                    env=environment,
                )
                return cls(process, ours)
        except BaseException:
            ours.close()
            raise

    async def read(self, source: BinaryIO, reading: FileReading) -> bytes:
        """See `FileReader.read`."""
        self.is_alive = False  # unless it says that its copy is gone
        if isinstance(self._process, ConfinedProcess):
            self._process.source = os.fstat(source.fileno()).st_ino
        answer = bytearray()
        with suppress(TimeoutError, ConnectionError):
            async with asyncio.timeout(reading.timeout_s):
                await self._ask(source, reading, answer)
            if len(answer) < reading.most_bytes:
                async with asyncio.timeout(_GONE_S):
                    self.is_alive = bool(await asyncio.get_running_loop().sock_recv(self._asking, 1))
        return bytes(answer)

    async def _ask(self, source: BinaryIO, reading: FileReading, answer: bytearray) -> None:
        request = {"command": [*reading.command], "imports": [*reading.imports]}
        mine, theirs = os.pipe()
        stream = asyncio.StreamReader()
        try:
            with os.fdopen(mine, "rb", buffering=0) as pipe:
                try:
                    socket.send_fds(self._asking, [json.dumps(request).encode()], [source.fileno(), theirs])
                finally:
                    os.close(theirs)
                transport, _ = await asyncio.get_running_loop().connect_read_pipe(
                    lambda: asyncio.StreamReaderProtocol(stream), pipe
                )
                try:
                    while len(answer) < reading.most_bytes and (part := await stream.read(_PART)):
                        answer += part
                finally:
                    transport.close()
        finally:
            # The transport lets go of its pipe by the loop's next turn.
            await asyncio.sleep(0)

    async def close(self) -> None:
        """End it, whatever it does; idempotent."""
        self.is_alive = False
        self._asking.close()
        if isinstance(self._process, ConfinedProcess):
            await self._process.end("died")
        else:
            await self._process.end()
        if self._place is not None:
            await removed(self._place)


def _sockets() -> tuple[socket.socket, socket.socket]:
    """Ours, and that of the process."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    return ours, theirs
