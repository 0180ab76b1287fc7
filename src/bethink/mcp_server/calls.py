"""A call of an MCP client: judged like the agent's own, confirmed where that is asked, then made.

The client's person cannot be asked through Bethink's page. A client that can ask
them is made to (elicitation); any other gets a token with what would be done,
and calls again with it: its own approval of calls stands between the two.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from bethink.agent.audit import ToolUse
from bethink.agent.policy import Policy
from bethink.agent.toolbox import CallResult, Postponed, Prepared, discreet
from bethink.errors import BadInput
from bethink.events import ToolFinished, ToolProgress
from bethink.messages import ToolCall, ToolMessage
from bethink.tool import ToolContext, ToolOutput

if TYPE_CHECKING:
    from bethink.agent.audit import By
    from bethink.app import App
    from bethink.clock import Ids
    from bethink.mcp_server.families import Offer
    from bethink.principal import Principal

CONFIRM = "confirm"
"""The argument that a call to be confirmed takes beside its own."""
_VALID_S = 600
"""A confirmation is for what was just shown."""
_AHEAD_S = 5
"""A token may be dated ahead where the same was confirmed within one second."""

Progress = Callable[[float | None, str], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Asked:
    """What must be agreed to before the call is made; `token` confirms exactly this."""

    text: str
    token: str


@dataclass(slots=True)
class Calls:
    """Makes calls. A confirmation is for one call, as long as this process runs, ten minutes at most."""

    app: App
    new_id: Ids
    now_s: Callable[[], float] = time.time
    _policy: Policy = field(init=False, repr=False)
    _used: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    def __post_init__(self) -> None:
        self._policy = Policy(self.app.rules, self.app.toolbox, self.app.settings.tool_policy)

    async def begin(
        self, offer: Offer, arguments: dict[str, Any], principal: Principal, *, confirmed: str = ""
    ) -> Prepared | Asked | ToolOutput:
        """The call made ready; or what it needs; or why it cannot be."""
        given = {name: value for name, value in arguments.items() if name != CONFIRM}
        token = confirmed or str(arguments.get(CONFIRM) or "")
        written = json.dumps(given, ensure_ascii=False)
        try:
            parsed = offer.tool.parse(written)
        except BadInput as error:
            return ToolOutput(str(error), error="invalid_arguments")
        call = ToolCall(self.new_id(), offer.tool.name, discreet(offer.tool, written))
        prepared = Prepared(call, offer.tool, parsed, offer.tool.describe(parsed))
        verdict = await self._policy.verdict(principal, prepared)
        match verdict.decision:
            case "auto":
                return prepared
            case "deny":
                await self._note(principal, prepared, by="deny", error="denied")
                return ToolOutput(verdict.reason, error="denied")
            case "ask":
                return await self._asked(prepared, principal, reason=verdict.reason, token=token)

    async def make(
        self, prepared: Prepared, context: ToolContext, progress: Progress, *, token: str = ""
    ) -> ToolOutput | Asked:
        """The call's result, or what it needs after all; what it tells on its way goes to `progress`.

        `token` is what came with an agreement. It counts for what the call would do now.
        """
        made = await self._made(prepared, context, progress)
        if not isinstance(made, Postponed):
            return made
        asked = self._agreed(made.prepared, made.told, context.principal, token=token)
        if isinstance(asked, Asked):
            return asked
        made = await self._made(asked, replace(context, approved=True), progress)
        return ToolOutput(made.told, error="denied") if isinstance(made, Postponed) else made

    async def _made(
        self, prepared: Prepared, context: ToolContext, progress: Progress
    ) -> ToolOutput | Postponed:
        result = CallResult(ToolMessage(prepared.call.id, prepared.call.name, "", error="tool_failed"))
        kinds: dict[str, int] = {}
        async with aclosing(self.app.toolbox.run([prepared], context)) as items:
            async for item in items:
                match item:
                    case Postponed():
                        return item
                    case CallResult():
                        result = item
                    case ToolFinished():
                        kinds = item.redacted
                    case ToolProgress(text=text, fraction=fraction):
                        await progress(fraction, text)
                    case _:
                        pass
        message = result.message
        by: By = "approve" if context.approved or prepared.tool.effect == "destructive" else "policy"
        await self._note(
            context.principal,
            prepared,
            by=by,
            error=message.error,
            duration_ms=message.duration_ms,
            redacted=kinds,
        )
        return ToolOutput(
            message.content, message.attachments, error=message.error, structured=result.structured
        )

    async def _note(
        self,
        principal: Principal,
        prepared: Prepared,
        *,
        by: By,
        error: str | None = None,
        duration_ms: float = 0,
        redacted: dict[str, int] | None = None,
    ) -> None:
        use = ToolUse(
            id=self.new_id(),
            at=self.app.ports.clock.now_us(),
            tool=prepared.tool.name,
            call=prepared.call.id,
            conversation=principal.audience,
            run="",
            message=None,
            by=by,
            error=error,
            duration_ms=duration_ms,
            redacted=redacted or {},
        )
        await self.app.audit.note(principal, use)

    async def _asked(
        self, prepared: Prepared, principal: Principal, *, reason: str, token: str
    ) -> Prepared | Asked:
        ready, told = await self.app.toolbox.foretold(prepared, principal, reason)
        if not told:
            return ready
        # Sealed as it was asked for: what a preview adds, such as its token, is another each time.
        agreed = self._agreed(prepared, told, principal, token=token)
        return agreed if isinstance(agreed, Asked) else ready

    def _agreed(self, prepared: Prepared, told: str, principal: Principal, *, token: str) -> Prepared | Asked:
        """The call, if its token says that this was agreed to; else what is to be agreed to."""
        if token and self._is_valid(token, self._seal(prepared, told, principal, at=_at(token))):
            self._used[token] = _at(token)
            return prepared
        at = int(self.now_s())
        seal = self._seal(prepared, told, principal, at=at)
        while seal in self._used:
            # The same was confirmed within this second.
            at += 1
            seal = self._seal(prepared, told, principal, at=at)
        return Asked(f"{prepared.label}\n{told}", seal)

    def _is_valid(self, token: str, expected: str) -> bool:
        now = self.now_s()
        for old in [used for used, at in self._used.items() if now - at > _VALID_S]:
            del self._used[old]
        age = now - _at(token)
        if token in self._used:
            return False
        return hmac.compare_digest(token.encode(), expected.encode()) and -_AHEAD_S <= age <= _VALID_S

    def _seal(self, prepared: Prepared, told: str, principal: Principal, *, at: int) -> str:
        # A preview's own token holds the moment it was made: what would go is what must be the same.
        arguments = json.dumps(prepared.arguments, sort_keys=True, default=str)
        bound = json.dumps([at, principal.owner, principal.audience, prepared.tool.name, arguments, told])
        return f"{at:x}-{hmac.new(self._key, bound.encode(), hashlib.sha256).hexdigest()[:24]}"


def _at(token: str) -> int:
    try:
        return int(token.partition("-")[0], 16)
    except ValueError:
        return 0
