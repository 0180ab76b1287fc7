"""One request from its beginning to its end, so that it ends when the key that it came with does.

`security` opens one around every request; `caller` says whose it is.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from bethink.errors import BethinkError, NotSignedIn
from bethink.web.problems import of_error
from bethink.web.response_filter import Veiling

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from bethink.accounts import Accounts
    from bethink.principal import Principal

VISIT = "visit"
"""Its place in the state of the request."""
_ENDED = "The key or sign-in of this request has ended: it was revoked, or its time is over."


@dataclass(slots=True)
class Visit:
    """A request that is being answered."""

    _cancel: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    _stack: ExitStack = field(default_factory=ExitStack)
    _has_begun: bool = False
    _is_over: bool = False
    _broken: Callable[[BethinkError], bytes] | None = None

    def enter(self, accounts: Accounts, principal: Principal) -> None:
        """Whose request it is: it is broken off when they may not come in any more."""
        self._stack.enter_context(accounts.watched(principal, self._cancel.cancel))

    def leave(self) -> None:
        """Have it answered to its end, since it is itself what ends the key or sign-in that it came with."""
        self._stack.close()

    def streams(self, broken: Callable[[BethinkError], bytes]) -> None:
        """Say how the answer, a stream, tells that it breaks off."""
        self._broken = broken

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request; one that is broken off is told why, as far as there is still room to."""

        async def noting(message: Message) -> None:
            # The run of who may not come in any more is cancelled at once with the request: what that
            # leaves to say may be here before this task has noticed, and is no answer.
            if self._cancel.cancel_called:
                await anyio.lowlevel.checkpoint_if_cancelled()
            self._has_begun = True
            self._is_over = message["type"] == "http.response.body" and not message.get("more_body", False)
            await send(message)

        scope.setdefault("state", {})[VISIT] = self
        with self._stack, self._cancel:
            await app(scope, receive, Veiling(scope, noting).send)
        if not self._cancel.cancelled_caught or self._is_over:
            return
        error = NotSignedIn(_ENDED)
        if not self._has_begun:
            await of_error(error)(scope, receive, send)
        elif self._broken is not None:
            await send({"type": "http.response.body", "body": self._broken(error), "more_body": False})
