"""`/memories/reflection` and `/memories/profile`: memory put in order as a whole, receipts, what it tells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.clock import to_datetime
from bethink.reflection.service import Reflections
from bethink.web.deps import SEES_ALL, Caller, Cursor, Limit, ResponseModel, Served, Timestamp
from bethink.web.memories import Memory
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.reflection.records import Reflection

router = APIRouter(prefix="/memories", tags=["memories"])


class ReflectionProgress(ResponseModel):
    """How far it is: of the `total` pairs, so many are compared."""

    stage: Literal["waiting", "reading", "comparing", "writing", "keeping"]
    done: int
    total: int


class MergedPair(ResponseModel):
    """A memory that was taken into another, by their ids."""

    kept: str
    gone: str
    by_model: bool = Field(description="A model said that they are the same, and their words bear it out.")


class ReflectionRefusals(ResponseModel):
    """What the model proposed and was not taken, since the memories do not bear it out."""

    merges: int
    sentences: int
    insights: int
    answers: int = Field(description="Answers that were not believed at all.")


class ReflectionReceipt(ResponseModel):
    """What one time did, by the ids of memories; `proposed` waits for its owner."""

    id: str
    at: Timestamp
    status: Literal["done", "proposed", "undone"]
    asked: bool = Field(description="Its owner asked for it; else it was night.")
    model: str = Field(description="Which model judged; empty: none did.")
    facts: int = Field(description="Memories in use that it looked at.")
    merges: list[MergedPair]
    contradictions: list[tuple[str, str]]
    insights: list[str] = Field(description="Suggestions that it left to review.")
    profile: int = Field(description="Sentences of the profile that it wrote.")
    faded: int = Field(description="Memories that count more or less in search since.")
    looked_at: int = Field(description="Pairs that the model judged.")
    waiting: int = Field(description="Pairs left for the next time.")
    refused: ReflectionRefusals
    tokens: int
    note: str = Field(description="What was left, and why.")
    memories: dict[str, Memory] = Field(description="Those of the ids that are there, as they are now.")


class ReflectionPage(BaseModel):
    """How memory is put in order: what is under way, and what was done, the newest first."""

    running: ReflectionProgress | None
    fault: str | None = Field(description="Why the last one came to nothing.")
    mode: Literal["off", "suggest", "auto"] = Field(description="What is done at night.")
    hour: int
    items: list[ReflectionReceipt]
    cursor: str | None


class ProfileSentence(BaseModel):
    """A sentence, and the ids of the memories that it is told from."""

    text: str
    memories: list[str]


class MemoryProfile(BaseModel):
    """What is known of the owner, in prose."""

    at: Timestamp | None = Field(description="When it was written; null: never.")
    sentences: list[ProfileSentence]
    lost: int = Field(
        description="Sentences left out, since a memory that they were told from holds no longer."
    )


@router.get("/reflection", dependencies=[SEES_ALL])
async def list_reflections(
    app: Served, caller: Caller, *, limit: Limit = 10, cursor: Cursor = None
) -> ReflectionPage:
    """What was put in order, and what is under way."""
    page = await app.features.of(Reflections).list(caller, limit=limit, cursor=cursor)
    settings, owner = app.settings, caller.owner
    running = app.reflection.running.get(owner)
    return ReflectionPage(
        running=running and ReflectionProgress.of(running),
        fault=app.reflection.faults.get(owner),
        mode=settings.reflection,
        hour=settings.reflection_hour,
        items=await _receipts(app, caller, [item.record for item in page.items]),
        cursor=page.cursor,
    )


@router.post("/reflection", status_code=202, dependencies=[SEES_ALL])
async def start_reflection(app: Served, caller: Caller) -> ReflectionPage:
    """Put the memory in order now, in the background; it waits while you are answered."""
    app.reflection.start(caller.owner)
    return await list_reflections(app, caller)


@router.post("/reflection/{id}/undo", dependencies=[SEES_ALL], responses=documented(404, 409))
async def undo_reflection(id: str, app: Served, caller: Caller) -> ReflectionReceipt:
    """Take back all that one time did."""
    return (await _receipts(app, caller, [await app.features.of(Reflections).undo(caller, id)]))[0]


@router.post("/reflection/{id}/apply", dependencies=[SEES_ALL], responses=documented(404, 409))
async def apply_reflection(id: str, app: Served, caller: Caller) -> ReflectionReceipt:
    """Do what was proposed."""
    return (await _receipts(app, caller, [await app.features.of(Reflections).apply(caller, id)]))[0]


@router.get("/profile", dependencies=[SEES_ALL])
async def get_memory_profile(app: Served, caller: Caller) -> MemoryProfile:
    """What is known of you in prose, each sentence with its memories."""
    found = await app.features.of(Reflections).profile(caller)
    if found is None:
        return MemoryProfile(at=None, sentences=[], lost=0)
    told = [ProfileSentence(text=one.text, memories=list(one.facts)) for one in found.sentences]
    return MemoryProfile(at=to_datetime(found.at), sentences=told, lost=found.lost)


async def _receipts(app: App, caller: Principal, found: Sequence[Reflection]) -> list[ReflectionReceipt]:
    ids = {id for one in found for id in _ids(one)}
    facts = {fact.id: fact for fact in await app.memory.get(caller, [*ids]) if fact is not None}
    return [
        ReflectionReceipt.of(
            one,
            profile=len(one.profile),
            faded=len(one.faded),
            memories={id: Memory.of(facts[id]) for id in _ids(one) if id in facts},
        )
        for one in found
    ]


def _ids(one: Reflection) -> list[str]:
    pairs = (*((pair.kept, pair.gone) for pair in one.merges), *one.contradictions)
    return [*dict.fromkeys((*(id for pair in pairs for id in pair), *one.insights))]
