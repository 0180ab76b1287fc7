"""Looks at watched folders when the system says that something changed in them. `serve` runs it.

One process of those that share the data watches, by lease. Where the system tells nothing of changes, the
folders are looked at every few seconds instead, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.documents.records import FOLDERS, WatchedFolder
from bethink.errors import BethinkError, UnknownId
from bethink.folder_changes import changes_below
from bethink.store import owners_of
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from bethink.bus import Bus
    from bethink.documents.folders import Folders

_LEASE: Final = "documents-folders"
_LEASE_S: Final = 15.0
_TURN_S: Final = 2.0
"""How often the lease is renewed, and it is looked whether other folders are watched."""
_AGAIN_S: Final = 1.0
"""Behind a file that is being written, and a look that failed."""
_COMPARE_S: Final = 5.0
_SURE_S: Final = 300.0
"""How often all are looked at all the same: a swamped system does not tell everything (inotify(7))."""
_SHARE: Final = 4
"""A look that took long is followed by as many times its length without one, but by no more than this."""
_REST_S: Final = 30.0
_log = log("documents")

Watched = tuple[str, str]
"""An owner, and the id of a folder."""


@dataclass(slots=True)
class FolderWatch:
    """Keeps documents up with watched folders. `fault` says why changes are not told."""

    folders: Folders
    bus: Bus
    fault: str | None = None
    _due: dict[Watched, float] = field(default_factory=dict[Watched, float])
    _news: anyio.Event = field(default_factory=anyio.Event)

    async def watch(self) -> None:
        """Watch for ever; what fails is logged and tried again."""
        try:
            while True:
                with recorded(_log, "the watched folders are not looked at for a moment"):
                    if await self.bus.claim(_LEASE, _LEASE_S):
                        await self._watch_these(await self._there())
                with anyio.move_on_after(_TURN_S):
                    await self.folders.changed.wait()
        finally:
            with anyio.CancelScope(shield=True):
                await self.bus.release(_LEASE)

    async def _there(self) -> dict[Watched, WatchedFolder]:
        """The folders that are watched."""
        return {
            (owner, folder.id): folder
            async for owner in owners_of(self.folders.store, FOLDERS)
            for folder in await self.folders.all_of(owner)
            if not folder.paused
        }

    async def _watch_these(self, watched: Mapping[Watched, WatchedFolder]) -> None:
        """Watch these folders until others are to be watched, or another process watches."""
        if not watched:
            return
        ended = anyio.Event()
        self._due = {}
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, watched, ended)
            tasks.start_soon(self._look_when_due, watched, ended)
            await self._hold(watched, ended)
            tasks.cancel_scope.cancel()

    async def _hold(self, watched: Mapping[Watched, WatchedFolder], ended: anyio.Event) -> None:
        """Hold the lease, and return when the watching of these ends."""
        looked_at = float("-inf")
        places = _places(watched)
        while not ended.is_set():
            # What the system refuses is known only while it is asked.
            if anyio.current_time() - looked_at >= (_COMPARE_S if self.fault else _SURE_S):
                self._tell(watched)
                looked_at = anyio.current_time()
            with anyio.move_on_after(_TURN_S):
                await self.folders.changed.wait()
            if not await self.bus.claim(_LEASE, _LEASE_S) or _places(await self._there()) != places:
                ended.set()

    def _tell(self, some: Mapping[Watched, WatchedFolder], after_s: float = 0) -> None:
        for one in some:
            self._due[one] = min(self._due.get(one, float("inf")), anyio.current_time() + after_s)
        self._news.set()

    async def _look_when_due(self, watched: Mapping[Watched, WatchedFolder], ended: anyio.Event) -> None:
        free_at: dict[Watched, float] = {}
        while not ended.is_set():
            self._news = anyio.Event()
            now = anyio.current_time()
            due = {one: max(at, free_at.get(one, 0)) for one, at in self._due.items()}
            for one in [one for one, at in due.items() if at <= now]:
                del self._due[one]
                began = anyio.current_time()
                await self._look(one, watched[one])
                ended_at = anyio.current_time()
                free_at[one] = ended_at + min(_SHARE * (ended_at - began), _REST_S)
            wait_s = min((at - now for one, at in due.items() if one in self._due), default=_SURE_S)
            with anyio.move_on_after(max(wait_s, 0)):
                await self._news.wait()

    async def _look(self, one: Watched, folder: WatchedFolder) -> None:
        try:
            changes = await self.folders.look(one[0], folder)
        except UnknownId:
            return
        except BethinkError as error:
            _log.warning("a watched folder could not be read, and is tried again: %s", error)
            self._tell({one: folder}, _AGAIN_S)
            return
        if not changes.is_settled:
            self._tell({one: folder}, _AGAIN_S)
        if changes.added or changes.changed or changes.renamed or changes.removed:
            _log.info("a watched folder changed: %s", changes)

    async def _listen(self, watched: Mapping[Watched, WatchedFolder], ended: anyio.Event) -> None:
        """Have those folders looked at of which the system tells a change."""
        self.fault = None
        try:
            while not ended.is_set():
                await self._follow(watched, ended)
        except (OSError, RuntimeError) as error:
            # `_hold` looks often from now on.
            reason = str(error).partition(" about [")[0]
            self.fault = (
                f"Changes of watched folders are detected only every {_COMPARE_S:g} seconds: {reason}"
            )
            _log.warning("%s", self.fault)
            await ended.wait()

    async def _follow(self, watched: Mapping[Watched, WatchedFolder], ended: anyio.Event) -> None:
        """Tell of each change; until the first one while a folder is missing."""
        there = await anyio.to_thread.run_sync(
            lambda: {one: folder for one, folder in watched.items() if Path(folder.path).is_dir()}
        )
        if len(there) < len(watched):
            # What is missing comes back unheard.
            with anyio.move_on_after(_COMPARE_S):
                await ended.wait()
            self._tell({one: folder for one, folder in watched.items() if one not in there})
        if not there:
            return
        async with aclosing(changes_below({folder.path for folder in there.values()}, ended)) as changes:
            async for some in changes:
                self._tell(
                    {
                        one: folder
                        for one, folder in there.items()
                        if some is None or any(path.is_relative_to(folder.path) for path in some)
                    }
                )
                if some is not None and len(there) < len(watched):
                    return


def _places(watched: Mapping[Watched, WatchedFolder]) -> dict[Watched, tuple[str, object]]:
    return {one: (folder.path, folder.extensions) for one, folder in watched.items()}
