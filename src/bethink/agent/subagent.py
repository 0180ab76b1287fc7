"""Runs within runs: a tool's task, done by the one loop with its own prompt, tools and bounds.

`app` wires it into the toolbox, which gives each call its `ToolContext.run_agent`; doors ask the memory
agent by `MemoryQuestions`. Nothing of a task is stored but what its tools change: its usage and changes
are told in the run that asked.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from bethink.agent.loop import Loop
from bethink.agent.policy import ApprovalVerdict, Policy
from bethink.agent.records import Audit, NumberedEvent, ToolUse
from bethink.agent.request import RunBounds, RunRequest
from bethink.errors import NotAllowed
from bethink.events import (
    Event,
    MemoryChanged,
    MemoryUsed,
    MessageSaved,
    Place,
    ReasoningDelta,
    RunDone,
    RunFailed,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolProgress,
    ToolRequested,
    Usage,
    Warned,
)
from bethink.forgetting.announcements import Announcements, ForgetBarrier
from bethink.messages import Message, UserMessage
from bethink.tool import Call, SubagentResult, SubagentTask, Tool, ToolContext
from bethink.tools.memory_agent import MemoryAgent, sources

if TYPE_CHECKING:
    from bethink.agent.context import Context
    from bethink.agent.toolbox import Prepared, Toolbox
    from bethink.events import StopReason
    from bethink.files import Files
    from bethink.llm import Llm
    from bethink.llm.models import ToolProtocol
    from bethink.principal import Principal


_NOT_ASKED: Final = (
    "Not done: {reason} The person cannot be asked from here. Say in your reply that {tool} was"
    " wanted and why; whoever sent you can call it."
)
_APART: Final = "\n\n"
_NESTED: Final = "An agent that a tool sent cannot send another one: do it with the tools that are here."


@dataclass(slots=True)
class SubagentRunner:
    """Runs tasks. `find` gives the model that a task wants; `tools` may be given beside the toolbox's."""

    toolbox: Toolbox
    policy: Policy
    find: Callable[[str, ToolProtocol], Awaitable[Llm]]
    files: Files
    context: Context
    bounds: RunBounds
    new_id: Callable[[], str]
    announcements: Announcements
    audit: Audit
    tools: Callable[[Principal], Sequence[Tool]] = lambda _principal: ()

    async def __call__(self, context: ToolContext, task: SubagentTask) -> SubagentResult:
        """See `RunAgent`; cancelling the call ends the task."""
        return await self.run(context.principal, task, within=context)

    async def run(
        self, principal: Principal, task: SubagentTask, *, within: ToolContext | None = None
    ) -> SubagentResult:
        """What comes of a task; it is told as progress of the call that it serves, if it serves one.

        Raises:
            NoModel: there is none to send.
        """
        gathered = SubagentTranscript()
        async with aclosing(self.events(principal, task, within=within)) as events:
            async for event in events:
                gathered.take(event)
                if within is not None and (progress := _progress_of(event, within.call)) is not None:
                    within.emit(progress)
        return gathered.outcome()

    async def events(
        self,
        principal: Principal,
        task: SubagentTask,
        *,
        within: ToolContext | None = None,
    ) -> AsyncGenerator[Event, None]:
        """What happens on the task, as in any run; ended by one `RunDone`.

        Raises:
            NoModel: there is none to send.
        """
        llm = await self.find(task.model, task.way)
        known = {tool.name: tool for tool in (*self.toolbox.all, *self.tools(principal))}
        chosen = [known[name] for name in task.tools if name in known]
        # Without a way to send anybody.
        toolbox = replace(self.toolbox, tools=chosen, sources=(), enabled=True, delegate=_refused)
        loop = Loop(
            llm,
            toolbox,
            _Unasked(self.policy.rules, toolbox, self.policy.settings),
            self.files,
            replace(
                self.context,
                prompt=task.system,
                brief="",
                limit=0,
                profile_limit=0,
                added="",
                max_output_tokens=task.max_output_tokens or self.context.max_output_tokens,
            ),
            replace(self.bounds, steps=task.steps),
            job=task.job,
        )
        request = RunRequest(
            principal=principal.reading(task.job),
            conversation=within.conversation if within else "",
            run=within.run if within else self.new_id(),
            message=within.message if within else "",
            messages=[UserMessage(task.task)],
            save=self._unsaved,
            outside=task.outside or (within is not None and within.is_untrusted),
        )
        # What is forgotten meanwhile is neither told to the model nor written by it.
        request.heed(await ForgetBarrier.listening(principal.owner, self.announcements))
        async with aclosing(loop.run(request)) as events:
            async for event in events:
                if isinstance(event, ToolFinished):
                    await self._note(request, event)
                yield event

    async def _note(self, request: RunRequest, ended: ToolFinished) -> None:
        use = ToolUse(
            id=self.new_id(),
            at=self.context.clock.now_us(),
            tool=ended.name,
            call=ended.call,
            conversation=request.conversation or request.principal.audience,
            run=request.run,
            message=None,
            by="deny" if ended.error == "denied" else "policy",
            error=ended.error,
            duration_ms=ended.duration_ms,
            redacted=ended.redacted,
        )
        await self.audit.note(request.principal, use)

    async def _unsaved(self, messages: Sequence[Message], *, durably: bool = False) -> Sequence[str]:
        del durably
        return [self.new_id() for _ in messages]


