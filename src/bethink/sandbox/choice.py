"""Which sandbox this machine has. `interpreters` asks once, in the background of the start."""

from __future__ import annotations

import asyncio
import importlib
import secrets
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread

from bethink.errors import SandboxUnavailable
from bethink.sandbox import CodeLimits, Ending, Execution, Sandbox
from bethink.sandbox.confinement import Bubblewrap, Confinement, Job, Landlock, encloses, own_modules
from bethink.sandbox.file_reader import ForkingReader
from bethink.sandbox.folder import made, removed
from bethink.sandbox.process import ConfinedProcess

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sandbox.kernel import KernelSession


_KILLED_BY_SHELL: Final = 128
"""bubblewrap tells the signal that ended the code as a status above this."""


@dataclass(frozen=True, slots=True)
class LinuxSandbox:
    """Runs code in processes that `confinement` confines.

    Sessions keep their sockets and temporary files in `scratches`, of this machine's temporary files if None.
    """

    confinement: Confinement
    scratches: Path | None = None

    @property
    def name(self) -> str:
        """The confinement's."""
        return self.confinement.name

    async def run(self, code: str, directory: Path, limits: CodeLimits) -> Execution:
        """See `Sandbox.run`. Cancelling kills the process."""
        process = await self._done(Job(directory, limits, "guest_run.py", orders={"code": code}))
        code_of_exit = process.exit_code
        if code_of_exit == 0:
            ending: Ending = "finished"
        elif code_of_exit is None or not 0 < code_of_exit <= _KILLED_BY_SHELL:
            ending = "died"
        else:
            ending = "failed"
        return Execution(process.text, process.ending or ending, code_of_exit)

    async def open_reader(self, limits: CodeLimits) -> ForkingReader:
        """See `Sandbox.open_reader`."""
        place = await made("bethink-read-")
        orders = {"own": str(own_modules())}

        def job(source: int) -> Job:
            return Job(
                place,
                limits,
                "guest_reader.py",
                with_packages=True,
                source=source,
                forks=True,
                orders=orders,
            )

        return await ForkingReader.confined(self.confinement, job, place)

    async def open(self, directory: Path, limits: CodeLimits) -> KernelSession:
        """See `Sandbox.open`."""
        kernel = await anyio.to_thread.run_sync(importlib.import_module, "bethink.sandbox.kernel")
        return await kernel.open_kernel(self.confinement, directory, limits, scratches=self.scratches)

    async def _done(self, job: Job) -> ConfinedProcess:
        """The process of a job, which has ended in its time or was ended."""
        process = await ConfinedProcess.start(job, self.confinement)
        try:
            async with asyncio.timeout(job.limits.timeout_s):
                await process.ended()
        except TimeoutError:
            process.kill("timed_out")
        finally:
            await process.end("died")
        return process


@asynccontextmanager
async def _temporary(prefix: str) -> AsyncGenerator[Path]:
    """A directory that goes with the block, however often whoever made it is cancelled."""
    place = await made(prefix)
    try:
        yield place
    finally:
        await removed(place)


_ATTEMPTS: Final = """
import os, socket
def read_outside(): return open({canary!r}).read()
def write_outside(): return open({outside!r}, "w")
def list_outside(): return os.listdir({folder!r})
def connect(): return socket.create_connection(("127.0.0.1", {port}), 2)
def start_a_process(): return os.fork() or os._exit(0)
def run_a_program(): return os.execv("/bin/true", ["true"])
def signal_others(): return os.kill(os.getppid() or 1, 0) or True
def see_other_processes(): return [name for name in os.listdir("/proc") if name.isdigit()]
for attempt in (read_outside, write_outside, list_outside, connect, start_a_process, signal_others,
                see_other_processes, run_a_program):
    try:
        attempt()
    except OSError:
        continue
    print("open:", attempt.__name__.replace("_", " "))
open("inside", "w").write({token!r})
print("done")
"""
_LIMITS: Final = CodeLimits(timeout_s=10)


async def fault_of(sandbox: Sandbox, *, with_sessions: bool = False) -> str | None:
    """What is wrong with a sandbox here, as a part of a sentence; None where it holds.

    Takes about 0.2 s; with sessions, which an interpreter is started for, about 1.5 s.
    """
    try:
        # Whoever can connect is let in by the kernel: nobody need answer.
        async with _temporary("bethink-probe-") as place:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                port: int = listener.getsockname()[1]
                fault = await _try(sandbox, place, port, in_session=False)
                if with_sessions and not fault:
                    fault = await _try(sandbox, place, port, in_session=True)
                return fault
    except OSError as error:
        return f"it does not start: {error}"
    except SandboxUnavailable as error:
        return f"no interpreter starts in it: {_last_line(str(error))}"


