"""Adapter: Landlock where namespaces are refused, as in most containers. Source: landlock(7).

The code cannot open what lies outside its directories, nor connect, signal or
trace; it can still learn that a path exists. What Landlock lacks on old
kernels the filter of system calls makes good.
"""

from __future__ import annotations

import ctypes
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.sandbox import places
from bethink.sandbox.confinement import Command, interpreter_arguments, machine, orders

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from bethink.sandbox.confinement import Job

_CREATE_RULESET, _ASK_VERSION = 444, 1
_WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DIR, _MAKE_FILE, _MAKE_SOCKET = 0b11 << 4, 1 << 7, 1 << 8, 1 << 9
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FIRST_RIGHTS: Final = (1 << 13) - 1
_RIGHTS_SINCE: Final = {2: _REFER, 3: _TRUNCATE, 5: 1 << 15}
"""What each version of Landlock has learnt to restrict, by version."""
_NET_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS = 0b11, 0b11
_SIZES: Final = ((_SCOPES_SINCE, 24), (_NET_SINCE, 16), (1, 8))
"""Bytes of `struct landlock_ruleset_attr` that a version knows."""


@dataclass(frozen=True, slots=True)
class Landlock:
    """Confines by Landlock. `version` holds it to what an older kernel has; None takes what is there."""

    version: int | None = None

    @property
    def name(self) -> str:
        """What `/health` calls it."""
        return "landlock"

    def missing(self) -> str | None:
        """No Linux of a known kind, or a kernel without it."""
        if machine() is None:
            return "it needs Linux on x86-64 or aarch64"
        return None if self._version() > 0 else "this kernel has no Landlock"

    def command(self, job: Job) -> Command:
        """The interpreter itself: it restricts itself before it reads the program."""
        scratch = str(job.scratch) if job.scratch else None
        return Command(
            interpreter_arguments(places.interpreter()),
            orders(
                job, str(job.directory), scratch, parent=os.getpid(), landlock=_rules(job, self._version())
            ),
        )

    def _version(self) -> int:
        known = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
        return known if self.version is None else min(known, self.version)


def _rules(job: Job, version: int) -> dict[str, Any]:
    handled = _FIRST_RIGHTS
    for since, right in _RIGHTS_SINCE.items():
        handled |= right if version >= since else 0
    reading, writing = _READ_FILE, (_READ_FILE | _WRITE_FILE | _TRUNCATE) & handled
    inside = (writing | _READ_DIR | _REMOVE | _MAKE_DIR | _MAKE_FILE | _MAKE_SOCKET | _REFER) & handled
    paths: list[tuple[str, int]] = [
        (str(place), reading | _READ_DIR if place.is_dir() else reading)
        for place in places.readable(with_packages=job.with_packages, with_own=job.source is not None)
    ]
    paths += [(device, writing) for device in places.DEVICES]
    paths += [(str(place), inside) for place in _writable(job)]
    return {
        "files": handled,
        "net": _BIND_AND_CONNECT if version >= _NET_SINCE else 0,
        "scope": _ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPES_SINCE else 0,
        "size": next(size for since, size in _SIZES if version >= since),
        "paths": paths,
    }


def _writable(job: Job) -> tuple[Path, ...]:
    return (job.directory, job.scratch) if job.scratch else (job.directory,)
