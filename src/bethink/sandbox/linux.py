"""The sandbox on Linux, over either confinement: one-shot here, sessions in `kernel`."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import anyio.to_thread

from bethink.sandbox import Outcome, places
from bethink.sandbox.confinement import Job
from bethink.sandbox.folder import remove
from bethink.sandbox.process import ConfinedProcess

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.sandbox import Ending, Limits
    from bethink.sandbox.confinement import Confinement
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

    async def run(self, code: str, directory: Path, limits: Limits) -> Outcome:
        """See `Sandbox.run`. Cancelling kills the process."""
        job = Job(directory, limits, "guest_run.py", orders={"code": code})
        process = await ConfinedProcess.start(job, self.confinement)
        try:
            async with asyncio.timeout(limits.timeout_s):
                await process.ended()
        except TimeoutError:
            process.kill("timed_out")
        finally:
            await process.end("died")
        return Outcome(process.text, process.ending or _ending_of(process.exit_code), process.exit_code)

    async def read(self, source: BinaryIO, command: Sequence[str], limits: Limits) -> bytes:
        """See `Sandbox.read`."""
        directory = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, "", "bethink-read-"))
        orders = {"command": list(command), "own": str(places.own_modules())}
        job = Job(
            directory, limits, "guest_module.py", with_packages=True, source=source.fileno(), orders=orders
        )
        try:
            process = await ConfinedProcess.start(job, self.confinement)
            try:
                async with asyncio.timeout(limits.timeout_s):
                    await process.ended()
            except TimeoutError:
                process.kill("timed_out")
            finally:
                await process.end("died")
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove, directory)
        return process.head

    async def open(self, directory: Path, limits: Limits) -> KernelSession:
        """See `Sandbox.open`."""
        kernel = await anyio.to_thread.run_sync(importlib.import_module, "bethink.sandbox.kernel")
        return await kernel.open_kernel(self.confinement, directory, limits, scratches=self.scratches)


def _ending_of(exit_code: int | None) -> Ending:
    if exit_code == 0:
        return "finished"
    return "died" if exit_code is None or exit_code < 0 or exit_code > _KILLED_BY_SHELL else "failed"
