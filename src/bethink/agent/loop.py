"""One run of the agent: ask the model, run the calls that it asks for, until it answers.

`agent/runs` drives it in a task of its own and keeps what it yields. The loop is
an iteration with bounds, not a recursion, and every way out of it has a reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING

import msgspec

from bethink.agent.claims import receipts
from bethink.agent.completion import Completion, ModelAnswer, Summaries
from bethink.agent.policy import Policy, tool_context
from bethink.agent.request import BOUND_REACHED, RunBounds, RunRequest
from bethink.agent.toolbox import CallResult, Postponed, Prepared, Toolbox, approval, finished, refused
from bethink.errors import LlmError, StorageError
from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    Event,
    MemoryRecalled,
    MessageSaved,
    RunDone,
    RunFailed,
    ToolRequested,
    Usage,
    Warned,
)
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

if TYPE_CHECKING:
    from bethink.agent.context import Context
    from bethink.events import StopReason
    from bethink.files import Files
    from bethink.llm import Llm


@dataclass(frozen=True, slots=True)
class Loop:
    """The loop, wired to the parts that it drives.

    `first_call` is the tool to begin with (`client_tools`), `job` what its usage is counted under.
    `remembers_nothing` says why, to who begins a conversation.
    """

    llm: Llm
    toolbox: Toolbox
    policy: Policy
    files: Files
    context: Context
    bounds: RunBounds
    summaries: Summaries | None = None
    first_call: str | None = None
    job: str = "chat"
    remembers_nothing: str | None = None

    @property
    def _completion(self) -> Completion:
        return Completion(self.llm, self.toolbox, self.files, self.context, self.first_call)

    async def run(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        """The events of the run, ended by one `RunDone`.

        A failure of the model or the store ends it with `RunFailed` first.
        """
        request.spent.started = monotonic()
        try:
            async with aclosing(self._steps(request)) as events:
                async for event in events:
                    yield event
        except (LlmError, StorageError) as error:
            yield RunFailed(code=error.code, message=str(error))
            yield RunDone(reason="failed")

    async def _steps(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        await self.llm.learn()
        async for event in self._prepare(request):
            yield event
        while (stop := request.spent.exceeded(self.bounds)) is None:
            answer = ModelAnswer(job=self.job, prices=self.bounds.prices, labels=request.labels)
            async with aclosing(self._completion.ask(request, answer)) as events:
                async for event in events:
                    yield event
            used = answer.usage(request.messages)
            request.spent.add(answer.calls, used)
            yield used
            raw = answer.message()
            message = self.toolbox.discreet(raw)
            request.add(message)
            (saved,) = await request.save([message], durably=self.toolbox.may_change(message.tool_calls))
            yield MessageSaved(id=saved, role="assistant")
            if not message.tool_calls:
                for event in (*answer.used_memories(), *receipts(request.messages, self.toolbox.effect_of)):
                    yield event
                yield RunDone(reason=answer.stop_reason, message=saved)
                return
            waiting: list[Prepared] = []
            client_calls = [call for call in raw.tool_calls if self.toolbox.is_of_client(call.name)]
            own_calls = [call for call in raw.tool_calls if call not in client_calls]
            async with aclosing(self._calls(request, own_calls, waiting)) as events:
                async for event in events:
                    yield event
            async for event in self._hand_over(request, client_calls, waiting):
                yield event
            if waiting or client_calls:
                yield RunDone(reason="awaiting_approval" if waiting else "client_tools", message=saved)
                return
        async with aclosing(self._conclude(request, stop)) as events:
            async for event in events:
                yield event

    async def _conclude(self, request: RunRequest, stop: StopReason) -> AsyncGenerator[Event, None]:
        """The last answer, of what is there, if a bound ended the calls."""
        last = self._completion.concluding(BOUND_REACHED[stop])
        answer = ModelAnswer(job=self.job, prices=self.bounds.prices, labels=request.labels)
        try:
            async with aclosing(last.ask_once(request, answer)) as events:
                async for event in events:
                    yield event
            yield answer.usage(request.messages)
            message = msgspec.structs.replace(answer.message(), tool_calls=())
        except (LlmError, TimeoutError):
            message = AssistantMessage(answer.text)
        if not message.content.strip():
            # `agent/recorder` puts a plain sentence there.
            yield RunDone(reason=stop)
            return
        request.add(message)
        (saved,) = await request.save([message])
        yield MessageSaved(id=saved, role="assistant")
        for event in (*answer.used_memories(), *receipts(request.messages, self.toolbox.effect_of)):
            yield event
        yield RunDone(reason=stop, message=saved)

    async def _prepare(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        if self.remembers_nothing and len(request.messages) == 1:
            yield Warned(part="memory", message=self.remembers_nothing)
        async for event in self._recall(request):
            yield event
        async for event in self._resume(request):
            yield event
        if self.summaries is not None:
            room = await self._completion.room_for_history(request)
            async for event in self.summaries.condense(self.llm, request, room):
                yield event

    async def _recall(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        if not self.context.remembers or "read" not in request.principal.rights:
            return
        said = next(message for message in reversed(request.messages) if isinstance(message, UserMessage))
        try:
            async with asyncio.timeout(self.context.recall_timeout_s):
                known = {message.content for message in request.messages}
                window = self.llm.context_tokens
                recalled = await self.context.recalled(request.principal, said.content, known, window=window)
                request.recall(recalled)
        except (StorageError, TimeoutError) as error:
            reason = str(error) or "the search took too long"
            yield Warned(part="memory", message=f"This answer does not use your memories: {reason}")
        if warning := self.context.recall.warning:
            yield Warned(part="recall", message=warning)
        if request.recalled:
            request.labels.give(item.id for item in request.recalled)
            yield MemoryRecalled(items=request.recalled)

    async def _calls(
        self, request: RunRequest, calls: Sequence[ToolCall], waiting: list[Prepared]
    ) -> AsyncGenerator[Event, None]:
        """Run what may run, refuse what may not; what must be asked is left in `waiting`."""
        results: dict[str, ToolMessage] = {}
        fit: list[Prepared] = []
        automatic: list[Prepared] = []
        for call in calls:
            prepared = self._prepared(request, call)
            label = prepared.label if isinstance(prepared, Prepared) else call.name
            arguments = self.toolbox.shown(call).arguments
            yield ToolRequested(call=call.id, name=call.name, arguments=arguments, label=label)
            if isinstance(prepared, Prepared):
                fit.append(prepared)
            else:
                results[call.id] = prepared
                yield finished(prepared)
        for prepared, verdict in zip(fit, await self.policy.verdicts(request, fit), strict=True):
            match verdict.decision:
                case "auto":
                    automatic.append(prepared)
                case "deny":
                    results[prepared.call.id] = refused(prepared.call, "denied", verdict.reason)
                    yield finished(results[prepared.call.id])
                case "ask":
                    call, reason = await self.toolbox.foretold(prepared, request.principal, verdict.reason)
                    if not reason:
                        # It would change nothing.
                        automatic.append(call)
                        continue
                    waiting.append(call)
                    yield await self._waits(request, call, reason)
        async with aclosing(self._run(request, automatic, results, waiting=waiting)) as events:
            async for event in events:
                yield event
        async for event in self._save(request, [results[call.id] for call in calls if call.id in results]):
            yield event

    async def _hand_over(
        self, request: RunRequest, calls: Sequence[ToolCall], waiting: Sequence[Prepared]
    ) -> AsyncGenerator[Event, None]:
        """Leave calls to the client; not if another call waits, since of that it would hear no result."""
        for call in calls:
            yield ToolRequested(call=call.id, name=call.name, arguments=call.arguments, label=call.name)
        kept = [refused(call, "held_back") for call in calls if waiting]
        for result in kept:
            yield finished(result)
        async for event in self._save(request, kept):
            yield event

    def _prepared(self, request: RunRequest, call: ToolCall) -> Prepared | ToolMessage:
        prepared = self.toolbox.prepare(call)
        if self.toolbox.effect_of(call.name) == "write" and request.was_forgotten(call.arguments):
            return refused(call, "forgotten")
        return prepared

    async def _resume(self, request: RunRequest) -> AsyncGenerator[Event, None]:
        """Run the calls that were approved, tell the model of those that were not."""
        results: dict[str, ToolMessage] = {}
        approved: list[Prepared] = []
        for decided in request.decided:
            call = decided.call
            decision = ("edit" if decided.edited else "approve") if decided.approved else "reject"
            yield ApprovalDecided(call=call.id, decision=decision, arguments=call.arguments)
            prepared = (
                await self.toolbox.resumed(call, decided.sealed)
                if decided.approved
                else refused(call, "rejected")
            )
            if isinstance(prepared, Prepared):
                approved.append(prepared)
            else:
                results[call.id] = prepared
                yield finished(prepared)
        async with aclosing(self._run(request, approved, results, waiting=None)) as events:
            async for event in events:
                yield event
        async for event in self._save(request, [results[decided.call.id] for decided in request.decided]):
            yield event

    async def _run(
        self,
        request: RunRequest,
        calls: Sequence[Prepared],
        results: dict[str, ToolMessage],
        *,
        waiting: list[Prepared] | None,
    ) -> AsyncGenerator[Event, None]:
        """Run calls; one that must be asked about after all goes to `waiting`.

        Without `waiting` the calls were approved already: what goes beyond that is refused.
        """
        if not calls:
            return
        context = replace(tool_context(request, self.files), approved=waiting is None)
        async with aclosing(self.toolbox.run(calls, context)) as items:
            async for item in items:
                match item:
                    case CallResult(message):
                        results[message.call] = message
                    case Postponed(prepared, reason):
                        verdict = self.policy.postponed(prepared, reason)
                        if verdict.decision == "ask" and waiting is not None:
                            waiting.append(prepared)
                            yield await self._waits(request, prepared, verdict.reason)
                        else:
                            results[prepared.call.id] = refused(prepared.call, "denied", verdict.reason)
                            yield finished(results[prepared.call.id])
                    case _:
                        if isinstance(item, Usage):
                            request.spent.charge(item)
                        yield item

    async def _waits(self, request: RunRequest, prepared: Prepared, reason: str) -> ApprovalNeeded:
        """Keep a call for when its owner decides about it."""
        if (sealed := await self.toolbox.sealed(prepared)) is not None:
            request.sealed[prepared.call.id] = sealed
        return approval(prepared, reason)

    async def _save(self, request: RunRequest, results: Sequence[ToolMessage]) -> AsyncGenerator[Event, None]:
        request.add(*results)
        for saved in await request.save(results) if results else ():
            yield MessageSaved(id=saved, role="tool")
