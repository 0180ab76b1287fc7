"""What a program started, and what that started: `stdio.py` ends it all with the program.

Linux tells who started whom; elsewhere only the program's own group is ended.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_GRACE_S = 1.0
_STEP_S = 0.05
_PARENT, _BEGAN = 1, 19
"""Fields of `/proc/PID/stat` behind the name; a number with its beginning is one process for ever."""

Process = tuple[int, str]


def descendants(pid: int) -> list[Process]:
    """All that a process started, directly or not, and that still runs."""
    children: dict[int, list[Process]] = {}
    for entry in _PROC.glob("[0-9]*"):
        if fields := _fields(int(entry.name)):
            children.setdefault(int(fields[_PARENT]), []).append((int(entry.name), fields[_BEGAN]))
    found: list[Process] = []
    left = [pid]
    while left:
        more = children.pop(left.pop(), [])
        found += more
        left += [child for child, _ in more]
    return found


def end(processes: list[Process]) -> None:
    """End those that still run: asked to first, made to after a second."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = [one for one in processes if _runs(one)]
        for pid, _ in running:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        until = time.monotonic() + _GRACE_S
        while time.monotonic() < until and any(map(_runs, running)):
            time.sleep(_STEP_S)


def _runs(process: Process) -> bool:
    fields = _fields(process[0])
    return bool(fields) and fields[_BEGAN] == process[1] and fields[0] != "Z"


def _fields(pid: int) -> list[str]:
    try:
        return (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except (OSError, ValueError):
        return []
