"""`/memories/health`, `/stats`, `/log` and `/consolidate`: the memory looked after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.maintenance.health import Trouble
from bethink.memory import LARGEST_SHARE, THRESHOLD
from bethink.memory.steps import StepKind
from bethink.web.deps import SEES_ALL, Body, Caller, Cursor, Limit, ResponseModel, Served, Shaded, Timestamp
from bethink.web.memories import Memory, seen_of
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.memory import Fact, LogStep

router = APIRouter(prefix="/memories", tags=["memories"])

Share = Annotated[float, Field(gt=0, le=1)]


class MemoryFinding(ResponseModel):
    """One kind of trouble in the memory."""

    trouble: Trouble
    count: int = Field(description="Of missing vectors, 1,000 are counted at most.")
    about: str = Field(description="What they do, to be read behind the count.")
    mend: str = Field(description="The command that mends it.")
    examples: list[str] = Field(description="Ids of some of them.")


class MemoryHealth(BaseModel):
    """What needs a look; empty where all is well."""

    findings: list[MemoryFinding]


class MemoryNumbers(ResponseModel):
    """How many memories there are, by what they are."""

    facts: int
    pinned: int
    doubted: int
    states: dict[str, int]
    categories: dict[str, int] = Field(description="Of those in use, the most frequent first.")
    sources: dict[str, int]
    months: dict[str, int] = Field(description="When those in use were learnt, as `2026-11`, in UTC.")
    bytes_on_disk: int = Field(description="The whole database.")
    warning: str | None = Field(description="Why recall works less well than it should.")


class MemoryStep(ResponseModel):
    """One change of the memory."""

    id: str
    at: Timestamp
    change: StepKind
    count: int = Field(description="How many memories it changed.")
    memory: Memory | None = Field(description="The first of them, as it is now; null where it was forgotten.")
    undo: str | None = Field(description="Takes it back, as long as nothing was changed since.")


class MemoryLog(BaseModel):
    """What was changed, the newest first."""

    items: list[MemoryStep]
    cursor: str | None = Field(description="Leads to the next page; null at the end.")


class ConsolidationBody(Body):
    """How to merge memories that say the same."""

    preview: bool = Field(default=False, description="Say what would be, and write nothing.")
    threshold: Share = Field(default=THRESHOLD, description="Least cosine of two that are compared.")
    share: Share = Field(
        default=LARGEST_SHARE, description="Of all memories, the most that may be merged away."
    )


class MemoryMerge(ResponseModel):
    """A memory and the duplicates taken into it."""

    kept: Memory
    gone: list[Memory]


class Consolidation(ResponseModel):
    """What was merged, or would be."""

    facts: int = Field(description="Memories in use before.")
    merges: list[MemoryMerge]
    waiting: int = Field(description="Duplicates left for the next time.")
    undo: str | None


@router.get("/health", dependencies=[SEES_ALL])
async def get_memory_health(app: Served, caller: Caller) -> MemoryHealth:
    """What in the memory needs a look, each with what mends it."""
    found = await app.health.check(caller)
    return MemoryHealth(findings=[MemoryFinding.of(finding) for finding in found])


@router.get("/stats", dependencies=[SEES_ALL])
async def get_memory_stats(app: Served, caller: Caller) -> MemoryNumbers:
    """The memory in numbers."""
    return MemoryNumbers.of(await app.statistics.numbers(caller))


@router.get("/log")
async def get_memory_log(
    app: Served, caller: Caller, shade: Shaded, *, limit: Limit = 50, cursor: Cursor = None
) -> MemoryLog:
    """What was changed, the newest first, each with the token that takes it back."""
    page = await app.memory.log(caller, limit=limit, cursor=cursor)
    steps = [item.record for item in page.items]
    facts = await app.memory.get(caller, [step.facts[0].id for step in steps if step.facts])
    known = {fact.id: fact for fact in seen_of([*filter(None, facts)], shade)}
    told = [step for step in steps if shade is None or (step.facts and step.facts[0].id in known)]
    return MemoryLog(items=[_step(step, known) for step in told], cursor=page.cursor)


@router.post("/consolidate", dependencies=[SEES_ALL], responses=documented(409))
async def consolidate_memories(body: ConsolidationBody, app: Served, caller: Caller) -> Consolidation:
    """Merge memories that say the same, in one step, which `undo` takes back."""
    return Consolidation.of(
        await app.memory.consolidate(caller, threshold=body.threshold, share=body.share, preview=body.preview)
    )


def _step(step: LogStep, facts: dict[str, Fact]) -> MemoryStep:
    first = facts.get(step.facts[0].id) if step.facts else None
    return MemoryStep.of(step, count=len(step.facts), memory=first)
