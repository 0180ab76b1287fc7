"""Whole programs in a sandbox: servers of tools that somebody else wrote. `tools/mcp` starts them here.

Unlike code they bring an interpreter of their own, start other programs and may need the network. So they
see what is installed on the machine, the places that their command names, and a folder of their own; not the
rest of anybody's files, no other program's processes or sockets, and no port of Bethink's.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import socket
from asyncio.subprocess import DEVNULL, PIPE, STDOUT
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio.to_thread

from bethink.child_process import ChildProcess
from bethink.errors import SandboxUnavailable
from bethink.sandbox.confinement import Bubblewrap, Landlock, guest_command, machine, readable_for_guest
from bethink.sandbox.folder import made, removed
from bethink.sandbox.seccomp import program_filter

if TYPE_CHECKING:
    from bethink.sandbox.choice import Wanted


_INSTALLED: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/nix/store", "/snap")
"""Programs and their libraries; nobody's files."""
_CONFIGURED: Final = tuple(
    f"/etc/{name}"
    for name in (
        *("ssl", "pki", "ca-certificates", "ca-certificates.conf", "crypto-policies", "resolv.conf", "hosts"),
        *("host.conf", "nsswitch.conf", "gai.conf", "protocols", "services", "localtime", "timezone"),
        *("passwd", "group", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "fonts"),
        *("mime.types", "os-release", "npmrc", "pip.conf", "uv"),
    )
)
"""What programs look up: names, authorities, time zones, and where packages come from."""
_BEHIND_BIN: Final = (
    *("lib", "lib64", "libexec", "share", "include"),
    *("versions", "version", "tools", "installs", "pyvenv.cfg"),
)
"""What lies beside a folder of programs and belongs to it; keys of a registry would lie there, too."""
_SHIMS: Final = frozenset({"bin", "shims", "scripts"})
_RUNTIMES: Final = ("node", "python3", "uv", "bun", "deno")
"""Found by the programs themselves, as by `#!/usr/bin/env node`."""
_PROJECT: Final = ("package.json", "pyproject.toml", "node_modules", ".venv")
_UNNAMED: Final = frozenset({"HOME", "PATH", "SHELL", "TMPDIR"})
_SYSTEM: Final = tuple(map(Path, ("/proc", "/dev", "/sys", *_INSTALLED)))
_LEAST_LANDLOCK: Final = 3
"""Older ones let a program empty files that it may only read."""


@dataclass(frozen=True, slots=True)
class Program:
    """A command, and what it may reach besides what is installed. `folder` is its own: home, caches, results.

    What its arguments, variables and `cwd` name is open to it, as are the `writable` places.
    """

    command: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    cwd: Path | None = None
    network: bool = False
    readable: Sequence[Path] = ()
    writable: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Enclosed:
    """How to start it: a command and its variables, in any directory."""

    command: tuple[str, ...]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProgramView:
    """The places that a program sees, as they are on this machine, none of them twice."""

    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    hidden: Path | None
    """The data directory, where a place that is open holds it."""


