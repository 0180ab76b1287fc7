"""Calls of tools: from what a model wrote to a result, whatever goes wrong.

`agent/loop` prepares and runs calls here. Nothing raises into the loop: an
unknown name, arguments that do not fit, a failure or a time-out becomes a
result that says what was wrong, so that the model can mend it.
"""

from __future__ import annotations

import asyncio
import difflib
import json
import math
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

import anyio
import msgspec
from pydantic import BaseModel

from bethink.agent.tool_selection import (
    NO_TOOLS,
    SEARCH_TOOLS,
    ToolOffer,
    ToolRoom,
    ToolSnapshot,
    WantedTools,
    brief,
    holds_files,
    reads,
    select_tools,
    snapshot_of,
)
from bethink.errors import BadInput, BethinkError, RateLimited, StorageError
from bethink.events import ApprovalNeeded, Event, ToolFinished, ToolProgress
from bethink.feature import FilterFor, sees_everything
from bethink.masking import NumberMask, masked
from bethink.messages import AssistantMessage, Message, ToolCall, ToolMessage
from bethink.principal import PerKey, Principal, Recent
from bethink.telemetry import Span, log, span
from bethink.tool import OF_CLIENT, Foretold, NewFile, Tool, ToolContext, ToolOutput, no_subagent

if TYPE_CHECKING:
    from bethink.questions import Answer, Question
    from bethink.secrets_at_rest import SecretBox
    from bethink.tool import Effect, SubagentResult, SubagentTask


