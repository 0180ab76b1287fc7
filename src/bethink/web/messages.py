"""Stored messages as JSON: what `GET /conversations/{id}` shows of each role."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, assert_never

from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.conversations import siblings
from bethink.events import ClaimKind, StopReason
from bethink.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from bethink.conversations import ChangedRef, Conversation, RecalledRef, StoredMessage
    from bethink.events import Mark, Usage
    from bethink.messages import Attachment

LabelOf = Callable[[ToolCall], str]


class MessageAttachment(BaseModel):
    """A file that belongs to a message."""

    name: str
    media_type: str
    url: str


class MessageCall(BaseModel):
    """A tool call that the model asked for; `arguments` is JSON text, `label` plain words."""

    id: str
    name: str
    arguments: str
    label: str


class MessageRecalled(BaseModel):
    """A memory that was given to the model; `GET /memories/{id}` has its text."""

    id: str
    kind: str
    score: float


class MessageMark(BaseModel):
    """Where the answer leans on a memory: behind `after` characters of its content."""

    id: str
    after: int


class MessageClaim(BaseModel):
    """A sentence that says something was done, which no tool call of its run did."""

    claim: ClaimKind
    text: str


class MessageChanged(BaseModel):
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


class MessageSiblings(BaseModel):
    """What else was said in a message's place: shown as "2 of 3".

    `PATCH /conversations/{id}` with one of the `branches` as `branch` goes on with that one; this
    message's own is the one at `index`.
    """

    index: int = Field(description="0 is the first that was said.")
    branches: list[int]


class _Message(BaseModel):
    id: str
    at: datetime
    run: str
    content: str
    position: int = Field(description="Its place on its branch's line; 0 is the first message.")
    branch: int = Field(description="The branch that it belongs to.")
    siblings: MessageSiblings | None = Field(description="Null where nothing else was said in its place.")


class OwnerMessage(_Message):
    """What the owner said."""

    role: Literal["user"] = "user"
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
    said, at = stored.message, to_datetime(stored.at)
    others = siblings(held, stored)
    place: dict[str, Any] = {
        "position": stored.position,
        "branch": stored.branch,
        "siblings": others and MessageSiblings(index=others.index, branches=list(others.branches)),
    }
    match said:
        case UserMessage():
            return OwnerMessage(
                id=stored.id,
                at=at,
                run=stored.run,
                **place,
                content=said.content,
                attachments=files(said.attachments),
            )
        case AssistantMessage():
            return ModelMessage(
                id=stored.id,
                at=at,
                run=stored.run,
                **place,
                content=said.content,
                tool_calls=[
                    MessageCall(id=call.id, name=call.name, arguments=call.arguments, label=label_of(call))
                    for call in said.tool_calls
                ],
                reasoning=said.reasoning,
                stop_reason=stored.stop_reason,
                note=stored.note,
                recalled=recalled(stored.recalled),
                used=used(stored.used),
                unbacked=[
                    MessageClaim(claim=ref.claim, text=said.content[ref.start : ref.end])
                    for ref in stored.unbacked
                ],
                changed=changed(stored.changed),
                usage=total(stored.usage),
            )
        case ToolMessage():
            return ToolResult(
                id=stored.id,
                at=at,
                run=stored.run,
                **place,
                content=said.content,
                call=said.call,
                name=said.name,
                error=said.error,
                duration_ms=said.duration_ms,
                attachments=files(said.attachments),
                untrusted=said.untrusted,
            )
        case _:
            assert_never(said)


def total(usage: Sequence[Usage]) -> UsageTotal | None:
    """What the requests cost together; None where there was none."""
    if not usage:
        return None
    costs = [part.cost_usd for part in usage if part.cost_usd is not None]
    return UsageTotal(
        input_tokens=sum(part.input_tokens for part in usage),
        output_tokens=sum(part.output_tokens for part in usage),
        cost_usd=sum(costs) if costs else None,
        estimated=any(part.estimated for part in usage),
    )


def recalled(refs: Iterable[RecalledRef]) -> list[MessageRecalled]:
    """The memories that were given to the model."""
    return [MessageRecalled(id=ref.id, kind=ref.kind, score=ref.score) for ref in refs]


def used(marks: Iterable[Mark]) -> list[MessageMark]:
    """The memories that the answer cites."""
    return [MessageMark(id=mark.id, after=mark.after) for mark in marks]


def changed(refs: Iterable[ChangedRef]) -> list[MessageChanged]:
    """The changes of memory."""
    return [MessageChanged(change=ref.change, ids=list(ref.ids), undo=ref.undo) for ref in refs]


def files(attachments: Iterable[Attachment]) -> list[MessageAttachment]:
    """Files of a message, as JSON."""
    return [
        MessageAttachment(name=file.name, media_type=file.media_type, url=file.url) for file in attachments
    ]
