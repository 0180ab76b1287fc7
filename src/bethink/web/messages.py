"""Messages as JSON: what `GET /conversations/{id}` shows of each role, and a run's answer in one piece."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any, Literal, assert_never

from pydantic import BaseModel, Field

from bethink.agent.request import BOUND_REACHED
from bethink.conversations.records import Conversation, StoredMessage, siblings
from bethink.events import (
    ApprovalDecided,
    ApprovalNeeded,
    ClaimKind,
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
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from bethink.web.deps import ResponseModel, Timestamp

if TYPE_CHECKING:
    from bethink.agent.records import NumberedEvent
    from bethink.events import Event, Mark, Recalled


LabelOf = Callable[[ToolCall], str]


class MessageAttachment(ResponseModel):
    """A file that belongs to a message."""

    name: str
    media_type: str
    url: str


class MessageCall(ResponseModel):
    """A tool call that the model asked for; `arguments` is JSON text, `label` plain words."""

    id: str
    name: str
    arguments: str
    label: str


class MessageRecalled(ResponseModel):
    """A memory that was given to the model; `GET /memories/{id}` has its text."""

    id: str
    kind: str
    score: float
    source: str | None = Field(default=None, description="Where a passage stands: `document:…`.")
    near: bool = Field(default=False, description="Near what was asked, and may not answer it.")
    pasted: bool = Field(default=False, description="Holds a text that its owner pasted and did not write.")


class MessageMark(ResponseModel):
    """Where the answer leans on a memory: behind `after` characters of its content."""

    id: str
    after: int


class MessageClaim(ResponseModel):
    """A sentence that says something was done, which no tool call of its run did."""

    claim: ClaimKind
    text: str


class MessageChanged(ResponseModel):
    """A change of memory made while it was answered."""

    change: str
    ids: list[str]
    undo: str | None


class UsageTotal(BaseModel):
    """What all the model's requests of one run cost; `cost_usd` is null where no price is known."""

    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    estimated: bool


class MessageSiblings(ResponseModel):
    """What else was said in a message's place: shown as "2 of 3".

    `PATCH /conversations/{id}` with one of the `branches` as `branch` goes on with that one; this
    message's own is the one at `index`.
    """

    index: int = Field(description="0 is the first that was said.")
    branches: list[int]


class _Message(ResponseModel):
    id: str
    at: Timestamp
    run: str
    content: str
    position: int = Field(description="Its place on its branch's line; 0 is the first message.")
    branch: int = Field(description="The branch that it belongs to.")
    siblings: MessageSiblings | None = Field(description="Null if there is no alternative to it.")


class OwnerMessage(_Message):
    """What the owner said."""

    role: Literal["user"] = "user"
    untrusted: bool = Field(
        default=False, description="It holds what a server's prompt gave: it is not the owner's word."
    )
    attachments: list[MessageAttachment]


class ModelMessage(_Message):
    """What the model said; the last one of a run has `stop_reason` and what the run left."""

    role: Literal["assistant"] = "assistant"
    tool_calls: list[MessageCall]
    reasoning: str
    stop_reason: StopReason | None
    note: str | None = Field(description="What went wrong, for a person.")
    recalled: list[MessageRecalled]
    used: list[MessageMark] = Field(description="Memories that the answer cites, in the order of its text.")
    unbacked: list[MessageClaim]
    changed: list[MessageChanged]
    usage: UsageTotal | None


class ToolResult(_Message):
    """What a tool answered; `error` is a code, null on success."""

    role: Literal["tool"] = "tool"
    call: str
    name: str
    error: str | None
    duration_ms: float
    attachments: list[MessageAttachment]
    untrusted: bool = Field(description="It came from outside: it is not the owner's own.")


Message = OwnerMessage | ModelMessage | ToolResult


