"""Processes of Bethink that begin with everything imported, as tests start them by the hundred.

Importing all of a server takes two seconds of processor time, most of what a test of one takes.
One process for a worker's tests imports it once and forks for each that is asked for (`tests/warming.py`).
What is started is a process of its own: it is killed, signalled and waited for as any other. What is
`cold` begins where Python begins.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import anyio

ROOT = Path(__file__).parent.parent
_CHUNK = 65_536


@dataclass(slots=True)
class Started:
    """A process, and what it says on standard output. `close` it once it is waited for."""

    pid: int
    output: int
    _ended: int
    returncode: int | None = None
    _said: bytes = field(default=b"", repr=False)

    async def line(self) -> str:
        """The next line of its output; what there is of one where it ended."""
        while b"\n" not in self._said:
            await anyio.wait_readable(self.output)
            if not self._read():
                break
        return self._next()

    def line_within(self, patience_s: float) -> str:
        """The same, for who has no loop."""
        while b"\n" not in self._said:
            if not select.select([self.output], [], [], patience_s)[0]:
                message = f"it said nothing in {patience_s} s"
                raise AssertionError(message)
            if not self._read():
                break
        return self._next()

    async def wait(self) -> int:
        """How it ended: its exit code, or the signal's number below zero."""
        if self.returncode is None:
            await anyio.wait_readable(self._ended)
        return self._code()

    def wait_within(self, patience_s: float) -> int:
        """The same, for who has no loop."""
        if self.returncode is None and not select.select([self._ended], [], [], patience_s)[0]:
            message = f"it did not end in {patience_s} s"
            raise AssertionError(message)
        return self._code()

    def send_signal(self, number: int) -> None:
        """Signal it, unless it has ended."""
        if self.returncode is None and not select.select([self._ended], [], [], 0)[0]:
            # It may have ended, and who started it not told so yet.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """End it as a power cut would."""
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """Leave what it says unread."""
        os.close(self.output)
        os.close(self._ended)

    def _read(self) -> bytes:
        read = os.read(self.output, _CHUNK)
        self._said += read
        return read

    def _next(self) -> str:
        line, end, self._said = self._said.partition(b"\n")
        return (line + end).decode()

    def _code(self) -> int:
        if self.returncode is None:
            self.returncode = _number(self._ended)
        return self.returncode


def cold(code: str) -> str:
    """The same piece of Python, begun from nothing, as a person begins it, imports and all."""
    return f"import os, sys\nos.execv(sys.executable, [sys.executable, '-c', {code!r}, *sys.argv[1:]])"


def program(code: str) -> list[str]:
    """The words of a command that runs a piece of Python warm, for whoever starts it with more of them.

    It is a stand-in (`tests/warm_program.py`): its streams and its end are the other one's, its pid is not.
    """
    _forking()
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("warm_program.py")), _path(), code]


BETHINK = "import sys\nfrom bethink.cli import main\nsys.exit(main(sys.argv[1:]))"
"""`bethink`, as a piece of Python."""


def start(code: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Started:
    """Run a piece of Python in a process of its own, with these `sys.argv[1:]`."""
    asked = {
        "code": code,
        "arguments": arguments,
        "environment": dict(os.environ if environment is None else environment),
        "directory": str(Path.cwd()),
    }
    output, writes = os.pipe()
    ended, ends = os.pipe()
    try:
        socket.send_fds(_forking(), [json.dumps(asked).encode()], [writes, 2, ends])
        pid = _number(ended)
    finally:
        os.close(writes)
        os.close(ends)
    return Started(pid, output, ended)


async def run(code: str, *arguments: str) -> tuple[int, str]:
    """The same, to its end: how it ended and what it said."""
    process = start(code, *arguments)
    try:
        said = ""
        while line := await process.line():
            said += line
        return await process.wait(), said
    finally:
        process.kill()
        process.close()


def _number(told: int) -> int:
    """The next number that is told, a line; a quick process has two of them waiting."""
    read = b""
    while not read.endswith(b"\n"):
        if not (byte := os.read(told, 1)):
            message = "the process that starts others is gone"
            raise AssertionError(message)
        read += byte
    return int(read)


@functools.cache
def _path() -> str:
    """Where programs ask; a socket's path is short."""
    folder = tempfile.TemporaryDirectory(prefix="bethink-warm-")
    atexit.register(folder.cleanup)
    return str(Path(folder.name) / "socket")


@functools.cache
def _forking() -> socket.socket:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command: Sequence[str] = (sys.executable, "-m", "tests.warming", str(theirs.fileno()), _path())
    # With more, numpy would start threads as it is imported.
    told = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=told, stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
    )
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours
