"""The interpreters of all conversations: opened on first use, lent from a pool, closed when nobody asks.

`app` opens one of these, `tools/code` runs code in it, `/health` reads its state.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final, Literal, TypeVar

import anyio
import anyio.to_thread

from bethink.errors import BethinkError, SandboxUnavailable
from bethink.principal import PerKey, Recent
from bethink.sandbox import MIB, REASONS, CodeLimits, Execution, InterpreterSession, Sandbox
from bethink.sandbox.choice import Choice, Wanted, choose
from bethink.sandbox.folder import FolderFile, Print, ReadBounds, changed, prints_of, put, remove
from bethink.telemetry import Supervise, log, recorded

if TYPE_CHECKING:
    from bethink.settings import Settings


_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class WorkingDirectory:
    """A conversation's directory as one process was given it; `is_new` where there was none before."""

    path: Path
    inode: int
    is_new: bool

    def is_there(self) -> bool:
        """Whether it is still the same: not wiped, nor another process's now."""
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Workplaces:
    """Directories in `root`: `work/OWNER/CONVERSATION` stays, `passing/…` goes with its process."""

    root: Path

    @contextlib.contextmanager
    def opened(self) -> Generator[Path]:
        """A directory of this process; what processes left that are no more is removed."""
        passing = self.root / "passing"
        passing.mkdir(parents=True, exist_ok=True, mode=0o700)
        mine = passing / secrets.token_hex(8)
        mine.mkdir(mode=0o700)
        with (mine / _LOCK).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            for other in passing.iterdir():
                if other == mine:
                    continue
                # A process that still lives holds its own.
                with contextlib.suppress(OSError), (other / _LOCK).open("a") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    remove(other)
            yield mine
            remove(mine)

    def of(self, owner: str, conversation: str) -> Path:
        """A conversation's directory; it need not be there."""
        return self.root / "work" / _name(owner) / _name(conversation)

    def spare(self, passing: Path) -> Path:
        """A new, empty directory that a conversation may be given later."""
        spare = passing / f"spare-{secrets.token_hex(8)}"
        spare.mkdir(mode=0o700)
        return spare

    def assign(self, spare: Path, owner: str, conversation: str) -> WorkingDirectory:
        """Make a spare directory, that a process may hold already, a conversation's, with its files."""
        own = self.of(owner, conversation)
        is_new = not own.is_dir()
        own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not is_new:
            for entry in list(os.scandir(own)):
                Path(entry.path).rename(spare / entry.name)
            own.rmdir()
        spare.rename(own)
        return WorkingDirectory(own, own.stat().st_ino, is_new=is_new)

    def wipe(self, owner: str, conversation: str | None = None) -> None:
        """Remove the directory of a conversation, or all of an owner's."""
        remove(self.of(owner, conversation) if conversation else self.root / "work" / _name(owner))


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


_MODULES: Final = ("ipykernel", "jupyter_client")
NOT_INSTALLED: Final = (
    "Code cannot be run: install its parts with `pip install 'bethink[code]'`, then restart."
)
SWITCHED_OFF: Final = "Running code is switched off: BETHINK_CODE_ENABLED."
_STOP_S: Final = 3
_STOP_TRIES: Final = 3
_MOST_FILES_BACK: Final = 20
_MOST_AT_ONCE: Final = 2
"""So many times the longest file is handed on of one call, in all."""
_REMOVED: Final = "its files were removed, or are another process's now"
_log = log("sandbox")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class InterpreterOptions:
    """How interpreters are kept: `most` at once, each closed after `idle_s` unused, `prewarmed` held ready.

    `file_bytes` is the largest file that is handed on.
    """

    wanted: Wanted = "auto"
    limits: CodeLimits = field(default_factory=CodeLimits)
    most: int = 4
    idle_s: float = 900
    prewarmed: int = 0
    enabled: bool = True
    file_bytes: int = 20_000_000


@dataclass(frozen=True, slots=True)
class State:
    """How the sandbox is; `message` says what holds it, or what is wrong and what to do."""

    status: Literal["ok", "off", "loading", "degraded"]
    message: str


