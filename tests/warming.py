"""Imports a server once and forks for each process that is asked for: `python -m tests.warming SOCKET`.

`tests/warm.py` starts it and asks. It has one thread and opens nothing, so that a fork begins as a new
process would. Ends when nobody can ask any more.
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
from typing import Any

_MODULES = ("bethink.cli", "bethink.cli.serve", "bethink.web.server")
_MOST_BYTES = 1_000_000


def main(number: int) -> dict[str, Any]:
    """Fork for each that is asked for. Comes back in the new process, with what it is to do."""
    for name in _MODULES:
        importlib.import_module(name)
    assert len(os.listdir("/proc/self/task")) == 1, "a fork has one thread: another one's locks stay held"  # noqa: PTH208 - as short as it gets
    # What is there now is never looked through again, in no process: collecting would copy all of it.
    gc.freeze()
    asking = socket.socket(fileno=number)
    woken, wakes = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes)
    told: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([asking, woken], [], [])
        if woken in ready:
            os.read(woken, _MOST_BYTES)
            _tell_ended(told)
        if asking not in ready:
            continue
        asked, given, _, _ = socket.recv_fds(asking, _MOST_BYTES, 3)
        if not asked:
            os._exit(0)
        output, errors, ends = given
        if child := os.fork():
            told[child] = ends
            os.write(ends, f"{child}\n".encode())
            os.close(output)
            os.close(errors)
            continue
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(output, 1)
        os.dup2(errors, 2)
        for one in (number, woken, wakes, output, errors, ends, *told.values()):
            os.close(one)
        asking.detach()
        return json.loads(asked)


def _tell_ended(told: dict[int, int]) -> None:
    while told:
        child, status = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        ends = told.pop(child)
        os.write(ends, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os.close(ends)


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
    begin(main(int(sys.argv[1])))
