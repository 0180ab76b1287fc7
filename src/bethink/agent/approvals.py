"""What an owner decides about a call that waits. `agent/runs` goes on after the last decision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import anyio
import msgspec

from bethink.agent.records import RUNS, Run
from bethink.agent.request import DecidedCall
from bethink.agent.run_options import NO_RESOURCES
from bethink.errors import BadInput, BethinkError, Conflict, UnknownId
from bethink.masking import restored
from bethink.messages import ToolCall, ToolMessage
from bethink.principal import Principal
from bethink.store import Put, retry_conflicts
from bethink.telemetry import log, recorded

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from bethink.agent.policy import ToolRules
    from bethink.agent.records import WaitingCall
    from bethink.agent.run_options import RunOptions, RunResources
    from bethink.agent.stored_runs import StoredRuns
    from bethink.agent.toolbox import Toolbox

_TEND_S = 300
_ELSEWHERE = (
    "This call waits where it was asked, since its model is reached with that request's key: decide there."
)

_log = log("deciding")


@dataclass(frozen=True, slots=True)
class ApprovalChoice:
    """A decision; `arguments` are of an edited call. With `always` it holds for the tool from now on."""

    decision: Literal["approve", "reject", "edit"]
    arguments: dict[str, Any] | None = None
    always: bool = False


@dataclass(frozen=True, slots=True)
class Approvals:
    """Decisions about the calls of all owners; `go_on` runs on what was decided."""

    stored: StoredRuns
    toolbox_of: Callable[[RunOptions, RunResources], Toolbox]
    rules: ToolRules
    go_on: Callable[[Principal, str, RunResources], Awaitable[None]]

    async def decide(
        self,
        principal: Principal,
        run: str,
        *,
        call: str,
        choice: ApprovalChoice,
        brought: RunResources = NO_RESOURCES,
    ) -> bool:
        """Keep the decision; True when it was the last one, and the run goes on with what is `brought`.

        Raises:
            UnknownId: no such run, or the call does not wait.
            Conflict: others kept deciding too, or it is to be decided where it was asked.
            BadInput: the edited arguments do not fit the tool, or the tool asks each time.
        """
        found = await self.stored.versioned(principal, run)
        item = _waiting(found.record, call)
        if found.record.brought and brought is NO_RESOURCES:
            raise Conflict(_ELSEWHERE)
        if choice.always and item.final:
            message = f"{item.name} cannot be undone: it is asked about each time."
            raise BadInput(message)
        toolbox = self.toolbox_of(found.record.wishes, brought)
        record = await self._keep(principal, run, call=call, choice=choice, toolbox=toolbox)
        if choice.always:
            tool = toolbox.get(item.name)
            rule = "deny" if choice.decision == "reject" else "auto"
            name, origin = (tool.name, tool.origin) if tool else (item.name, "")
            await self.rules.set(principal, name, rule, origin=origin)
        if record.is_decided:
            await self.go_on(principal, run, brought)
        return record.is_decided

    @retry_conflicts
    async def _keep(
        self, principal: Principal, run: str, *, call: str, choice: ApprovalChoice, toolbox: Toolbox
    ) -> Run:
        found = await self.stored.versioned(principal, run)
        record = await _decided(found.record, _waiting(found.record, call), choice, toolbox=toolbox)
        await self.rules.store.commit(principal.owner, [Put(RUNS, record, found.version)])
        return record

    async def tend(self) -> None:
        """Go on with what was decided before a crash, end what waited too long, and what died."""
        async for owner, run in self.stored.unfinished():
            with recorded(_log, "a run that waits could not be tended"):
                await self._tend(Principal(owner), run)

    async def _tend(self, principal: Principal, run: Run) -> None:
        try:
            if run.is_decided and run.brought:
                await self.stored.orphan(principal, run)
            elif run.is_decided:
                await self.go_on(principal, run.id, NO_RESOURCES)
            else:
                await self.stored.settle(principal, run.conversation)
        except BethinkError as error:
            _log.info("run %s is left as it is: %s", run.id, error)

    async def tend_always(self) -> None:
        """Tend at once, and every few minutes."""
        while True:
            try:
                await self.tend()
            except BethinkError as error:
                _log.error("runs that wait could not be tended: %s", error)
            await anyio.sleep(_TEND_S)


def decided_calls(run: Run) -> list[DecidedCall]:
    """The run's calls that waited, with what was decided about each."""
    return [
        DecidedCall(
            ToolCall(item.call, item.name, item.arguments),
            approved=item.decision != "reject",
            edited=item.decision == "edit",
            sealed=item.sealed,
        )
        for item in run.waiting
    ]


def _waiting(run: Run, call: str) -> WaitingCall:
    for item in run.waiting:
        if run.state == "waiting" and item.call == call and item.decision is None:
            return item
    message = "No call with this id waits for a decision: it was decided, or the run has ended."
    raise UnknownId(message)


async def _decided(run: Run, item: WaitingCall, choice: ApprovalChoice, *, toolbox: Toolbox) -> Run:
    now = msgspec.structs.replace(item, decision=choice.decision)
    if choice.decision == "edit":
        prepared = toolbox.prepare(await _edited(item, choice.arguments or {}, toolbox))
        if isinstance(prepared, ToolMessage):
            raise BadInput(prepared.content)
        sealed = await toolbox.sealed(prepared)
        now = msgspec.structs.replace(now, arguments=prepared.call.arguments, sealed=sealed)
    elif choice.decision == "reject":
        now = msgspec.structs.replace(now, sealed=None)
    waiting = tuple(now if other.call == item.call else other for other in run.waiting)
    return msgspec.structs.replace(run, waiting=waiting)


async def _edited(item: WaitingCall, arguments: dict[str, Any], toolbox: Toolbox) -> ToolCall:
    """The call as a person left it: who sees a secret masked, and leaves it so, means the secret."""
    call = ToolCall(item.call, item.name, item.arguments)
    if item.sealed is not None:
        whole = (await toolbox.unsealed(call, item.sealed)).arguments
        arguments = restored(arguments, json.loads(item.arguments), json.loads(whole))
    return msgspec.structs.replace(call, arguments=msgspec.json.encode(arguments).decode())