async def _try(sandbox: Sandbox, place: Path, port: int, *, in_session: bool) -> str | None:
    token = secrets.token_hex(16)
    work, canary = place / "work", place / "canary"

    def lay_out() -> None:
        work.mkdir(exist_ok=True)
        canary.write_text(secrets.token_hex(16))

    await anyio.to_thread.run_sync(lay_out)
    names = {"canary": str(canary), "outside": str(place / "written"), "folder": str(place)}
    tried = _ATTEMPTS.format(port=port, token=token, **names)
    if in_session:
        session = await sandbox.open(work, _LIMITS)
        try:
            outcome = await session.execute(tried, _LIMITS.timeout_s)
        finally:
            await session.close()
    else:
        outcome = await sandbox.run(tried, work, _LIMITS)
    lines = outcome.text.split("\n")
    if opened := [line.removeprefix("open: ") for line in lines if line.startswith("open: ")]:
        return f"code in it could {' and '.join(opened)}"
    if outcome.ending != "finished" or "done" not in lines:
        return f"it does not run code: {_last_line(outcome.text) or outcome.ending}"
    return await anyio.to_thread.run_sync(_fault_outside, place, token)


def _fault_outside(place: Path, token: str) -> str | None:
    if sorted(path.name for path in place.iterdir()) != ["canary", "work"]:
        return "code in it could write outside"
    inside = place / "work" / "inside"
    if inside.is_symlink() or not inside.is_file() or inside.read_text() != token:
        return "code in it cannot write to its own directory"
    return None


def _last_line(text: str) -> str:
    return text.strip().rpartition("\n")[2][:300]


Wanted = Literal["auto", "bubblewrap", "landlock"]

Tried = Callable[["Sandbox"], Awaitable[str | None]]
"""What is wrong with a sandbox for a use of it, as a part of a sentence; None where it serves."""

_ALL: Final[tuple[Confinement, ...]] = (Bubblewrap(), Landlock())


@dataclass(frozen=True, slots=True)
class Choice:
    """The sandbox that holds here, or None; `reasons` says of each that does not, why."""

    sandbox: Sandbox | None
    reasons: tuple[str, ...] = ()


class Walls:
    """The sandbox in which files of strangers are read, chosen when the first one comes. `documents` asks.

    `tried` says whether it holds and reads; a sentence names what is wrong otherwise.
    """

    def __init__(self, wanted: Wanted, data_dir: Path, tried: Tried) -> None:
        self._wanted: Wanted = wanted
        self._data_dir = data_dir
        self._tried = tried
        self._turn = asyncio.Lock()
        self._choice: Choice | None = None

    @property
    def known(self) -> Choice | None:
        """What was chosen; None until a file came."""
        return self._choice

    async def sandbox(self) -> Sandbox | None:
        """The one that holds and reads; None if there is none."""
        async with self._turn:
            if self._choice is None:
                choice = await choose(self._wanted, self._data_dir, with_sessions=False)
                if choice.sandbox is not None and (fault := await self._tried(choice.sandbox)) is not None:
                    choice = Choice(None, (*choice.reasons, f"{choice.sandbox.name}: {fault}"))
                self._choice = choice
            return self._choice.sandbox


async def choose(
    wanted: Wanted, data_dir: Path, scratches: Path | None = None, *, with_sessions: bool = True
) -> Choice:
    """The first of the wanted ones that holds; the namespaces of bubblewrap hide more than Landlock does."""
    if enclosing := await anyio.to_thread.run_sync(encloses, data_dir):
        return Choice(
            None, (f"the data directory lies in {enclosing}, which code may read: move it elsewhere",)
        )
    reasons: list[str] = []
    for confinement in _ALL:
        if wanted not in {"auto", confinement.name}:
            continue
        fault = await anyio.to_thread.run_sync(confinement.missing)
        sandbox = LinuxSandbox(confinement, scratches)
        if fault is None and (fault := await fault_of(sandbox, with_sessions=with_sessions)) is None:
            return Choice(sandbox, tuple(reasons))
        reasons.append(f"{confinement.name}: {fault}")
    return Choice(None, tuple(reasons))
