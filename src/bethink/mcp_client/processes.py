"""Ends what a server started, however this process goes: no orphan survives a `kill -9`. `stdio` asks.

A server may ignore that its input has ended, and so may what a launcher such as `npx` has started. One
small shell beside Bethink (`ProcessGuard`) holds a pipe from it and a list of process groups; when the
pipe ends it ends those still on the list. Linux tells who started whom; elsewhere only the program's own
group ends.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from pathlib import Path

from bethink.child_process import ChildProcess

_PROC = Path("/proc")
_END_GRACE_S = 1.0
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


def end_all(processes: list[Process]) -> None:
    """End those that still run: asked to first, made to after a second."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        running = [one for one in processes if _runs(one)]
        for pid, _ in running:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
        until = time.monotonic() + _END_GRACE_S
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


_SCRIPT = """
trap '' HUP INT TERM
all=' '
while read -r sign group; do
    case $sign in
        +) all="$all$group " ;;
        -) rest=' '; for one in $all; do [ "$one" = "$group" ] || rest="$rest$one "; done; all=$rest ;;
    esac
done
[ "$all" = ' ' ] && exit 0
for one in $all; do kill -s TERM -- "-$one"; done
sleep 1
for one in $all; do kill -s KILL -- "-$one"; done
"""
"""POSIX sh: it starts in a millisecond and takes 1 MB, a Python would take 20 times as much of both."""
_END_S = 3


class ProcessGuard:
    """The shell, started with the first server."""

    def __init__(self) -> None:
        self._process: ChildProcess | None = None
        self._groups: set[int] = set()
        self._starting = asyncio.Lock()

    async def watch(self, group: int) -> None:
        """See to it that this process group does not outlive Bethink."""
        self._groups.add(group)
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                self._tell("+", group)
                return
            self._process = await ChildProcess.start(
                "/bin/sh", "-c", _SCRIPT, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True
            )
            for known in self._groups:
                self._tell("+", known)

    def forget(self, group: int) -> None:
        """The group has ended: its number may be given to somebody else."""
        self._groups.discard(group)
        self._tell("-", group)

    async def close(self) -> None:
        """End the shell, and with it whatever was not forgotten."""
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(_END_S):
                await process.wait()

    def _tell(self, sign: str, group: int) -> None:
        if self._process is None or self._process.stdin is None:
            return
        with suppress(OSError, RuntimeError):
            self._process.stdin.write(f"{sign} {group}\n".encode())
