"""One request from its beginning to its end, so that it ends when the key that it came with does.

`security` opens one around every request; `caller` says whose it is.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from bethink.accounts import Accounts
    from bethink.principal import Principal

VISIT = "visit"
"""Its place in the state of the request."""


@dataclass(slots=True)
class Visit:
    """A request that is being answered."""

    _cancel: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _stack: ExitStack = field(default_factory=ExitStack)

    def enter(self, accounts: Accounts, principal: Principal) -> None:
        """Whose request it is: it is broken off when they may not come in any more."""
        self._stack.enter_context(accounts.watched(principal, self._cancel.cancel))

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        scope.setdefault("state", {})[VISIT] = self
        with self._stack, self._cancel:
            await app(scope, receive, send)
