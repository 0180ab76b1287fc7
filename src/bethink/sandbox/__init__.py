"""Port: code that nobody has read runs here, and can reach nothing else.

`tools/code` opens sessions, one a conversation; a feature that wants a single
execution over one directory calls `run`. What the code does wrong is a value:
a limit that it hit, an error that it raised. An adapter that cannot hold its
promises is never offered (`probe`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO, Final, Literal, Protocol

if TYPE_CHECKING:
    from pathlib import Path

MIB: Final = 1 << 20

Ending = Literal[
    "finished",
    "failed",  # the code raised, or left with a status other than 0
    "timed_out",
    "out_of_memory",
    "out_of_disk",
    "too_much_output",
    "too_many_threads",
    "died",  # by its own doing or by somebody else's
]
"""How an execution ended."""

REASONS: Final[dict[Ending, str]] = {
    "finished": "it finished",
    "failed": "it failed",
    "timed_out": "it took longer than it may",
    "out_of_memory": "it used more memory than it may",
    "out_of_disk": "it wrote more than it may, or more than the disk has room for",
    "too_much_output": "it printed more than it may",
    "too_many_threads": "it started more threads than it may",
    "died": "its process died",
}
"""An ending as a part of a sentence."""


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """What code may use. `output_chars` are kept of what it prints, head and tail; the rest is dropped.

    `files` counts files and directories. A process that goes over one of them
    in spite of the kernel's own limits is killed within about a quarter second.
    """

    timeout_s: float = 30
    memory_bytes: int = 1024 * MIB
    disk_bytes: int = 256 * MIB
    files: int = 5_000
    output_chars: int = 20_000
    threads: int = 64


@dataclass(frozen=True, slots=True)
class Display:
    """Something that code showed: a picture or a table, as the bytes of a file."""

    media_type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Execution:
    """What one execution left: what it printed, standard error included, and how it ended.

    In a session there may be `displays`; `lost` says that the session's state is gone with it.
    """

    text: str
    ending: Ending
    exit_code: int | None = None
    displays: tuple[Display, ...] = ()
    lost: bool = False


class InterpreterSession(Protocol):
    """An interpreter that remembers what it ran before."""

    @property
    def is_alive(self) -> bool:
        """Whether it still holds its state."""
        ...

    async def execute(self, code: str, timeout_s: float) -> Execution:
        """Run code where the last one left off; one at a time, others wait.

        After `timeout_s` it is interrupted, which keeps the state; code that
        does not heed that is killed two seconds later. Cancelling does the same.
        """
        ...

    async def interrupt(self) -> None:
        """Raise KeyboardInterrupt in what runs now."""
        ...

    async def close(self) -> None:
        """End it; idempotent. Nothing of it is left when this returns."""
        ...


@dataclass(frozen=True, slots=True)
class FileReading:
    """How a file is read: `command` is the name of a module of ours and its arguments.

    `imports` names what that module needs, as far as it is known. Of its answer the first `most_bytes` count.
    """

    command: Sequence[str]
    timeout_s: float
    most_bytes: int
    imports: Sequence[str] = ()


class FileReader(Protocol):
    """A process that reads files one after the other: what one of them does to it, no other file meets."""

    @property
    def is_alive(self) -> bool:
        """Whether it reads another file; it does not if it had to be stopped over the last one."""
        ...

    async def read(self, source: BinaryIO, reading: FileReading) -> bytes:
        """What the module says about a file that is its standard input, whatever ends it. One at a time."""
        ...

    async def close(self) -> None:
        """End it, whatever it does; idempotent."""
        ...


class Sandbox(Protocol):
    """Runs code that can write to one directory and reach nothing else."""

    @property
    def name(self) -> str:
        """What holds the code, in a word."""
        ...

    async def run(self, code: str, directory: Path, limits: CodeLimits) -> Execution:
        """Run code once over `directory`, its working directory, with the standard library alone."""
        ...

    async def open_reader(self, limits: CodeLimits) -> FileReader:
        """A process that reads files with our packages, writes nothing and reaches nothing else.

        Of the limits, memory holds for each file.

        Raises:
            OSError: it does not start.
        """
        ...

    async def open(self, directory: Path, limits: CodeLimits) -> InterpreterSession:
        """A new interpreter over `directory`, with the packages that are installed beside Bethink.

        Raises:
            SandboxUnavailable: it does not start.
        """
        ...