def shown(held: Conversation, stored: StoredMessage, label_of: LabelOf) -> Message:
    """A conversation's message as JSON has it; `label_of` puts a call in plain words."""
    said, others = stored.message, siblings(held, stored)
    place: dict[str, Any] = {
        "id": stored.id,
        "at": stored.at,
        "run": stored.run,
        "position": stored.position,
        "branch": stored.branch,
        "siblings": others and MessageSiblings.of(others),
    }
    match said:
        case UserMessage():
            return OwnerMessage.of(said, **place)
        case ToolMessage():
            return ToolResult.of(said, **place)
        case AssistantMessage():
            return ModelMessage.of(
                said,
                **place,
                tool_calls=[MessageCall.of(call, label=label_of(call)) for call in said.tool_calls],
                stop_reason=stored.stop_reason,
                note=stored.note,
                recalled=stored.recalled,
                used=stored.used,
                unbacked=[
                    MessageClaim(claim=ref.claim, text=said.content[ref.start : ref.end])
                    for ref in stored.unbacked
                ],
                changed=stored.changed,
                usage=_total(stored.usage),
            )
        case _:
            assert_never(said)


def _total(usage: Sequence[Usage]) -> UsageTotal | None:
    """What the requests cost together; None if there was none."""
    if not usage:
        return None
    costs = [part.cost_usd for part in usage if part.cost_usd is not None]
    return UsageTotal(
        input_tokens=sum(part.input_tokens for part in usage),
        output_tokens=sum(part.output_tokens for part in usage),
        cost_usd=sum(costs) if costs else None,
        estimated=any(part.estimated for part in usage),
    )


class AnswerMessage(BaseModel):
    """The last message of the run."""

    id: str | None
    role: Literal["assistant"] = "assistant"
    content: str


class AnswerError(BaseModel):
    """What ended the run early."""

    code: str
    message: str


class ToolRun(ResponseModel):
    """A tool call and its result; `error` is a code, null on success."""

    call: str
    name: str
    arguments: str
    text: str
    error: str | None
    duration_ms: float
    untrusted: bool = Field(description="It came from outside: it is not the owner's own.")
    attachments: list[MessageAttachment]


class Waiting(ResponseModel):
    """A call that waits for the owner: `POST /runs/{run}/approvals/{call}` decides."""

    run: str
    call: str
    name: str
    arguments: str
    label: str
    reason: str
    final: bool = Field(description="It cannot be undone, so it asks each time.")


class ChatAnswer(ResponseModel):
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
    recalled: Sequence[Recalled] = ()
    used: Sequence[Mark] = ()
    unbacked: list[ClaimUnbacked] = field(default_factory=list[ClaimUnbacked])
    changed: list[MemoryChanged] = field(default_factory=list[MemoryChanged])
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
            case MemoryRecalled():
                self.recalled = (*self.recalled, *event.items)
            case MemoryUsed():
                self.used = event.marks
            case ClaimUnbacked():
                self.unbacked.append(event)
            case MemoryChanged():
                self.changed.append(event)
            case ToolRequested() | ApprovalDecided():
                self.arguments[event.call] = event.arguments
            case ToolFinished():
                self.tools_run.append(ToolRun.of(event, arguments=self.arguments.get(event.call, "{}")))
            case ApprovalNeeded():
                self.waiting.append(Waiting.of(event, run=self.run))
            case _:
                pass


async def collected(
    batches: AsyncGenerator[Sequence[NumberedEvent], None], *, conversation: str, run: str
) -> ChatAnswer:
    """The whole answer, once the run has ended: for `stream: false`."""
    so_far, began = _Collected(run), perf_counter()
    async for batch in batches:
        for numbered in batch:
            so_far.take(numbered.event)
    last = so_far.done.message or next(reversed(so_far.contents), None)
    return ChatAnswer.of(
        so_far,
        conversation_id=conversation,
        run_id=run,
        message=AnswerMessage(id=last, content=so_far.contents.get(last, "") if last else so_far.text),
        reason=so_far.done.reason,
        usage=_total(so_far.usage),
        latency_ms=round((perf_counter() - began) * 1000, 2),
    )