@dataclass(slots=True)
class Programs:
    """Starts programs in the sandbox of this machine, which is tried once, by the first of them.

    Nothing of `data_dir` is open to any of them but its own folder, nor is the port `closed_port` of this
    machine (from Landlock 4 on, Linux 6.7): whoever calls there may be taken for the owner.
    """

    wanted: Wanted
    data_dir: Path
    closed_port: int = 0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _found: Bubblewrap | Landlock | None = None
    _reasons: tuple[str, ...] | None = None

    async def sandbox(self) -> str | None:
        """The name of what confines programs here; None if nothing does, which `reasons` explain."""
        async with self._turn:
            if self._reasons is None:
                self._found, self._reasons = await self._chosen()
            return None if self._found is None else self._found.name

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why one or the other sandbox does not work here, as far as they were tried."""
        return self._reasons or ()

    async def enclosed(self, program: Program) -> Enclosed:
        """How to start a program in the sandbox.

        Raises:
            FileNotFoundError: there is no such program.
            SandboxUnavailable: there is no sandbox, or the program names what it must not have.
        """
        await self.sandbox()
        if self._found is None:
            why = "; ".join(self.reasons)
            raise SandboxUnavailable(
                f"No sandbox for programs works here ({why}). With `sandbox = false` it runs without one."
            )
        return await anyio.to_thread.run_sync(self._put_in, self._found, program)

    def _put_in(self, confinement: Bubblewrap | Landlock, program: Program) -> Enclosed:
        program.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        program = replace(program, folder=program.folder.resolve())
        temporary = program.folder / "tmp"
        temporary.mkdir(exist_ok=True, mode=0o700)
        view = view_of(program, self.data_dir)
        env = {**program.env, "TMPDIR": str(temporary), "HOME": str(program.folder)}
        if not program.network:
            # What was downloaded before is started without asking whether it is the newest.
            env = {"npm_config_offline": "true", "UV_OFFLINE": "1", **env}
        closed_port = self.closed_port if program.network else 0
        if isinstance(confinement, Bubblewrap):
            walls = confinement.walls(own_network=not program.network)
            start = [*walls, *_mounts(view, temporary), "--chdir", "/", "--"]
            rules = Landlock().rules_for_programs((), (), network=program.network, closed_port=closed_port)
            orders = _orders(program, rules, own_network=not program.network)
        else:
            if view.hidden is not None:
                raise SandboxUnavailable(
                    f"It would see Bethink's own data in {view.hidden}: name a place that does not hold it."
                )
            places = view.readable, view.writable
            rules = confinement.rules_for_programs(*places, network=program.network, closed_port=closed_port)
            start, orders = [], _orders(program, rules, own_network=False) | {"parent": os.getpid()}
        return Enclosed((*start, *guest_command(), json.dumps(orders)), env)

    async def _chosen(self) -> tuple[Bubblewrap | Landlock | None, tuple[str, ...]]:
        reasons: list[str] = []
        for confinement in _of_kind(self.wanted):
            fault = await anyio.to_thread.run_sync(_missing, confinement)
            if fault is None and (fault := await self._fault_of(confinement)) is None:
                return confinement, tuple(reasons)
            reasons.append(f"{confinement.name}: {fault}")
        return None, tuple(reasons)

    async def _fault_of(self, confinement: Bubblewrap | Landlock) -> str | None:
        """What is wrong with a sandbox here, as a part of a sentence; None if a program finds no way out."""
        place = await made("bethink-program-")
        try:
            with socket.create_server(("127.0.0.1", 0)) as listener:
                port: int = listener.getsockname()[1]
                return await self._tried(confinement, place, port)
        except (OSError, SandboxUnavailable) as error:
            return f"no program starts in it: {error}"
        finally:
            await removed(place)

    def _trial(self, confinement: Bubblewrap | Landlock, place: Path, port: int) -> Enclosed:
        canary, outside = place / "canary", place / "written"
        canary.write_text("seen", encoding="utf-8")
        attempts = _ATTEMPTS.format(canary=str(canary), outside=str(outside), port=port)
        command = [str(readable_for_guest()[0]), "-I", "-S", "-c", attempts]
        return self._put_in(confinement, Program(command, {"PATH": os.defpath}, place / "own"))

    async def _tried(self, confinement: Bubblewrap | Landlock, place: Path, port: int) -> str | None:
        enclosed = await anyio.to_thread.run_sync(self._trial, confinement, place, port)
        child = ChildProcess.opened(
            *enclosed.command,
            env=enclosed.env,
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=STDOUT,
            start_new_session=True,
        )
        async with child as process, asyncio.timeout(_TRIAL_S):
            assert process.stdout is not None  # noqa: S101 - it was asked for
            said = (await process.stdout.read(_TRIAL_BYTES)).decode(errors="replace").strip()
        lines = said.split("\n")
        if await anyio.to_thread.run_sync((place / "written").exists):
            lines.append("open: write outside")
        if opened := [line.removeprefix("open: ") for line in lines if line.startswith("open: ")]:
            return f"a program in it could {' and '.join(opened)}"
        return None if lines[-1] == "done" else f"no program runs in it: {lines[-1][:300]}"


def may_hold(wanted: Wanted) -> bool:
    """Whether this machine seems to have a sandbox for programs; looks for files and starts nothing."""
    return any(_missing(confinement) is None for confinement in _of_kind(wanted))


def _of_kind(wanted: Wanted) -> list[Bubblewrap | Landlock]:
    return [one for one in (Bubblewrap(), Landlock()) if wanted in {"auto", one.name}]


def _missing(confinement: Bubblewrap | Landlock) -> str | None:
    fault = confinement.missing()
    if fault is None and isinstance(confinement, Landlock) and confinement.version_here() < _LEAST_LANDLOCK:
        return "this kernel's Landlock is too old for programs: it takes Linux 6.2"
    return fault


_TRIAL_S: Final = 10
_TRIAL_BYTES: Final = 10_000
_ATTEMPTS: Final = """
import os, socket
def read_outside(): open({canary!r}).read()
def connect(): socket.create_connection(("127.0.0.1", {port}), 2)
for attempt in (read_outside, connect):
    try:
        attempt()
    except OSError:
        continue
    print("open:", attempt.__name__.replace("_", " "))
