"""Watches the files of all vaults, so that what a person saves is recalled within a second. `serve` runs it.

One process of those that share the data watches, by lease; another takes over
when it ends. Where the system tells nothing of changes, the files are compared
every few seconds instead, and that is said.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.errors import BethinkError
from bethink.folder_changes import changes_below
from bethink.principal import LOCAL_OWNER
from bethink.store import owners_of
from bethink.telemetry import log, recorded
from bethink.vault.files.paths import is_page, normal
from bethink.vault.files.records import VAULTS

if TYPE_CHECKING:
    from anyio.abc import TaskGroup

    from bethink.bus import Bus
    from bethink.vault.service import Vault

_LEASE: Final = "vault-watching"
_LEASE_S: Final = 15.0
_LOOK_S: Final = 2.0
"""How often it is looked whether a vault was made or removed, and the lease renewed."""
_COMPARE_S: Final = 5.0
_SURE_S: Final = 300.0
"""How often all files are compared all the same: a swamped system does not tell everything (inotify(7))."""
_MANY: Final = 1_000
"""Of so many changes at once some may not have been told."""
_log = log("vault")


@dataclass(slots=True)
class FolderWatcher:
    """Keeps what is known of all vaults up with their files. `fault` says why changes are not told."""

    vault: Vault
    bus: Bus
    fault: str | None = None
    _roots: Mapping[Path, str] = field(default_factory=dict[Path, str])
    _behind: set[str] = field(default_factory=set[str])
    _others: set[str] = field(default_factory=set[str])
    """Owners whose folder is not here."""

    def watches(self, owner: str) -> bool:
        """Whether this process watches the owner's files now."""
        return owner in self._roots.values()

    async def watch(self) -> None:
        """Watch for ever; what fails is logged and tried again."""
        if not (self.vault.settings.enabled and self.vault.settings.watch):
            return
        try:
            while True:
                await self._watch_once()
                self._roots = {}
                await anyio.sleep(_LOOK_S)
        finally:
            self._roots = {}
            with anyio.CancelScope(shield=True):
                await self.bus.release(_LEASE)

    async def _watch_once(self) -> None:
        """Watch the vaults that there are, until there are others or another process watches."""
        with recorded(_log, "the vaults are not watched for a moment"):
            if self._others and not await self._there():
                # Another machine may have the right folders.
                await self.bus.release(_LEASE)
                return
            roots = await self._there() if await self.bus.claim(_LEASE, _LEASE_S) else {}
            if not roots:
                return
            self._roots = roots
            ended = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._follow, roots, ended, tasks)
                tasks.start_soon(self._keep, roots, ended)

    async def _keep(self, roots: Mapping[Path, str], ended: anyio.Event) -> None:
        """Hold the lease, take in what could not be before, and end when others are to be watched."""
        due = anyio.current_time() + _SURE_S
        try:
            while not ended.is_set():
                await anyio.sleep(_LOOK_S)
                if not await self.bus.claim(_LEASE, _LEASE_S) or await self._there() != roots:
                    return
                if anyio.current_time() >= due:
                    self._behind.update(roots.values())
                    due = anyio.current_time() + _SURE_S
                for owner in sorted(self._behind):
                    await self._sync(owner, None)
        finally:
            ended.set()

    async def _follow(self, roots: Mapping[Path, str], ended: anyio.Event, tasks: TaskGroup) -> None:
        """Take in what the system tells of."""
        try:
            async with aclosing(changes_below(roots, ended)) as changes:
                async for some in changes:
                    if some is None:
                        tasks.start_soon(self._sync_all, roots)
                    else:
                        self.fault = None
                        await self._take_in(roots, some)
        except (OSError, RuntimeError) as error:
            self.fault = f"Changes of files are detected only every {_COMPARE_S:g} seconds: {error}"
            _log.warning("%s", self.fault)
            while not ended.is_set():
                await anyio.sleep(_COMPARE_S)
                await self._sync_all(roots)

    async def _sync_all(self, roots: Mapping[Path, str]) -> None:
        for owner in roots.values():
            await self._sync(owner, None)

    async def _take_in(self, roots: Mapping[Path, str], changed: Iterable[Path]) -> None:
        paths_by_root: defaultdict[Path, set[str]] = defaultdict(set)
        for file in changed:
            root = next((root for root in roots if file.is_relative_to(root)), None)
            if root is None:
                continue
            inside = file.relative_to(root)
            if not any(part.startswith(".") for part in inside.parts):
                paths_by_root[root].add(inside.as_posix())
        for root, inside in paths_by_root.items():
            whole = len(inside) > _MANY or await self._has_folder(root, roots[root], inside)
            pages = {normal(path) for path in inside if is_page(path.rpartition("/")[2])}
            await self._sync(roots[root], None if whole else pages)

    async def _has_folder(self, root: Path, owner: str, inside: Iterable[str]) -> bool:
        """Whether one of these is a folder, or was one, whatever it is called: its pages come or go."""

        def look() -> tuple[bool, list[str]]:
            is_any = any((root / path).is_dir() for path in inside)
            return is_any, [path for path in inside if not (root / path).exists()]

        is_any, gone = await anyio.to_thread.run_sync(look)
        if is_any or not gone:
            return is_any
        beginnings = tuple(f"{normal(path)}/" for path in gone)
        return any(path.startswith(beginnings) for path in await self.vault.pages(owner))

    async def _sync(self, owner: str, paths: set[str] | None) -> None:
        if paths is not None and not paths:
            return
        try:
            synced = await self.vault.sync(owner, paths)
        except BethinkError as error:
            _log.warning("a vault could not be read, and is tried again: %s", error)
            self._behind.add(owner)
            if await self.vault.folder_fault(owner) is not None:
                self._others.add(owner)
        else:
            if paths is None:
                self._behind.discard(owner)
            if synced.is_news:
                _log.info("took in %d pages, %d moved, %d lost", synced.taken, synced.moved, synced.lost)

    async def _there(self) -> dict[Path, str]:
        """The folders that there are, with whose they are."""
        owners = [LOCAL_OWNER, *[owner async for owner in owners_of(self.vault.context.store, VAULTS)]]
        self._others = {owner for owner in self._others if await self.vault.folder_fault(owner)}
        roots = {self.vault.root(owner): owner for owner in owners if owner not in self._others}

        def existing() -> dict[Path, str]:
            return {root.resolve(): owner for root, owner in roots.items() if root.is_dir()}

        return await anyio.to_thread.run_sync(existing)
