"""Which sandbox this machine has. `interpreters` asks once, in the background of the start."""

from __future__ import annotations

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

_ALL: Final[tuple[Confinement, ...]] = (Bubblewrap(), Landlock())


@dataclass(frozen=True, slots=True)
class Choice:
    """The sandbox that holds here, or None; `reasons` says of each that does not, why."""

    sandbox: Sandbox | None
    reasons: tuple[str, ...] = ()


async def choose(wanted: Wanted, data_dir: Path, scratches: Path | None = None) -> Choice:
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
        if fault is None and (fault := await fault_of(sandbox)) is None:
            return Choice(sandbox, tuple(reasons))
        reasons.append(f"{confinement.name}: {fault}")
    return Choice(None, tuple(reasons))