@dataclass(frozen=True, slots=True)
class WorkFiles:
    """What lies in the directory, by name, a path in it: what code was `given`, and what it `made`, newest.

    What it made is put there only into a directory that is new.
    """

    given: Mapping[str, Path] = field(default_factory=dict[str, "Path"])
    made: Mapping[str, Path] = field(default_factory=dict[str, "Path"])


NO_FILES: Final = WorkFiles()


@dataclass(frozen=True, slots=True)
class Ran:
    """One execution: its answer, the files it changed, and why state was lost before it, if it was.

    `more_files` changed too, and were not looked at.
    """

    answer: Execution
    files: Sequence[FolderFile]
    lost_before: str | None
    more_files: int = 0


@dataclass(slots=True)
class _Held:
    """A session and the directory it works in."""

    session: InterpreterSession
    directory: Path
    place: WorkingDirectory | None = None
    used: float = 0
    busy: int = 0


_LOST: Final = 1_000
"""Conversations that are still told why their interpreter was closed."""


class Interpreters:
    """See the module. Use it within `opened`."""

    _supervise: Supervise

    def __init__(self, places: Workplaces, data_dir: Path, options: InterpreterOptions) -> None:
        self.options = options
        self._places = places
        self._data_dir = data_dir
        self._choice: asyncio.Future[Choice] | None = None
        self._passing: Path | None = None
        self._held: dict[tuple[str, str], _Held] = {}
        self._turns = PerKey[tuple[str, str], asyncio.Lock](asyncio.Lock)
        self._lost = Recent[tuple[str, str], str](_LOST)
        self._spare: list[_Held] = []
        self._wanted = asyncio.Event()
        self._wiping: set[asyncio.Task[None]] = set()
        self._working: asyncio.Task[None] | None = None
        self._is_open = False
        self._fault: str | None = None

    @asynccontextmanager
    async def opened(self, supervise: Supervise) -> AsyncGenerator[Interpreters]:
        """At work: the sandbox is chosen once somebody asks; every process ends with this."""
        self._supervise = supervise
        self._choice = asyncio.get_running_loop().create_future()
        self._is_open = True
        are_there = await anyio.to_thread.run_sync(lambda: all(find_spec(name) for name in _MODULES))
        if not are_there:
            self._choice.set_result(Choice(None))
            yield self
            return
        if self.options.enabled and self.options.prewarmed:
            self._begin()
        # No task group: one would wrap whatever is raised where this is used.
        try:
            yield self
        finally:
            self._is_open = False
            with anyio.CancelScope(shield=True):
                if self._working is not None:
                    await _stopped(self._working)
                if self._wiping:
                    await asyncio.wait(self._wiping, timeout=_STOP_S)

    @property
    def state(self) -> State:
        """How the sandbox is now; asking has it tried, if nobody has before."""
        if not self.options.enabled:
            return State("off", SWITCHED_OFF)
        self._begin()
        if self._choice is None or not self._choice.done():
            return State("loading", "The sandbox is being tried.")
        choice = self._choice.result()
        if choice.sandbox is not None and self._fault is not None:
            return State("degraded", f"No interpreter started in {choice.sandbox.name} last: {self._fault}")
        if choice.sandbox is not None:
            beside = f" ({'; '.join(choice.reasons)})" if choice.reasons else ""
            return State("ok", f"Code runs in {choice.sandbox.name}{beside}.")
        if not choice.reasons:
            return State("off", NOT_INSTALLED)
        return State("degraded", f"Code cannot be run: no sandbox works here. {'; '.join(choice.reasons)}.")

    @property
    def may_run(self) -> bool:
        """Whether code can be run, as far as is known: one that did not start may do so the next time."""
        status = self.state.status
        return status in {"ok", "loading"} or (status == "degraded" and self._fault is not None)

    async def execute(
        self, owner: str, conversation: str, code: str, *, files: WorkFiles = NO_FILES, timeout_s: float
    ) -> Ran:
        """Run code where the conversation's last left off, with `files` in its directory by their names.

        Raises:
            SandboxUnavailable: there is no sandbox, the interpreter does not start, or all are at work.
        """
        key = (owner, conversation)
        async with self._turns[key]:
            held = await self._of(key)
            held.busy += 1
            try:
                lost = self._lost.pop(key)
                before = await anyio.to_thread.run_sync(self._lay_out, held, files)
                answer = await held.session.execute(code, timeout_s)
                found, more = list[FolderFile](), 0
                if answer.ending != "out_of_disk":
                    most = self.options.file_bytes
                    look = partial(
                        changed,
                        held.directory,
                        before,
                        most_files=self.options.limits.files,
                        bounds=ReadBounds(_MOST_FILES_BACK, most, _MOST_AT_ONCE * most),
                    )
                    found, more = await anyio.to_thread.run_sync(look)
            finally:
                held.busy -= 1
                held.used = monotonic()
            if answer.lost:
                await self._drop(key, None)
            if answer.ending == "out_of_disk":
                await anyio.to_thread.run_sync(self._places.wipe, *key)
            return Ran(answer, found, lost, more)

    async def once(
        self, code: str, limits: CodeLimits, *, lay_out: Callable[[Path], None], take: Callable[[Path], T]
    ) -> tuple[Execution, T]:
        """Run code once in a directory of its own: `lay_out` fills it, `take` looks at what is left.

        Raises:
            SandboxUnavailable: there is no sandbox.
        """
        sandbox, directory = await self._room()
        try:
            await anyio.to_thread.run_sync(lay_out, directory)
            outcome = await sandbox.run(code, directory, limits)
            return outcome, await anyio.to_thread.run_sync(take, directory)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(remove, directory)

    def wipe_soon(self, owner: str, conversation: str) -> None:
        """Have one conversation wiped in the background."""

        async def wiped() -> None:
            with recorded(_log, "what code left of a conversation could not be removed"):
                await self.wipe(owner, conversation)

        task = asyncio.create_task(wiped())
        self._wiping.add(task)
        task.add_done_callback(self._wiping.discard)

    async def wipe(self, owner: str, conversation: str | None = None) -> None:
        """End what an owner has here, or one conversation of theirs, and remove its files."""
        for key in [key for key in self._held if key[0] == owner and conversation in {None, key[1]}]:
            await self._drop(key, None)
        await anyio.to_thread.run_sync(self._places.wipe, owner, conversation)

    async def _of(self, key: tuple[str, str]) -> _Held:
        """The conversation's interpreter, a new one where it has none that lives."""
        if (held := self._held.get(key)) is not None:
            is_there = held.place is not None and await anyio.to_thread.run_sync(held.place.is_there)
            if held.session.is_alive and is_there:
                return held
            await self._drop(key, f"{REASONS['died']} meanwhile" if is_there else _REMOVED)
        await self._make_room()
        held = self._spare.pop() if self._spare else await self._new()
        self._wanted.set()
        try:
            held.place = await anyio.to_thread.run_sync(self._places.assign, held.directory, *key)
        except OSError as error:
            await held.session.close()
            raise SandboxUnavailable(f"The directory for code cannot be made: {error}") from error
        held.directory = held.place.path
        self._held[key] = held
        return held

    async def _room(self) -> tuple[Sandbox, Path]:
        if not self.options.enabled:
            raise SandboxUnavailable(SWITCHED_OFF)
        self._begin()
        choice = await asyncio.shield(self._choice) if self._choice is not None else Choice(None)
        if choice.sandbox is None or self._passing is None:
            raise SandboxUnavailable(self.state.message)
        return choice.sandbox, await anyio.to_thread.run_sync(self._places.spare, self._passing)

    async def _new(self) -> _Held:
        sandbox, directory = await self._room()
        try:
            session = await sandbox.open(directory, self.options.limits)
        except SandboxUnavailable as error:
            self._fault = str(error)
            raise
        self._fault = None
        return _Held(session, directory, used=monotonic())

    async def _make_room(self) -> None:
        """Close the interpreter that was unused for longest, where there are as many as may be."""
        if len(self._held) < self.options.most:
            return
        idle = [(held.used, key) for key, held in self._held.items() if not held.busy]
        if not idle:
            raise SandboxUnavailable(
                f"All {self.options.most} interpreters are in use: try again when one has finished."
            )
        await self._drop(min(idle)[1], "its place was needed for another conversation")

    async def _drop(self, key: tuple[str, str], reason: str | None) -> None:
        held = self._held.pop(key, None)
        if held is None:
            return
        if reason is not None:
            self._lost[key] = reason
        await held.session.close()

    async def _work(self) -> None:
        opening = self._places.opened()
        try:
            self._passing = await anyio.to_thread.run_sync(opening.__enter__)
        except OSError as error:
            self._chosen(Choice(None, (f"its directory cannot be used: {error}",)))
            return
        try:
            choice = Choice(None, ("trying one failed unexpectedly; the log says why",))
            with recorded(_log, "no sandbox could be chosen"):
                choice = await choose(self.options.wanted, self._data_dir, self._passing)
            self._chosen(choice)
            if choice.sandbox is None:
                return
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._supervise, "interpreters held ready", self._fill_pool)
                tasks.start_soon(self._supervise, "interpreters that are unused", self._reap)
        finally:
            with anyio.CancelScope(shield=True):
                everything = [*self._held.values(), *self._spare]
                self._held.clear()
                self._spare.clear()
                for held in everything:
                    await held.session.close()
                await anyio.to_thread.run_sync(opening.__exit__, None, None, None)

    def _begin(self) -> None:
        if self._working is None and self._is_open and self._choice is not None and not self._choice.done():
            self._working = asyncio.create_task(self._work())

    def _chosen(self, choice: Choice) -> None:
        if self._choice is not None:
            self._choice.set_result(choice)
        if choice.sandbox is None:
            _log.warning("%s", self.state.message)

    async def _fill_pool(self) -> None:
        while self.options.prewarmed:
            self._wanted = asyncio.Event()
            try:
                while len(self._spare) < self.options.prewarmed:
                    self._spare.append(await self._new())
            except BethinkError as error:
                _log.warning("no interpreter is held ready: %s", error)
                return
            await self._wanted.wait()

    async def _reap(self) -> None:
        while True:
            await anyio.sleep(self.options.idle_s / 4)
            now = monotonic()
            for key, held in list(self._held.items()):
                if not held.busy and now - held.used > self.options.idle_s:
                    await self._drop(key, f"nothing ran in it for {self.options.idle_s / 60:g} minutes")

    def _lay_out(self, held: _Held, files: WorkFiles) -> dict[str, Print]:
        """Put in what is new, and how everything looks then. A file that code has changed stays as it is."""
        directory, most = held.directory, self.options.limits.files
        before = prints_of(directory, most)
        wanted = dict(files.given)
        if held.place is not None and held.place.is_new:
            # What code made, as it last was; else it lies there, or code removed it.
            wanted |= files.made
            held.place = replace(held.place, is_new=False)
        for name, source in wanted.items():
            if name in before:
                continue
            try:
                put(directory, name, source)
            except OSError as error:
                # Its content may be gone meanwhile; a name of it may be a directory there.
                _log.warning("a file is not laid out for code: %s", error)
        return prints_of(directory, most) if wanted else before


