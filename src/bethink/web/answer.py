"""A chat's answer in one piece: the stream of a run's events, collected. For `stream: false`."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from bethink.agent.request import BOUND_REACHED
from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimUnbacked,
    MemoryChanged,
    MemoryRecalled,
    MemoryUsed,
    MessageSaved,
    RunDone,
    RunFailed,
    StopReason,
    TextDelta,
    TextSoFar,
    ToolFinished,
    ToolRequested,
    Usage,
)
from bethink.web.messages import (
    MessageAttachment,
    MessageChanged,
    MessageClaim,
    MessageMark,
    MessageRecalled,
    UsageTotal,
    files,
    total,
    used,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.agent.records import NumberedEvent
    from bethink.events import Event


class AnswerMessage(BaseModel):
    """The last message of the run."""

    id: str | None
    role: Literal["assistant"] = "assistant"
    content: str


class AnswerError(BaseModel):
    """What ended the run early."""

    code: str
    message: str


class ToolRun(BaseModel):
    """A tool call and its result; `error` is a code, null on success."""

    call: str
    name: str
    arguments: str
    text: str
    error: str | None
    duration_ms: float
    untrusted: bool = Field(description="It came from outside: it is not the owner's own.")
    attachments: list[MessageAttachment]


class Waiting(BaseModel):
    """A call that waits for the owner: `POST /runs/{run}/approvals/{call}` decides."""

    run: str
    call: str
    name: str
    arguments: str
    label: str
    reason: str
    final: bool = Field(description="Nothing of it can be taken back: it is asked about each time.")


class ChatAnswer(BaseModel):
    """The whole of a run."""

    conversation_id: str
    run_id: str
    message: AnswerMessage
    reason: StopReason
    error: AnswerError | None = Field(
        description="Null unless the run failed, or was ended by a bound: then the code is the reason."
    )
    usage: UsageTotal | None
    latency_ms: float = Field(description="From the start of the run to its end.")
    tools_run: list[ToolRun]
    recalled: list[MessageRecalled]
    used: list[MessageMark]
    unbacked: list[MessageClaim]
    changed: list[MessageChanged]
    waiting: list[Waiting]


@dataclass(slots=True)
class _Collected:
    """What the events have told so far."""

    run: str
    text: str = ""
    contents: dict[str, str] = field(default_factory=dict[str, str])
    arguments: dict[str, str] = field(default_factory=dict[str, str])
    tools_run: list[ToolRun] = field(default_factory=list[ToolRun])
    recalled: list[MessageRecalled] = field(default_factory=list[MessageRecalled])
    used: list[MessageMark] = field(default_factory=list[MessageMark])
    unbacked: list[MessageClaim] = field(default_factory=list[MessageClaim])
    changed: list[MessageChanged] = field(default_factory=list[MessageChanged])
    waiting: list[Waiting] = field(default_factory=list[Waiting])
    usage: list[Usage] = field(default_factory=list[Usage])
    error: AnswerError | None = None
    done: RunDone = field(default_factory=lambda: RunDone(reason="interrupted"))

    def take(self, event: Event) -> None:
        """Add what an event tells."""
        match event:
            case TextDelta():
                self.text += event.text
            case TextSoFar():
                self.text = event.text
            case MessageSaved(role="assistant"):
                self.contents[event.id], self.text = self.text, ""
            case Usage():
                self.usage.append(event)
            case RunFailed():
                self.error = AnswerError(code=event.code, message=event.message)
            case RunDone():
                self.done = event
                if (why := BOUND_REACHED.get(event.reason)) is not None:
                    self.error = AnswerError(code=event.reason, message=why)
            case _:
                self._take_memory_or_tool(event)

    def _take_memory_or_tool(self, event: Event) -> None:
        match event:
            case MemoryRecalled(items=items):
                self.recalled = [
                    MessageRecalled(id=item.id, kind=item.kind, score=item.score) for item in items
                ]
            case MemoryUsed(marks=marks):
                self.used = used(marks)
            case ClaimUnbacked():
                self.unbacked.append(MessageClaim(claim=event.claim, text=event.text))
            case MemoryChanged():
                change = MessageChanged(change=event.change, ids=list(event.ids), undo=event.undo)
                self.changed.append(change)
            case ToolRequested() | ApprovalDecided():
                self.arguments[event.call] = event.arguments
            case ToolFinished():
                self.tools_run.append(
                    ToolRun(
                        call=event.call,
                        name=event.name,
                        arguments=self.arguments.get(event.call, "{}"),
                        text=event.text,
                        error=event.error,
                        duration_ms=event.duration_ms,
                        untrusted=event.untrusted,
                        attachments=files(event.attachments),
                    )
                )
            case ApprovalNeeded():
                self.waiting.append(
                    Waiting(
                        run=self.run,
                        call=event.call,
                        name=event.name,
                        arguments=event.arguments,
                        label=event.label,
                        reason=event.reason,
                        final=event.final,
                    )
                )
            case _:
                pass


async def collected(
    batches: AsyncGenerator[Sequence[NumberedEvent], None], *, conversation: str, run: str
) -> ChatAnswer:
    """The answer, once the run has ended."""
    so_far, began = _Collected(run), perf_counter()
    async for batch in batches:
        for numbered in batch:
            so_far.take(numbered.event)
    last = so_far.done.message or next(reversed(so_far.contents), None)
    return ChatAnswer(
        conversation_id=conversation,
        run_id=run,
        message=AnswerMessage(id=last, content=so_far.contents.get(last, "") if last else so_far.text),
        reason=so_far.done.reason,
        error=so_far.error,
        usage=total(so_far.usage),
        latency_ms=round((perf_counter() - began) * 1000, 2),
        tools_run=so_far.tools_run,
        recalled=so_far.recalled,
        used=so_far.used,
        unbacked=so_far.unbacked,
        changed=so_far.changed,
        waiting=so_far.waiting,
    )