try:
    # What is told as written may lie in a folder of its own that is only called alike.
    open({outside!r}, "w").close()
except OSError:
    pass
open(os.path.join(os.environ["HOME"], "inside"), "w").close()
print("done")
"""


def view_of(program: Program, data_dir: Path) -> ProgramView:
    """What a program sees. Reads the file system: call it from a thread.

    Raises:
        FileNotFoundError: there is no such program.
        SandboxUnavailable: it names what lies in the data directory, or the whole machine.
    """
    found = shutil.which(program.command[0], path=program.env.get("PATH"))
    if found is None:
        raise FileNotFoundError(2, "no such program", program.command[0])
    data, own = data_dir.resolve(), program.folder
    writable, readable = set(_expanded(program.writable)), set(_expanded(program.readable))
    for place, projects in _named(program):
        writable.add(place)
        readable |= {one for one in projects if one not in data.parents}
    for place in writable | readable:
        if place == Path("/"):
            raise SandboxUnavailable("It names the whole machine: `sandbox = false` runs it without one.")
        if place != own and (place == data or data in place.parents):
            raise SandboxUnavailable(f"It names {place}, which is Bethink's own data.")
    installed = set(_places_of(Path(found), program.env.get("PATH", "")))
    readable |= {Path(one) for one in (*_INSTALLED, *_CONFIGURED)} | set(readable_for_guest())
    readable |= {place for place in installed if not _is_wide(place)}
    seen = {place for place in readable if place.exists()}
    seen = {place for place in seen if seen.isdisjoint(place.parents)}
    opened = {own, *(place for place in writable if place.exists())}
    holds_data = any(place == data or place in data.parents for place in seen | opened)
    return ProgramView(tuple(sorted(seen)), tuple(sorted(opened)), data if holds_data else None)


def _expanded(places: Iterable[Path]) -> Iterator[Path]:
    return (place.expanduser().absolute() for place in places)


def _places_of(found: Path, path: str) -> Iterator[Path]:
    """Where a program and what it starts by name are installed."""
    yield from (Path(entry) for entry in path.split(os.pathsep) if entry.startswith("/"))
    for program in (found, *(Path(one) for name in _RUNTIMES if (one := shutil.which(name, path=path)))):
        # The `python` of a virtual environment is a link, and so may be what leads into one.
        for step in itertools.chain(_links(program), _links(program.parent / "python")):
            for one in (step, step.resolve()):
                yield one
                yield one.parent
                if one.parent.name in _SHIMS:
                    yield from (one.parent.parent / name for name in _BEHIND_BIN)


def _links(path: Path) -> Iterator[Path]:
    """The path, and what each link on the way to the file names."""
    for _ in range(40):
        yield path
        try:
            path = path.parent / path.readlink()
        except OSError:
            return


def _named(program: Program) -> Iterator[tuple[Path, set[Path]]]:
    """The places that a command names: what it may write to, and the projects that lie around."""
    if program.cwd is not None:
        place = program.cwd.expanduser().absolute()
        yield place, _projects(place)
    for argument in program.command[1:]:
        for text in (argument, argument.partition("=")[2]):
            if (place := _place(text)) is not None:
                yield place if place.is_dir() or _is_wide(place.parent) else place.parent, _projects(place)
    for name, text in program.env.items():
        place = None if name in _UNNAMED else _place(text)
        if place is not None and place not in program.readable:
            yield place, set()


def _place(text: str) -> Path | None:
    """The place that a text names; where there is nothing yet, that in which it would be."""
    if not text.startswith(("/", "~/")) or len(text) > _LONGEST or "\0" in text:
        return None
    place = Path(os.path.normpath(Path(text).expanduser()))
    if any(place == one or one in place.parents for one in (*_SYSTEM, Path("/etc"))):
        return None
    if place.exists():
        return place
    return place.parent if place.parent.is_dir() and not _is_wide(place.parent) else None


_LONGEST: Final = 4_000


def _is_wide(place: Path) -> bool:
    """Whether a folder holds far more than what somebody names in it."""
    home = Path.home()
    return place in {home, *home.parents, Path("/tmp"), Path("/var/tmp")}  # noqa: S108 - named, not used


def _projects(place: Path) -> set[Path]:
    """Folders above a script that its modules are looked for in."""
    around = [one for one in place.parents if not _is_wide(one)]
    return {one for one in around if any((one / mark).exists() for mark in _PROJECT)}


def _mounts(view: ProgramView, temporary: Path) -> list[str]:
    """Arguments of `bwrap`: the places in an order in which what lies in another one comes after it."""
    arguments = ["--proc", "/proc", "--dev", "/dev", "--bind", str(temporary), "/tmp"]  # noqa: S108 - its own
    kinds = dict.fromkeys(view.readable, "--ro-bind") | dict.fromkeys(view.writable, "--bind")
    kinds |= {view.hidden: "--tmpfs"} if view.hidden else {}
    for place, kind in sorted(kinds.items()):
        if kind == "--tmpfs":
            arguments += ["--size", str(_HIDDEN_BYTES), kind, str(place)]
        elif kind == "--ro-bind" and _is_link(place):
            arguments += ["--symlink", str(place.readlink()), str(place)]
        else:
            arguments += [kind, str(place.resolve()), str(place)]
    closed = [Path("/"), *([view.hidden] if view.hidden else [])]
    return [*arguments, *(part for place in closed for part in ("--remount-ro", str(place)))]


_HIDDEN_BYTES: Final = 1 << 20
"""Of what lies over the data directory: only the way to a program's own folder is in it."""


def _is_link(place: Path) -> bool:
    """Whether a place is a link at the top, as `/bin` is; others are what they lead to."""
    return place.parent == Path("/") and place.is_symlink()


def _orders(program: Program, rules: dict[str, Any] | None, *, own_network: bool) -> dict[str, Any]:
    this = machine()
    if this is None:
        raise SandboxUnavailable("There is no sandbox for this machine.")
    calls = program_filter(this, network=program.network, own_network=own_network)
    return {
        "directory": str(program.cwd or program.folder),
        "limits": {"RLIMIT_CORE": 0},
        "parent": 0,
        "forks": False,
        "landlock": rules,
        "filter": {"program": calls.hex(), "pid_at": [], "group_at": []},
        "path": [],
        "program": _START,
        "command": list(program.command),
    }


_START: Final = """
import os, sys
command = orders["command"]
try:
    os.execvp(command[0], command)
except OSError as error:
    sys.exit(f"{command[0]} cannot be started: {error.strerror}")
"""
