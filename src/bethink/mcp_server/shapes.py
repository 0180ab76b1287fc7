"""What the tools of memory answer to programs: the output schemas of the MCP server."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from bethink.clock import to_datetime

if TYPE_CHECKING:
    from bethink.conversations import StoredMessage
    from bethink.memory import Fact, FactChange
    from bethink.recall.service import Hit


class Memory(BaseModel):
    """One fact. `learnt_at` is when it was told, `valid_…` when it was true."""

    id: str
    content: str
    category: str
    importance: float
    topics: list[str]
    state: str
    pinned: bool
    learnt_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    doubted: bool


class FoundMemory(Memory):
    """A fact that a search found; `score` is 0..1."""

    score: float


class MemoriesFound(BaseModel):
    """Facts, best first."""

    memories: list[FoundMemory]


class History(BaseModel):
    """What a fact was and what it became, oldest first."""

    memories: list[Memory]


class MemoryChange(BaseModel):
    """What became of a fact; `undo` takes it back, `others` were superseded or put in doubt by it."""

    change: str
    memory: Memory
    undo: str | None
    others: list[Memory]


class Remembered(BaseModel):
    """One thing remembered, of any kind."""

    id: str
    kind: str = Field(description="`fact`, or `turn`: what was said in a conversation")
    text: str
    score: float
    at: datetime
    source: str | None
    conversation: str | None
    speaker: str | None
    valid_until: datetime | None
    doubt: str | None


class Recalled(BaseModel):
    """What answers a question, best first; `warning` says why it may be less than there is."""

    hits: list[Remembered]
    warning: str | None


class Said(BaseModel):
    """One message of a conversation."""

    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    at: datetime


class Talk(BaseModel):
    """A conversation: its messages in order, the newest of them last."""

    id: str
    title: str
    messages: list[Said]
    cursor: str | None = Field(description="Leads to older messages; null at the beginning.")


def memory_of(fact: Fact) -> Memory:
    """A fact as programs read it."""
    return Memory(**_fields(fact))


def found_of(fact: Fact, score: float) -> FoundMemory:
    """The same with how well it answers."""
    return FoundMemory(**_fields(fact), score=round(score, 4))


def change_of(changed: FactChange) -> MemoryChange:
    """A change as programs read it."""
    return MemoryChange(
        change=changed.change,
        memory=memory_of(changed.fact),
        undo=changed.undo,
        others=[memory_of(other) for other in changed.others],
    )


def remembered_of(hit: Hit) -> Remembered:
    """A hit as programs read it."""
    return Remembered(
        id=hit.id,
        kind=hit.kind,
        text=hit.text,
        score=round(hit.score, 4),
        at=hit.at,
        source=hit.source,
        conversation=hit.conversation,
        speaker=hit.speaker,
        valid_until=hit.valid_until,
        doubt=hit.doubt,
    )


def said_of(stored: StoredMessage) -> Said:
    """A message as programs read it."""
    role: Literal["user", "assistant", "tool"] = stored.message.__struct_config__.tag  # pyright: ignore[reportAssignmentType] - the union's own tags
    return Said(id=stored.id, role=role, text=stored.message.content, at=to_datetime(stored.at))


def _fields(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "content": fact.content,
        "category": fact.category,
        "importance": fact.importance,
        "topics": list(fact.topics),
        "state": fact.state,
        "pinned": fact.pinned,
        "learnt_at": to_datetime(fact.created_at),
        "valid_from": None if fact.valid_from is None else to_datetime(fact.valid_from),
        "valid_until": None if fact.valid_until is None else to_datetime(fact.valid_until),
        "doubted": bool(fact.doubts),
    }
