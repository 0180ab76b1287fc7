"""Which sandbox this machine has. `interpreters` asks once, in the background of the start."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import anyio.to_thread

from bethink.sandbox import places
from bethink.sandbox.bubblewrap import Bubblewrap
from bethink.sandbox.landlock import Landlock
from bethink.sandbox.linux import LinuxSandbox
from bethink.sandbox.probe import fault_of

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.sandbox import Sandbox
    from bethink.sandbox.confinement import Confinement

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
    if enclosing := await anyio.to_thread.run_sync(places.encloses, data_dir):
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
