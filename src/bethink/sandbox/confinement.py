"""What a Linux adapter is: a command line that starts the guest, and the orders that it is given.

`bubblewrap` and `landlock` are two ways to confine one process; everything
else about running code in it (`process`, `linux`, `kernel`) is the same.
"""

from __future__ import annotations

import functools
import platform
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any, Final, Protocol

from bethink.sandbox import places
from bethink.sandbox.seccomp import ARCHITECTURES, SECCOMP_CALL, after_start, build_filter

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bethink.sandbox import Limits
    from bethink.sandbox.seccomp import Machine

_ADDRESS_SPACE_SLACK: Final = 2 << 30
"""Libraries are mapped, and allocators reserve what they never touch."""
_OPEN_FILES: Final = 256


@dataclass(frozen=True, slots=True)
class Job:
    """A process to start: the directories that it may write to, and the program it runs once it is confined.

    `program` is one of the guest's files. `scratch` is a second writable directory, for what is not the
    owner's: sockets, temporary files. `source` is an open file that becomes its standard input; such a job
    has Bethink's own modules, too.
    """

    directory: Path
    limits: Limits
    program: str
    scratch: Path | None = None
    with_packages: bool = False
    source: int | None = None
    orders: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Command:
    """How to start it: the command line, and the orders for the guest's standard input."""

    arguments: Sequence[str]
    orders: Mapping[str, Any]


class Confinement(Protocol):
    """One way to confine a process."""

    @property
    def name(self) -> str:
        """A word for it."""
        ...

    def missing(self) -> str | None:
        """What it lacks on this machine, as a sentence; None where it may work, which `probe` finds out.

        Looks for files: call it from a thread.
        """
        ...

    def command(self, job: Job) -> Command:
        """The command that does the job. Reads files: call it from a thread."""
        ...


def machine() -> Machine | None:
    """This machine, where there is a filter for it."""
    name = platform.machine()
    if platform.system() != "Linux":
        return None
    return next((known for known in ARCHITECTURES if known == name), None)


@functools.cache
def _text_of(file: str) -> str:
    """The text of one of the guest's programs."""
    return resources.files("bethink.sandbox").joinpath(file).read_text(encoding="utf-8")


def interpreter_arguments(interpreter: Path) -> list[str]:
    """Python without its environment and its packages, running the guest."""
    return [str(interpreter), "-I", "-S", "-B", "-X", "utf8", "-c", _text_of("guest.py")]


def orders(job: Job, directory: str, scratch: str | None, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    """The orders that are the same however the process is confined."""
    this = machine()
    if this is None:
        raise NotImplementedError(platform.machine())
    calls = build_filter(this, serves=job.scratch is not None)
    home = scratch or directory
    return {
        "directory": directory,
        "scratch": scratch,
        "environment": {
            "HOME": home,
            "TMPDIR": home,
            "LANG": "C.UTF-8",
            "MPLCONFIGDIR": f"{home}/matplotlib",
            "IPYTHONDIR": f"{home}/ipython",
            # A thread of these libraries on each core of the machine is too many for one caller.
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        },
        "limits": _limits(job.limits),
        "parent": 0,
        "source": job.source,
        "landlock": None,
        "filter": {"program": calls.program.hex(), "pid_at": calls.pid_at, "group_at": calls.group_at},
        "after_start": {"program": after_start(this).hex(), "call": SECCOMP_CALL[this]},
        "path": [str(path) for path in _packages(job)],
        "program": _text_of(job.program),
        **job.orders,
        **more,
    }


def _packages(job: Job) -> Sequence[Path]:
    return places.packages() if job.with_packages else ()


def _limits(limits: Limits) -> dict[str, int]:
    return {
        "RLIMIT_CORE": 0,
        "RLIMIT_MEMLOCK": 0,
        "RLIMIT_MSGQUEUE": 0,
        "RLIMIT_NOFILE": _OPEN_FILES,
        "RLIMIT_FSIZE": limits.disk_bytes,
        "RLIMIT_DATA": limits.memory_bytes,
        "RLIMIT_AS": limits.memory_bytes + _ADDRESS_SPACE_SLACK,
    }