class _Unasked(Policy):
    """The usual judge, if nobody can be asked: what would ask is refused, with a sentence."""

    async def verdicts(self, request: RunRequest, calls: Sequence[Prepared]) -> list[ApprovalVerdict]:
        """See `Policy.verdicts`."""
        verdicts = await Policy.verdicts(self, request, calls)
        return [
            self.postponed(call, verdict.reason) if verdict.decision == "ask" else verdict
            for verdict, call in zip(verdicts, calls, strict=True)
        ]

    def postponed(self, call: Prepared, reason: str) -> ApprovalVerdict:
        """See `Policy.postponed`."""
        return ApprovalVerdict("deny", _NOT_ASKED.format(reason=reason, tool=call.tool.name))


async def _refused(context: ToolContext, task: SubagentTask) -> SubagentResult:
    del context, task
    raise NotAllowed(_NESTED)


@dataclass(slots=True)
class SubagentTranscript:
    """What a task's events come to."""

    replies: list[str] = field(default_factory=list[str])
    _thoughts: list[str] = field(default_factory=list[str])
    _text: list[str] = field(default_factory=list[str])
    _asked: dict[str, ToolRequested] = field(default_factory=dict[str, ToolRequested])
    _calls: list[Call] = field(default_factory=list[Call])
    _reason: StopReason = "failed"
    _failed: RunFailed | None = None
    _untrusted: bool = False
    _model: str = ""
    _tokens: int = 0

    def take(self, event: Event) -> None:
        """Add an event."""
        match event:
            case ReasoningDelta(text=text):
                self._thoughts.append(text)
            case TextDelta(text=text):
                self._text.append(text)
            case TextSoFar(text=text, reasoning=thought):
                self._thoughts.append(thought)
                self._text[:] = [text]
            case ToolRequested():
                # What was said before a call was no answer yet.
                self._thoughts += self._text
                self._text.clear()
                self._part()
                self._asked[event.call] = event
            case ToolFinished():
                asked = self._asked.get(event.call)
                self._untrusted |= event.untrusted
                self._calls.append(
                    Call(event.name, asked.arguments if asked else "{}", event.error, event.memories)
                )
            case MessageSaved():
                self._part()
            case Usage():
                self._model = event.model
                self._tokens += event.input_tokens + event.output_tokens
            case RunFailed():
                self._failed = event
            case RunDone(reason=reason):
                self._reason = reason
            case _:
                pass

    def _part(self) -> None:
        """Let what is considered next stand apart."""
        if self._thoughts and self._thoughts[-1] != _APART:
            self._thoughts.append(_APART)

    def outcome(self) -> SubagentResult:
        """What came of it all."""
        failed = self._failed
        return SubagentResult(
            reply="".join(self._text).strip(),
            thoughts="".join(self._thoughts).strip(),
            reason=self._reason,
            calls=tuple(self._calls),
            failure=failed.message if failed else "",
            code=failed.code if failed else "",
            untrusted=self._untrusted,
            model=self._model,
            tokens=self._tokens,
        )


def _progress_of(event: Event, call: str) -> Event | None:
    """What the run that asked hears of it."""
    match event:
        case ToolRequested(label=label):
            return ToolProgress(call=call, text=label)
        case ToolFinished(error=str(), text=text):
            return ToolProgress(call=call, text=text[:200])
        case Usage() | MemoryChanged() | Warned():
            return event
        case _:
            return None


@dataclass(frozen=True, slots=True)
class MemoryQuestions:
    """Sends the memory agent."""

    subagents: SubagentRunner
    agent: MemoryAgent

    async def ask(self, principal: Principal, question: str, filters: Sequence[str] = ()) -> SubagentResult:
        """What it answers.

        Raises:
            NoModel: there is none that could be asked.
            BadInput: there is no question, or it is too long.
        """
        return await self.subagents.run(principal, await self.agent.task(principal, question, filters))

    async def follow(
        self, principal: Principal, question: str, filters: Sequence[str] = ()
    ) -> AsyncGenerator[list[NumberedEvent], None]:
        """What happens until the answer, each event as it comes; before the end the pages that it read.

        Raises:
            NoModel: there is none that could be asked; nothing came before.
            BadInput: there is no question, or it is too long.
        """
        task = await self.agent.task(principal, question, filters)
        gathered, number = SubagentTranscript(), 0
        async with aclosing(self.subagents.events(principal, task)) as events:
            async for event in events:
                gathered.take(event)
                happened: list[Event] = [event]
                if isinstance(event, RunDone) and (read := sources(gathered.outcome())):
                    happened = [MemoryUsed(ids=read, marks=()), event]
                yield [NumberedEvent(Place(number := number + 1), one) for one in happened]
