"""The port over the official `mcp` SDK. `app` makes it, `connection.py` opens sessions with it.

The SDK costs a second of CPU to import, so `sdk_session`, which does, is
imported in a thread when the first session is opened. It speaks 2026-07-28 and
falls back to the handshake of older revisions.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, cast

import anyio.to_thread

from bethink.errors import McpError, McpUnreachable
from bethink.json_bounds import MessageRate
from bethink.mcp_client.processes import ProcessGuard
from bethink.mcp_client.sign_in import SignIns

if TYPE_CHECKING:
    from bethink.mcp_client import Hooks, Keeping, Launcher, ServerConfig, ServerSession


@dataclass(slots=True)
class SessionSetup:
    """A server, whom its session tells, what sessions share; `refusal` is the last HTTP status of refusal.

    `left_out` names tools in its last list that are none by the protocol.
    """

    config: ServerConfig
    hooks: Hooks
    guard: ProcessGuard
    sign_ins: SignIns
    keeping: Keeping
    launcher: Launcher | None = None
    refusal: str = ""
    flow: MessageRate = field(default_factory=MessageRate)
    left_out: list[str] = field(default_factory=list[str])


class SdkConnector:
    """Opens sessions with servers; remembers which of them speak an older revision only.

    Without a `launcher` no server is started that is to run in a sandbox.
    """

    def __init__(self, keeping: Keeping, launcher: Launcher | None = None) -> None:
        self._keeping = keeping
        self._launcher = launcher
        self._guard = ProcessGuard()
        self._sign_ins = SignIns()
        self._older: set[str] = set()

    @asynccontextmanager
    async def open(self, config: ServerConfig, hooks: Hooks) -> AsyncGenerator[ServerSession]:
        """A session with the server; see the port."""
        sdk = await anyio.to_thread.run_sync(import_module, "bethink.mcp_client.sdk_session")
        is_older = config.origin in self._older
        # Asked for the new way again after a failure: the server may have been upgraded.
        self._older.discard(config.origin)
        setup = SessionSetup(config, hooks, self._guard, self._sign_ins, self._keeping, self._launcher)
        try:
            async with sdk.opened(setup, is_older=is_older) as session:
                if not session.is_modern:
                    self._older.add(config.origin)
                yield session
        except sdk.FAILURES as error:
            leaves = list(_leaves(error))
            if ours := next((leaf for leaf in leaves if isinstance(leaf, McpError)), None):
                raise ours from error
            reasons = "; ".join(dict.fromkeys(str(leaf) or type(leaf).__name__ for leaf in leaves))
            raise McpUnreachable(f"{reasons} ({setup.refusal})" if setup.refusal else reasons) from error

    def signed_in(self, state: str, code: str, issuer: str | None) -> bool:
        """Hand in what the sign-in page gave; False where nobody waits for this state."""
        return self._sign_ins.answer(state, code, issuer)

    async def close(self) -> None:
        """End the guard of child processes."""
        await self._guard.close()


def _leaves(error: Exception) -> Iterator[Exception]:
    if isinstance(error, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", error)
        for inner in group.exceptions:
            yield from _leaves(inner)
    else:
        yield error
