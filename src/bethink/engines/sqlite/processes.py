"""Which processes of this machine still run. `bus.sqlite` asks, about the holders of leases and runs."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_ENDED_STATES = {"Z", "X", "x"}
"""A killed process stays listed as a zombie until its parent asks for it (proc_pid_stat(5))."""

_STATE = 0
_START_TIME = 19
"""Fields of /proc/PID/stat behind the closing parenthesis of its name: the 3rd and the 22nd in all."""


@dataclass(frozen=True, slots=True)
class Process:
    """A process: its number is used again after its end, but not with the same start time.

    `machine` differs where the number cannot be looked up from here: on another
    computer, before a restart of this one, or in another container.
    """

    machine: str
    pid: int
    started: str


def this_process() -> Process:
    """The process that asks."""
    return Process(_machine(), os.getpid(), _start_time(os.getpid()) or "")


def is_running(process: Process) -> bool | None:
    """Whether it still runs; None where that cannot be seen from here."""
    if process.machine != _machine():
        return None
    if _PROC.is_dir():
        return _start_time(process.pid) == process.started
    if sys.platform == "win32":
        # There `os.kill` would end it.
        return None
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _start_time(pid: int) -> str | None:
    """Clock ticks between the machine's start and the process's; None for one that does not run."""
    try:
        stat = (_PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The name, in parentheses, may hold spaces and parentheses itself.
    fields = stat.rpartition(")")[2].split()
    return None if fields[_STATE] in _ENDED_STATES else fields[_START_TIME]


def _machine() -> str:
    """One text per set of processes that see one another."""
    parts = [os.uname().nodename if hasattr(os, "uname") else ""]
    try:
        parts.append((_PROC / "sys/kernel/random/boot_id").read_text())
        parts.append(str((_PROC / "self/ns/pid").readlink()))
    except OSError:
        # Not a Linux: the machine's name has to do.
        pass
    return hashlib.blake2s("\n".join(parts).encode(), digest_size=8).hexdigest()
