"""Settings that are changed while Bethink runs: one place changes them, and everything that is made of them.

The page's `/settings` and `bethink settings` ask for a change. It is checked as a whole, kept in the data
directory, and holds from then on, in this process and in all others that work on that directory. What is made
of settings (connections to models, tool servers) is a `Part`: it is made anew before the change is kept, so
that a change with which it cannot be made is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import anyio
import anyio.to_thread
import msgspec
from pydantic import BaseModel, ValidationError

from bethink.errors import BadInput, InvalidSettings, NotAllowed, UnknownId
from bethink.settings.catalogue import HIDDEN, SETTINGS, UNKEPT, Setting, server_written, shown, unhidden
from bethink.settings.kept import SECRET, Kept, KeptFile, SettingChange
from bethink.settings.shapes import McpServer
from bethink.settings.sources import explained, kept_file, origins, parts_of, settings_of
from bethink.settings.values import ValueOrigin
from bethink.telemetry import Supervise, log

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.clock import Clock
    from bethink.principal import Principal
    from bethink.settings.fields import Settings
    from bethink.settings.live import Part, Switch

TOPIC: Final = "settings"
_ADMIN: Final = "admin"
_VARIABLE: Final = re.compile(r"\bBETHINK_[A-Z_]+ is\b")
_log = log("settings")


@dataclass(frozen=True, slots=True)
class SettingState:
    """A setting and what holds: `value` is as JSON, None for a secret."""

    setting: Setting
    value: object
    is_set: bool
    origin: ValueOrigin
    editable: bool
    is_pending: bool


@dataclass(slots=True)
class Configuration:
    """The settings of one app, which hold now, and their changes."""

    settings: Settings
    bus: Bus
    clock: Clock
    name_of: Callable[[str], str] = str
    """An owner's name, by which the log of changes calls them."""
    parts: list[Part] = field(default_factory=list["Part"])
    """What is made of settings, in the order in which it is put in place."""
    heard: list[Callable[[], None]] = field(default_factory=list["Callable[[], None]"], repr=False)
    """Are told once other settings hold."""
    file: KeptFile = field(init=False)
    _kept: Kept = field(default_factory=Kept, init=False)
    _wanted: Settings = field(init=False)
    """What would hold after a new start."""
    _lock: anyio.Lock = field(default_factory=anyio.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        self.file = kept_file(self.settings)
        self._wanted = self.settings.model_copy()

    @asynccontextmanager
    async def opened(self, supervise: Supervise) -> AsyncGenerator[Configuration]:
        """Changes of other processes are heard inside."""
        self._kept = await anyio.to_thread.run_sync(self.file.read)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(supervise, "settings changed elsewhere", self._hear)
            yield self
            tasks.cancel_scope.cancel()

    @contextmanager
    def followed_by(self, other: Configuration, adapt: Callable[[Settings], Settings]) -> Generator[None]:
        """Have an app beside this one follow, with its own settings: what `adapt` makes of these."""

        async def remade(wanted: Settings, changed: AbstractSet[str]) -> Switch:
            adapted = adapt(wanted)
            switches = await other._prepared(adapted, changed)

            async def switch() -> None:
                await other._put_in_place(adapted, changed, switches)

            return switch

        self.parts.append(remade)
        try:
            yield
        finally:
            self.parts.remove(remade)

    def states(self) -> list[SettingState]:
        """All settings, in order."""
        kept = (*self._kept.values, *self._kept.sealed)
        found, pending = origins(self.settings, kept), self.pending()
        return [
            SettingState(
                setting,
                shown(setting, setting.of(self._wanted)),
                is_set=found[name].source != "default" and setting.of(self._wanted) not in (None, ""),
                origin=found[name],
                editable=found[name].source in {"kept", "default"} and name not in UNKEPT,
                is_pending=name in pending,
            )
            for name, setting in SETTINGS.items()
        ]

    def pending(self) -> frozenset[str]:
        """Names of what was changed and holds from the next start."""
        return frozenset(
            name
            for name, one in SETTINGS.items()
            if one.restart and one.of(self._wanted) != one.of(self.settings)
        )

    def origin(self, name: str) -> ValueOrigin:
        """Where a setting comes from."""
        return origins(self.settings, (*self._kept.values, *self._kept.sealed))[name]

    @property
    def changes(self) -> tuple[SettingChange, ...]:
        """The log of changes, the newest first."""
        return self._kept.changes[::-1]

    @property
    def is_dismissed(self) -> bool:
        """Whether the first steps were put away."""
        return self._kept.dismissed

    async def dismiss(self) -> None:
        """Put the first steps away."""

        def write() -> Kept:
            with self.file.locked():
                kept = msgspec.structs.replace(self.file.read(), dismissed=True)
                self.file.write(kept)
            return kept

        async with self._lock:
            self._kept = await anyio.to_thread.run_sync(write)

    async def change(self, principal: Principal, values: Mapping[str, object]) -> AbstractSet[str]:
        """Change settings, all or none; None puts a default back. Gives the names whose value is another one.

        Raises:
            NotAllowed: the principal is no administrator, or a setting is given by something stronger.
            InvalidSettings: a name is unknown or a value is not valid.
            StorageError: it cannot be kept.
        """
        self._check_allowed(principal, values)
        async with self._lock:
            return await self._changed(
                principal, {name: self._written(name, one) for name, one in values.items()}
            )

    async def set_server(
        self, principal: Principal, name: str, server: McpServer | None, *, confirm: str | None = None
    ) -> None:
        """Keep a tool server under a name in place of one that was kept so; None removes it.

        One that runs a command on this machine needs `confirm`, which is exactly that command's line.

        Raises:
            NotAllowed: the principal is no administrator, or the server is set by a file or the environment.
            UnknownId: there is no server of this name to remove.
            BadInput: the command was not confirmed.
        """
        self._check_admin(principal)
        async with self._lock:
            kept = cast("dict[str, Any]", (await anyio.to_thread.run_sync(self._read)).get("mcp_servers", {}))
            if (origin := self.server_origin(name)) is not None and name not in kept:
                raise NotAllowed(f"The server {name} is set by {origin.told}: change it there.")
            if server is None:
                if name not in kept:
                    raise UnknownId(f"There is no MCP server {name[:80]!r}.")
                servers = {key: one for key, one in kept.items() if key != name}
            else:
                whole = unhidden(server, self.settings.mcp_servers.get(name))
                check_confirmed(whole, self.settings.mcp_servers.get(name), confirm)
                servers = kept | {name: server_written(whole)}
            await self._changed(principal, {"mcp_servers": servers or None})

    def server_origin(self, name: str) -> ValueOrigin | None:
        """Where a tool server comes from; None if nothing names it, or only the file of servers."""
        given = parts_of(self.settings.given.values.get("mcp_servers")) or {}
        if name in given:
            return self.settings.given.origins["mcp_servers"]
        if name in self.settings.mcp_servers:
            return ValueOrigin("kept")
        return None

    def _check_admin(self, principal: Principal) -> None:
        if _ADMIN not in principal.rights:
            raise NotAllowed("Only an administrator may change settings.")

    async def _changed(self, principal: Principal, values: Mapping[str, object]) -> AbstractSet[str]:
        by, at = self.name_of(principal.owner), self.clock.now_us()
        before = await anyio.to_thread.run_sync(self._read)
        wanted = _wanted(self.settings, before, values)
        differing = frozenset(n for n, one in SETTINGS.items() if one.of(wanted) != one.of(self._wanted))
        switches = await self._prepared(wanted, differing)
        log_of = [
            SettingChange(at=at, by=by, door=principal.door, name=name, old=old, new=new)
            for name in values
            if (old := _logged(name, self._wanted)) != (new := _logged(name, wanted)) or SETTINGS[name].sealed
        ]

        def write() -> Kept:
            with self.file.locked():
                kept = self.file.with_values(self.file.read(), values, log_of)
                self.file.write(kept)
            return kept

        with anyio.CancelScope(shield=True):
            self._kept = await anyio.to_thread.run_sync(write)
            await self._put_in_place(wanted, differing, switches)
            await self.bus.publish(TOPIC, self.bus.process)
        _log.info("%s changed %s", by, ", ".join(values))
        return differing

    def _check_allowed(self, principal: Principal, names: Collection[str]) -> None:
        self._check_admin(principal)
        if unknown := [name for name in names if name not in SETTINGS]:
            raise InvalidSettings(dict.fromkeys(unknown, "there is no such setting."))
        for name in names:
            origin = self.origin(name)
            if name in UNKEPT:
                variable = f"BETHINK_{name.upper()}"
                raise NotAllowed(f"{name} cannot be changed here: set {variable} and start again.")
            if origin.source not in {"kept", "default"}:
                raise NotAllowed(f"{name} is set by {origin.told}: change it there.")

    def _written(self, name: str, value: object) -> object:
        """The value as it is kept: of tool servers, what was hidden is filled in."""
        if value == HIDDEN and SETTINGS[name].secret:
            raise InvalidSettings({name: "this is the sign for a hidden value, not a value."})
        if name != "mcp_servers" or not isinstance(value, dict):
            return value
        held = self._wanted.mcp_servers
        try:
            given = {
                key: unhidden(McpServer.model_validate(one), held.get(key))
                for key, one in cast("dict[str, Any]", value).items()
            }
        except ValidationError as error:
            raise InvalidSettings({name: explained(error, [])}) from error
        for key, server in given.items():
            check_confirmed(server, held.get(key), None)
        return {key: server_written(server) for key, server in given.items()}

    def _read(self) -> dict[str, Any]:
        return self.file.values(self.file.read())

    async def _prepared(self, wanted: Settings, differing: AbstractSet[str]) -> list[Switch]:
        live = frozenset(name for name in differing if not SETTINGS[name].restart)
        effective = self.settings.model_copy(update=_live(self.settings, wanted, live))
        found: list[Switch] = []
        for part in self.parts:
            try:
                switch = await part(effective, live)
            except NotAllowed:
                raise
            except BadInput as error:
                concerned = sorted(live) or sorted(differing)
                raise InvalidSettings(dict.fromkeys(concerned, _in_page(error.message))) from error
            if switch is not None:
                found.append(switch)
        return found

    async def _put_in_place(
        self, wanted: Settings, differing: AbstractSet[str], switches: list[Switch]
    ) -> None:
        self._wanted = wanted
        self.settings.take(_live(self.settings, wanted, differing))
        for switch in switches:
            await switch()
        for listener in self.heard:
            listener()

    async def _hear(self) -> None:
        async with self.bus.subscribe(TOPIC) as notices:
            async for notice in notices:
                if notice.payload != self.bus.process:
                    await self.reload()

    async def reload(self) -> None:
        """Have what is kept now: another process changed it."""
        async with self._lock:
            kept = await anyio.to_thread.run_sync(self.file.read)
            values = await anyio.to_thread.run_sync(self.file.values, kept)
            wanted = settings_of(self.settings.given, values, forgiving=True)
            differing = frozenset(n for n, one in SETTINGS.items() if one.of(wanted) != one.of(self._wanted))
            switches = await self._prepared(wanted, differing)
            self._kept = kept
            await self._put_in_place(wanted, differing, switches)


def command_line(server: McpServer) -> str:
    """What a tool server runs on this machine, as a shell would take it; empty if it runs nothing."""
    return shlex.join((server.command, *server.args)) if server.command else ""


def check_confirmed(server: McpServer, held: McpServer | None, confirm: str | None) -> None:
    """Refuse a server that would run on this machine what nobody has confirmed.

    Raises:
        BadInput: it would.
    """
    line = command_line(server)
    is_known = held is not None and _runs(server) == _runs(held)
    if line and not is_known and confirm != line:
        raise BadInput(
            f"This runs a program on this machine, with all rights of its user. To allow it, confirm: {line}"
        )


def _runs(server: McpServer) -> tuple[object, ...]:
    """What runs, and what it may reach."""
    reach = (server.sandbox, server.network, server.readable, server.writable)
    return (server.command, server.args, server.cwd, server.env, *reach)


def _wanted(settings: Settings, kept: Mapping[str, Any], values: Mapping[str, object]) -> Settings:
    merged = {name: value for name, value in {**kept, **values}.items() if value is not None}
    faults = {name: fault for name, one in values.items() if (fault := SETTINGS[name].address_fault(one))}
    try:
        wanted = settings_of(settings.given, merged)
    except BadInput as error:
        # Each by itself: which of them is wrong, and how.
        for name, value in values.items():
            try:
                settings_of(settings.given, {} if value is None else {name: value})
            except BadInput as fault:
                faults[name] = _in_page(fault.message.partition(": ")[2] or fault.message)
        raise InvalidSettings(faults or dict.fromkeys(values, error.message)) from error
    if faults:
        raise InvalidSettings(faults)
    return wanted


def _in_page(sentence: str) -> str:
    """What is wrong, for who sees the setting and no variable."""
    return _VARIABLE.sub("It is", sentence.removeprefix("Value error, "))


def _live(settings: Settings, wanted: Settings, differing: AbstractSet[str]) -> dict[str, object]:
    """The fields that hold at once; of one with parts, those parts that need a restart stay as they are."""
    found: dict[str, object] = {}
    for name in differing:
        if SETTINGS[name].restart:
            continue
        head, _, leaf = name.partition(".")
        if not leaf:
            found[head] = getattr(wanted, head)
            continue
        whole = cast("BaseModel", found.get(head, getattr(settings, head)))
        found[head] = whole.model_copy(update={leaf: SETTINGS[name].of(wanted)})
    return found


def _logged(name: str, settings: Settings) -> object:
    """A value as the log of changes tells of it."""
    setting = SETTINGS[name]
    value = setting.of(settings)
    if setting.secret:
        return None if value is None else SECRET
    return shown(setting, value)
