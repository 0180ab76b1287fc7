"""Ends servers when this process is gone, however it went: no orphan survives a `kill -9`.

One small shell beside Bethink holds a pipe from it and a list of process
groups. When the pipe ends it ends those that are still on the list, with their
children. `stdio.py` reports every server that it starts. A server may ignore
that its input has ended, and so may what a launcher such as `npx` has started.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from bethink.child_process import ChildProcess

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


class Guard:
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
