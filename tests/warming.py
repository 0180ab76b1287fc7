"""Imports a server once and forks for each process that is asked for: `python -m tests.warming SOCKET PATH`.

`tests/warm.py` starts it and asks; `tests/warm_program.py` asks at PATH, for whoever starts programs. It has
one thread and opens nothing, so that a fork begins as a new process would. Ends when `tests/warm.py` cannot
ask any more.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

_MODULES = (
    *("bethink.cli", "bethink.cli.chat", "bethink.cli.memory", "bethink.cli.serve", "bethink.cli.vault"),
    *("bethink.mcp_server.server", "bethink.web.server"),
    # What these import on first use.
    *(
        "aiohttp",
        "anyio._backends._asyncio",
        "anyio.from_thread",
        "asyncpg",
        "cryptography.hazmat.primitives.ciphers.aead",
    ),
    *("dateutil.parser", "jupyter_client.asynchronous", "numpy", "onnxruntime", "tokenizers", "watchfiles"),
)
_MOST_BYTES, _MOST_OPEN = 1_000_000, 1_024


@dataclass(slots=True)
class _Children:
    """What runs, and who asked for it."""

    told: dict[int, int] = field(default_factory=dict[int, int])
    """Whom to tell how a child ended: a pipe's end, or a socket."""
    stood_for: dict[socket.socket, int] = field(default_factory=dict[socket.socket, int])
    """The child of each program that stands for one."""

    def tell_ended(self) -> None:
        """Tell of those that have ended."""
        while self.told:
            child, status = os.waitpid(-1, os.WNOHANG)
            if not child:
                return
            ends = self.told.pop(child)
            # A program that was killed hears no more.
            with suppress(BrokenPipeError):
                os.write(ends, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os.close(ends)

    def hand_on(self, program: socket.socket) -> None:
        """Give a child the signal that its program had; the end, if that was killed itself."""
        child, had = self.stood_for[program], program.recv(1)
        if child in self.told:
            os.kill(child, had[0] if had else signal.SIGKILL)
        if not had:
            del self.stood_for[program]
            program.close()

    def is_begun(self, streams: Sequence[int], ends: int, program: socket.socket | None) -> bool:
        """Fork; true in the child, which has these streams and nothing else that is open here."""
        if child := os.fork():
            self.told[child] = ends
            if program is None:
                os.write(ends, f"{child}\n".encode())
            else:
                self.stood_for[program] = child
            for stream in streams:
                os.close(stream)
            return False
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        os.closerange(3, _MOST_OPEN)
        return True


def _warm() -> None:
    for name in _MODULES:
        importlib.import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has one thread: another one's locks stay held"  # noqa: PTH208 - as short as it gets
    # What is there now is never looked through again, in no process: collecting would copy all of it.
    gc.freeze()


def main(number: int, path: str) -> dict[str, Any]:
    """Fork for each that is asked for. Comes back in the new process, with what it is to do."""
    _warm()
    asking = socket.socket(fileno=number)
    programs = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    programs.bind(path)
    programs.listen()
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    children = _Children()
    while True:
        ready, _, _ = select.select([asking, woken, programs, *children.stood_for], [], [])
        if woken in ready:
            os.read(woken, _MOST_BYTES)
            children.tell_ended()
        for program in children.stood_for.keys() & set(ready):
            children.hand_on(program)
        program = None
        if asking in ready:
            asked, given, _, _ = socket.recv_fds(asking, _MOST_BYTES, 3)
            if not asked:
                os._exit(0)
            output, errors, ends = given
            streams = [os.open(os.devnull, os.O_RDONLY), output, errors]
        elif programs in ready:
            program, _ = programs.accept()
            asked, streams, _, _ = socket.recv_fds(program, _MOST_BYTES, 3)
            ends = os.dup(program.fileno())
        else:
            continue
        if children.is_begun(streams, ends, program):
            for one in (asking, programs, program, *children.stood_for):
                if one is not None:
                    one.detach()
            return json.loads(asked)


def begin(asked: dict[str, Any]) -> None:
    """Be the process that was asked for."""
    os.chdir(asked["directory"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.argv = ["-c", *asked["arguments"]]
    # What Python made at its start knows the files that were there then.
    sys.stdin = os.fdopen(0, closefd=False)
    sys.stdout = os.fdopen(1, "w", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, closefd=False)
    exec(asked["code"], {"__name__": "__main__"})  # noqa: S102 - of a test


if __name__ == "__main__":
    begin(main(int(sys.argv[1]), sys.argv[2]))