ToolSource = Callable[[], Sequence[Tool]]
"""Gives tools that come and go: the very same sequence for as long as none did."""
Delegate = Callable[[ToolContext, "SubagentTask"], Awaitable["SubagentResult"]]
"""Runs a subagent for a call."""
_MAX_NAME_CHARS = 80
"""What of an unknown tool's name is compared and quoted: a model may write anything there."""
_log = log("toolbox")


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call that can be made: its tool is known and its arguments are valid."""

    call: ToolCall
    tool: Tool
    arguments: dict[str, Any]
    label: str

    @property
    def shown(self) -> str:
        """The arguments as JSON, for a person: what is secret in them is masked."""
        return discreet(self.tool, self.whole)

    @property
    def whole(self) -> str:
        """The arguments as JSON, with what is secret in them: only to be sealed."""
        return json.dumps(self.arguments, ensure_ascii=False, default=_plain)


@dataclass(frozen=True, slots=True)
class CallResult:
    """How a call ended: what the model reads, and what a program does if the tool says it so."""

    message: ToolMessage
    structured: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Postponed:
    """A call that found out that its owner must agree to it, for a `reason`; it has changed nothing."""

    prepared: Prepared
    reason: str


async def _no_documents(principal: Principal) -> bool:
    del principal
    return False


@dataclass(slots=True)
class Toolbox:
    """The tools of this Bethink. `timeout_s` holds for tools that name none of their own.

    `tools` are always there; `sources` give those that come and go, such as an
    MCP server's. If two have one name, the first keeps it. At most `concurrency`
    calls of one owner run at once; results longer than
    `max_result_chars` are cut with a note, and kept whole as a file. A model is
    told of them only while `enabled`; of more than `most` it searches the foreign ones.
    `secret_box` seals what is secret in a call while it waits. `redacting` masks personal
    numbers in what tools tell, before anybody sees it; `filter_for` gives what hides of it from a reader.
    `delegate` runs a tool's subagents. Whoever `has_documents` is offered the tools that read them.
    """

    tools: Sequence[Tool]
    timeout_s: float
    concurrency: int
    max_result_chars: int
    sources: Sequence[ToolSource] = ()
    enabled: bool = True
    most: int = 30
    secret_box: SecretBox | None = field(default=None, repr=False)
    redacting: NumberMask = field(default_factory=NumberMask)
    filter_for: FilterFor = field(default=sees_everything, repr=False)
    delegate: Delegate | None = field(default=None, repr=False)
    has_documents: Callable[[Principal], Awaitable[bool]] = field(default=_no_documents, repr=False)
    snapshot: ToolSnapshot = field(default_factory=lambda: snapshot_of(()), repr=False)
    limits: CallLimits = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.limits = CallLimits(self.concurrency)

    def for_run(self, first: Sequence[Tool], keeps: Callable[[Tool], bool]) -> Toolbox:
        """The toolbox of one run: `first`, then of this one's tools those that it `keeps`, now and later."""
        kept: list[tuple[ToolSnapshot, Sequence[Tool]]] = []

        def mine() -> Sequence[Tool]:
            if not self.enabled:
                return ()
            if not kept or kept[0][0] is not self._known:
                kept[:] = [(self._known, [tool for tool in self.all if keeps(tool)])]
            return kept[0][1]

        snapshot = replace(self._known, given=())
        one = replace(self, tools=first, sources=(mine,), enabled=True, snapshot=snapshot)
        one.limits = self.limits
        return one

    @property
    def all(self) -> Sequence[Tool]:
        """Every tool that there is now."""
        return self._known.all

    @property
    def offer(self) -> ToolOffer:
        """All tools but the search for tools, as a model is told of them while they are few."""
        if not self.enabled:
            return NO_TOOLS
        return ToolOffer.of([one for name, one in self._known.schemas.items() if name != SEARCH_TOOLS])

    def alone(self, *names: str) -> ToolOffer:
        """These of the tools, as a model is told of them; one that is not there any more is left out."""
        schemas = self._known.schemas
        return ToolOffer.of([schemas[name] for name in names if name in schemas])

    async def offer_in(self, messages: Sequence[Message], principal: Principal, room: ToolRoom) -> ToolOffer:
        """The tools that a model is told of at this point of a conversation (`select_tools`)."""
        now = self._known
        if not self.enabled:
            return NO_TOOLS
        shown = {name: brief(one.schemas[0]) if room.brief else one for name, one in now.schemas.items()}
        tools = [tool for tool in now.all if "read" in principal.rights or not reads(tool)]
        chosen = select_tools(
            tools,
            WantedTools.of(messages, now.cues),
            self.most,
            room=room,
            size=lambda one: shown[one.name].tokens,
            has_files=holds_files(messages) or await self.has_documents(principal),
        )
        return ToolOffer.of([shown[tool.name] for tool in chosen])

    def has_unreviewed(self, offer: ToolOffer) -> bool:
        """Whether what a model is told of these tools holds words from outside that nobody has accepted."""
        by_name = self._known.by_name
        return any((tool := by_name.get(one.name)) is not None and tool.unreviewed for one in offer.schemas)

    @property
    def _known(self) -> ToolSnapshot:
        given = (self.tools, *(source() for source in self.sources))
        last = self.snapshot.given
        if len(last) != len(given) or any(one is not other for one, other in zip(last, given, strict=True)):
            self.snapshot = snapshot_of(given, self.snapshot)
        return self.snapshot

    def get(self, name: str) -> Tool | None:
        """The tool of this name or alias."""
        return self._known.by_name.get(name)

    def prepare(self, call: ToolCall) -> Prepared | ToolMessage:
        """The call made ready, or the result that tells the model what is wrong with it."""
        tool = self.get(call.name)
        if tool is None:
            return ToolMessage(call.id, call.name, self._unknown(call.name), error="unknown_tool")
        try:
            arguments = tool.parse(call.arguments)
        except BadInput as error:
            # A foreign schema's words stand in the reason.
            return ToolMessage(
                call.id,
                call.name,
                str(error),
                error="invalid_arguments",
                untrusted=tool.trust == "untrusted" and bool(tool.source),
            )
        return Prepared(self.shown(call), tool, arguments, tool.describe(arguments))

    def shown(self, call: ToolCall) -> ToolCall:
        """The call as it may be kept and shown; one that cannot be made has no secret to keep."""
        return msgspec.structs.replace(call, arguments=discreet(self.get(call.name), call.arguments))

    def discreet(self, message: AssistantMessage) -> AssistantMessage:
        """The message with its calls as they may be kept."""
        calls = tuple(self.shown(call) for call in message.tool_calls)
        return msgspec.structs.replace(message, tool_calls=calls) if calls else message

    async def foretold(self, prepared: Prepared, principal: Principal, reason: str) -> tuple[Prepared, str]:
        """The call as its owner would approve it, and the reason with what it would do; "" for nothing."""
        if prepared.tool.foretell is None:
            return prepared, reason
        try:
            foretold = await prepared.tool.foretell(principal, prepared.arguments)
        except BadInput:
            # The call itself will say so: it changes nothing.
            return prepared, ""
        text = f"{reason}\n{foretold.text}" if foretold.text else ""
        return replace(prepared, arguments=foretold.arguments), text

    async def sealed(self, prepared: Prepared) -> bytes | None:
        """The arguments for as long as the call waits; None if nothing in them is secret.

        Raises:
            StorageError: the master key cannot be read.
        """
        if self.secret_box is None or (whole := prepared.whole) == prepared.shown:
            return None
        return await self.secret_box.seal(whole)

    async def unsealed(self, call: ToolCall, sealed: bytes | None) -> ToolCall:
        """A call that waited, with what is secret in it.

        Raises:
            StorageError: it was sealed with another key.
        """
        if self.secret_box is None or sealed is None:
            return call
        return msgspec.structs.replace(call, arguments=await self.secret_box.open(sealed))

    async def resumed(self, call: ToolCall, sealed: bytes | None) -> Prepared | ToolMessage:
        """An approved call made ready again, or the result that says why it cannot be."""
        try:
            return self.prepare(await self.unsealed(call, sealed))
        except (StorageError, BadInput) as error:
            return ToolMessage(call.id, call.name, str(error), error=error.code)

    def effect_of(self, name: str) -> Effect | None:
        """The strongest thing that the tool of this name can do; None if there is none."""
        tool = self.get(name)
        return tool and tool.effect

    def is_of_client(self, name: str) -> bool:
        """Whether calls of the tool of this name are left to the client."""
        tool = self.get(name)
        return tool is not None and tool.origin == OF_CLIENT

    def may_change(self, calls: Sequence[ToolCall]) -> bool:
        """Whether one of the calls could do more than read."""
        return any((tool := self.get(call.name)) and tool.effect != "read" for call in calls)

    async def run(
        self, calls: Sequence[Prepared], context: ToolContext
    ) -> AsyncGenerator[Event | CallResult | Postponed, None]:
        """Run the calls at once; what they emit as it happens, then each result as it ends.

        A result comes as `ToolFinished` followed by its `CallResult`, or is `Postponed`. Closing
        the generator cancels the calls that still run.
        """
        queue: asyncio.Queue[Event | CallResult | Postponed] = asyncio.Queue()
        # Tasks are ended by it, not cancelled: what must not be cut in two is shielded from that alone.
        scopes = [anyio.CancelScope() for _ in calls]
        tasks = [
            self._started(prepared, context, queue, scope=scope)
            for prepared, scope in zip(calls, scopes, strict=True)
        ]
        waiting = len(tasks)
        try:
            while waiting:
                item = await queue.get()
                waiting -= isinstance(item, CallResult | Postponed)
                yield item
        finally:
            for scope in scopes:
                scope.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.gather(*tasks, return_exceptions=True)

    def _started(
        self,
        prepared: Prepared,
        context: ToolContext,
        queue: asyncio.Queue[Event | CallResult | Postponed],
        *,
        scope: anyio.CancelScope,
    ) -> asyncio.Task[None]:
        """The call's task. However it ends, a result comes: a run waits for every one."""

        def close(task: asyncio.Task[None]) -> None:
            if task.cancelled() or task.exception() is not None:
                text = f"{prepared.call.name} ended without a result."
                _log.error(
                    "tool %s: %s", prepared.call.name, "cancelled itself" if task.cancelled() else task
                )
                finish(queue.put_nowait, prepared.call, ToolOutput(text, error="tool_failed"))

        async def call() -> None:
            name = prepared.tool.name
            told = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.id": prepared.call.id,
                "gen_ai.tool.type": "function",
            }
            with scope, span(f"execute_tool {name}", told) as kept:
                kept.tell("gen_ai.tool.call.arguments", lambda: prepared.shown)
                await self._one(prepared, context, queue, kept=kept)

        task = asyncio.create_task(call())
        task.add_done_callback(close)
        return task

    async def _one(
        self,
        prepared: Prepared,
        context: ToolContext,
        queue: asyncio.Queue[Event | CallResult | Postponed],
        *,
        kept: Span,
    ) -> None:
        def emit(event: Event) -> None:
            if isinstance(event, ToolProgress):
                event = msgspec.structs.replace(
                    event, text=self.redacting.text(prepared.tool.name, event.text)
                )
            queue.put_nowait(event)

        own = replace(context, call=prepared.call.id, emit=emit)
        own = replace(own, run_agent=partial(self.delegate, own) if self.delegate else no_subagent)
        duration_ms = 0.0
        # Not of the tool: what this module itself says in its place.
        is_ours = False
        try:
            async with self.limits.room(context.principal.owner, prepared.tool):
                start = perf_counter()
                output, is_ours = await self._output(prepared, own)
                duration_ms = round((perf_counter() - start) * 1000, 2)
        except RateLimited as error:
            output, is_ours = ToolOutput(str(error), error=error.code), True
        if isinstance(output, Foretold):
            queue.put_nowait(Postponed(replace(prepared, arguments=output.arguments), output.text))
            return
        output, masked_kinds = self.redacting.output(prepared.tool.name, output)
        reader_filter = await self.filter_for(context.principal)
        if reader_filter is not None:
            output = await reader_filter.tool_output(output, prepared.tool)
        output = await self._bounded(output, own)
        if output.error:
            kept.fail(output.error)
        kept.tell("gen_ai.tool.call.result", lambda: output.text)
        finish(
            queue.put_nowait,
            prepared.call,
            output,
            duration_ms=duration_ms,
            untrusted=output.untrusted or (prepared.tool.trust == "untrusted" and not is_ours),
            redacted=masked_kinds,
        )

    async def _output(self, prepared: Prepared, context: ToolContext) -> tuple[ToolOutput | Foretold, bool]:
        """What the tool gave, or what is said in its place; and whether those words are ours alone."""
        timeout_s = prepared.tool.timeout_s or self.timeout_s
        try:
            with anyio.move_on_after(timeout_s) as scope:
                context = replace(context, ask=_unhurried(scope, context.ask))
                output = await prepared.tool.handler(context, **prepared.arguments)
                return ToolOutput(output) if isinstance(output, str) else output, False
        except BethinkError as error:
            return ToolOutput(str(error), error=error.code), False
        except Exception as error:  # noqa: BLE001 - a tool call: recorded, and told to the model
            _log.exception("tool %s failed in run %s", prepared.call.name, context.run)
            text = f"{prepared.call.name} failed: {type(error).__name__}: {error}"
            return ToolOutput(text, error="tool_failed"), False
        text = f"{prepared.call.name} was stopped after {timeout_s:g} s."
        return ToolOutput(text, error="timeout"), True

    async def _bounded(self, output: ToolOutput, context: ToolContext) -> ToolOutput:
        """The result in a length that the model can read; the whole of a longer one is kept as a file."""
        # Half a surrogate pair, as a tool may read it from outside, cannot be stored or sent.
        text = output.text.encode("utf-8", "replace").decode()
        if len(text) <= self.max_result_chars:
            return replace(output, text=text)
        note = f"cut: {len(text):,} characters in all"
        kept = output.attachments
        try:
            whole = await context.keep(NewFile("result.txt", "text/plain", text.encode()))
        except BethinkError as error:
            _log.info("a long result is not kept whole: %s", error)
        else:
            note, kept = f"{note}, the whole is in the file {whole.name}", (*kept, whole)
        return replace(output, text=f"{text[: self.max_result_chars]}\n[{note}]", attachments=kept)

    def _unknown(self, name: str) -> str:
        name = name[:_MAX_NAME_CHARS]
        by_name = self._known.by_name
        near = difflib.get_close_matches(name, by_name, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"There is no tool {name!r}.{hint} Available: {', '.join(sorted(by_name)) or 'none'}."


def _unhurried(
    scope: anyio.CancelScope, ask: Callable[[ToolContext, Question], Awaitable[Answer]]
) -> Callable[[ToolContext, Question], Awaitable[Answer]]:
    """Asks as `ask` does, while the call's own time stands still: people take theirs."""

    async def asked(context: ToolContext, question: Question) -> Answer:
        left = scope.deadline - anyio.current_time()
        scope.deadline = math.inf
        try:
            return await ask(context, question)
        finally:
            scope.deadline = anyio.current_time() + left

    return asked


def discreet(tool: Tool | None, arguments: str) -> str:
    """Arguments of a call, JSON text, with what is secret in them masked."""
    if tool is None:
        return masked(arguments, {})
    return masked(arguments, tool.parameters) if tool.secret else arguments


def _plain(value: object) -> object:
    return value.model_dump(exclude_unset=True) if isinstance(value, BaseModel) else str(value)


def finish(
    put: Callable[[Event | CallResult], None],
    call: ToolCall,
    output: ToolOutput,
    *,
    duration_ms: float = 0,
    untrusted: bool = False,
    redacted: Mapping[str, int] | None = None,
) -> None:
    """Put the event and then the result, which is the last of a call."""
    message = ToolMessage(
        call.id,
        call.name,
        output.text,
        output.error,
        duration_ms,
        output.attachments,
        untrusted=untrusted,
        addresses=output.addresses,
    )
    put(finished(message, memories=output.memories, redacted=redacted))
    put(CallResult(message, output.structured))


def finished(
    result: ToolMessage, *, memories: tuple[str, ...] = (), redacted: Mapping[str, int] | None = None
) -> ToolFinished:
    """The event of a result; of one that no tool gave there is no more to say."""
    return ToolFinished(
        call=result.call,
        name=result.name,
        text=result.content,
        duration_ms=result.duration_ms,
        error=result.error,
        attachments=result.attachments,
        memories=memories,
        untrusted=result.untrusted,
        redacted=dict(redacted or {}),
    )


def approval(prepared: Prepared, reason: str) -> ApprovalNeeded:
    """The event of a call that waits for its owner."""
    return ApprovalNeeded(
        call=prepared.call.id,
        name=prepared.call.name,
        arguments=prepared.shown,
        label=prepared.label,
        reason=reason,
        final=prepared.tool.effect == "destructive",
    )


REFUSALS: Final = {
    "not_decided": "The person did not decide about this call in time. Ask them again if it is still wanted.",
    "rejected": "The person rejected this call. Do not repeat it; ask what they want instead.",
    "gone": "Not done, though it was decided: the request that brought its model ended first. Ask again.",
    "held_back": "Not made: another call beside it waits for the person. Ask for it again if it is still"
    " wanted.",
    "forgotten": "Not done: the person has just had this forgotten for good. Do not mention it again.",
}
"""What the model is told of a call that was not made, by the error's code."""


def refused(call: ToolCall, error: str, reason: str | None = None) -> ToolMessage:
    """The result of a call that was not made; `reason` if the code does not say it."""
    return ToolMessage(call.id, call.name, REFUSALS[error] if reason is None else reason, error=error)


_COUNTED = 10_000
"""Owners and tools whose calls are counted: only in a flood are there more within a tool's time."""


@dataclass(slots=True)
class CallLimits:
    """At most `concurrency` calls of one owner at once, and what each tool says of itself.

    No owner waits for another: every one has room of their own. `now` is in seconds.
    """

    concurrency: int
    now: Callable[[], float] = monotonic
    _owners: PerKey[str, asyncio.Semaphore] = field(init=False, repr=False)
    _tools: WeakValueDictionary[tuple[str, str], asyncio.Semaphore] = field(
        default_factory=WeakValueDictionary[tuple[str, str], asyncio.Semaphore], repr=False
    )
    _recent: Recent[tuple[str, str], deque[float]] = field(
        default_factory=lambda: Recent[tuple[str, str], deque[float]](_COUNTED), repr=False
    )

    def __post_init__(self) -> None:
        self._owners = PerKey[str, asyncio.Semaphore](lambda: asyncio.Semaphore(self.concurrency))

    @asynccontextmanager
    async def room(self, owner: str, tool: Tool) -> AsyncGenerator[None]:
        """Wait for room for one call, and hold it.

        Raises:
            RateLimited: the tool was called too often; the sentence says when it may be again.
        """
        self._count(owner, tool)
        async with AsyncExitStack() as held:
            if tool.concurrency is not None:
                own = self._tools.setdefault((owner, tool.name), asyncio.Semaphore(tool.concurrency))
                await held.enter_async_context(own)
            await held.enter_async_context(self._owners[owner])
            yield

    def _count(self, owner: str, tool: Tool) -> None:
        if tool.rate is None:
            return
        key, now = (owner, tool.name), self.now()
        recent = self._recent.get(key)
        if recent is None:
            self._recent[key] = recent = deque[float]()
        while recent and recent[0] <= now - tool.rate.per_s:
            recent.popleft()
        if len(recent) >= tool.rate.calls:
            wait_s = recent[0] + tool.rate.per_s - now
            raise RateLimited(
                f"{tool.name} may be called {tool.rate.calls} times in {tool.rate.per_s:g} s: "
                f"wait {wait_s:.0f} s before the next call, or go on without it.",
                retry_after_s=wait_s,
            )
        recent.append(now)