async def _stopped(task: asyncio.Task[None]) -> None:
    """Cancel a task until it ends: whatever one cancellation leaves it waiting for, the next one ends."""
    for _ in range(_STOP_TRIES):
        task.cancel()
        await asyncio.wait({task}, timeout=_STOP_S)
        if task.done():
            return
    _log.error("the sandbox does not end: a process that it began may be left over")


def options_of(settings: Settings) -> InterpreterOptions:
    """How the settings have interpreters kept."""
    limits = CodeLimits(
        timeout_s=settings.code_timeout_s,
        memory_bytes=settings.code_memory_mb * MIB,
        disk_bytes=settings.code_disk_mb * MIB,
        output_chars=settings.code_output_chars,
    )
    return InterpreterOptions(
        wanted=settings.code_sandbox,
        limits=limits,
        most=settings.code_interpreters,
        idle_s=settings.code_idle_s,
        prewarmed=settings.code_prewarmed,
        enabled=settings.code_enabled,
        file_bytes=settings.max_file_bytes,
    )


@asynccontextmanager
async def open_interpreters(settings: Settings, supervise: Supervise) -> AsyncGenerator[Interpreters]:
    """The interpreters that the settings ask for, at work.

    Where code is switched off they run nothing, and still wipe what it left.
    """
    places = Workplaces(settings.data_dir / "code")
    interpreters = Interpreters(places, settings.data_dir, options_of(settings))
    async with interpreters.opened(supervise):
        yield interpreters
