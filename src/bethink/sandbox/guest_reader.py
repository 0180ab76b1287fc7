"""The program that reads files: for each it makes a copy of itself, which runs a module of Bethink's on it.

This process imports what reading needs, and never sees what a file holds. A copy starts with all of that,
has the file, the place for its answer and nothing else, and ends with it: what a file does to it, no other
file meets. In a sandbox it is a program of `guest`; without one, `python -m bethink.sandbox.guest_reader`.

A request comes through standard input, a socket: a line of JSON, with the file and the place for the answer,
both open. A byte goes back once the copy is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.util
import json
import os
import runpy
import signal
import socket
import sys
from collections.abc import Callable
from typing import Final

_MOST_BYTES: Final = 1 << 16
_LAST_FD: Final = 1024
_NICENESS: Final = 10
"""Whoever waits for an answer comes before whoever waits for a document."""
_PR_SET_PDEATHSIG: Final = 1


def main(confine: Callable[[], object], own: str | None) -> None:
    """Read what is asked for until nobody can ask any more. `own` is where Bethink's modules lie."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    if own is not None:
        _import_own(own)
    asked = socket.socket(fileno=os.dup(0))
    while True:
        request, files, _, _ = socket.recv_fds(asked, _MOST_BYTES, 2)
        if len(files) != 2:  # noqa: PLR2004 - a file and a place
            return
        _read(json.loads(request), files, confine)
        asked.send(b".")


def _import_own(place: str) -> None:
    """Bethink by its own place: what lies beside it is nobody's to list."""
    spec = importlib.util.spec_from_file_location(
        "bethink", f"{place}/__init__.py", submodule_search_locations=[place]
    )
    if spec is not None and spec.loader is not None:
        sys.modules["bethink"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["bethink"])


def _read(request: dict[str, list[str]], files: list[int], confine: Callable[[], object]) -> None:
    for name in request["imports"]:
        # What is not installed is missed by the copy, which says so.
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    # What is there is not looked through again in the copies: looking writes to it, which copies it.
    gc.freeze()
    parent = os.getpid()
    copy = os.fork()
    if not copy:
        try:
            _become(request["command"], files, confine=confine, parent=parent)
        finally:
            os._exit(1)
    for file in files:
        os.close(file)
    os.waitpid(copy, 0)


def _become(command: list[str], files: list[int], *, confine: Callable[[], object], parent: int) -> None:
    """Run a module on a file, as a process of which only that is known."""
    for place, file in enumerate(files):
        os.dup2(file, place)
    os.closerange(3, _LAST_FD)
    # A group of its own: a signal to it finds this process alone.
    os.setpgid(0, 0)
    _die_with_parent()
    if os.getppid() != parent:
        return
    confine()
    sys.argv = command
    runpy.run_module(command[0], run_name="__main__", alter_sys=True)
    sys.stdout.flush()
    os._exit(0)


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    _die_with_parent()
    main(lambda: None, None)
elif __name__ == "__sandbox__":
    _scope = globals()
    main(_scope["confine"], _scope["orders"]["own"])
