"""`/memories`: what is known about the owner, to read, correct, undo and take along; its health and log."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal
from zoneinfo import ZoneInfo

import anyio.to_thread
import msgspec
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from bethink.clock import to_datetime, to_us
from bethink.errors import BadInput, TooLarge, UnknownId
from bethink.export.service import FORMATS
from bethink.memory import LARGEST_SHARE, THRESHOLD, Fact, FactChange, NewFact
from bethink.memory.facts import StepKind, Trust
from bethink.memory.selection import FactSelection
from bethink.recall.service import answering
from bethink.vault.filters.patterns import HIDDEN
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Cursor,
    Items,
    KnownTime,
    Label,
    Limit,
    Moment,
    Page,
    ResponseModel,
    Served,
    Timestamp,
)
from bethink.web.problems import documented
from bethink.web.sse import begun

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.principal import Principal
    from bethink.visibility.reader_filter import ReaderFilter

router = APIRouter(prefix="/memories", tags=["memories"])


ChangeKind = Literal[
    "added", "merged", "superseded", "corrected", "suggested", "retracted", "restored", "forgotten"
]
State = Literal["active", "suggested", "superseded", "corrected", "merged", "retracted"]
Content = Annotated[str, Field(min_length=1, description="One clear fact, at most 8,000 characters.")]
Importance = Annotated[float, Field(ge=0, le=1)]
Topics = Annotated[list[str], Field(max_length=32)]


class MemorySource(ResponseModel):
    """Where a memory came from."""

    kind: str
    id: str | None
    message: str | None
    at: KnownTime


class MemoryDoubt(ResponseModel):
    """Why a memory may no longer be true; `memory` contradicts it, or it depended on that."""

    kind: Literal["contradicts", "depends", "unclear"]
    memory: str | None = Field(validation_alias="fact")
    at: KnownTime


class Memory(ResponseModel):
    """One fact. `created_at` is when it was learnt, `valid_…` when it was true."""

    id: str
    content: str
    category: str
    importance: float
    topics: list[str]
    created_at: Timestamp
    valid_from: Timestamp | None
    valid_until: Timestamp | None
    state: State
    pinned: bool
    sources: list[MemorySource]
    supersedes: list[str] = Field(description="Memories that were true until this one took their place.")
    corrects: list[str] = Field(description="Memories that never were true, and whose place it took.")
    superseded_by: str | None = Field(description="The memory that took its place, or took it in.")
    depends_on: list[str]
    about: str = Field(
        description="Whom or what it is about: `owner`, a name, or what they are to the owner (`sister`).",
    )
    doubts: list[MemoryDoubt]


class FoundMemory(Memory):
    """A fact that a search found."""

    score: float = Field(description="0..1, comparable between searches.")


class MemoryPage(Page[FoundMemory | Memory]):
    """Some memories, newest first, or best first where a query was asked."""

    total: int
    answering: int | None = Field(
        default=None,
        description="How many of the first answer the query; the others are merely nearest. Null: no query.",
    )


class MemoryChange(ResponseModel):
    """What became of a memory; `undo` takes the change back, where that can be.

    `others` are memories that the change superseded or put in doubt, as they are now.
    """

    memory: Memory
    change: ChangeKind
    undo: str | None
    others: list[Memory]
    near: list[Memory] = Field(
        description="In use and nearest to a new one: to name in `repeats`, `replaces` or `corrects`."
    )
    count: int = Field(description="How many memories were changed: `memory` is the first of them.")


class MemoryEvent(ResponseModel):
    """One change of a memory or of what it was before; `undo` takes it back, if nothing was changed since."""

    at: Timestamp
    change: StepKind
    memory: str
    undo: str | None


class MemoryHistory(Items[Memory]):
    """What a memory was and what it became, oldest first, and what was done, newest first."""

    events: list[MemoryEvent]


Ids = Annotated[list[Annotated[str, Field(max_length=100)]], Field(max_length=32)]
About = Annotated[
    str,
    Field(max_length=64, description="Whom or what it is about; empty: what its words tell. See `Memory`."),
]


class MemoryDraft(Body):
    """A memory to keep, and how it stands to others, by their ids."""

    content: Content
    category: Label = "general"
    importance: Importance = 0.5
    topics: Topics = Field(default_factory=list)
    pinned: bool = False
    suggested: Annotated[bool, Field(description="Leave it to the owner's review.")] = False
    valid_from: Moment = None
    valid_until: Moment = None
    depends_on: Annotated[
        Ids, Field(description="Memories that it rests on: it is doubted when they change.")
    ] = Field(default_factory=list)
    repeats: Annotated[Ids, Field(description="Memories that say the same: they become one.")] = Field(
        default_factory=list
    )
    replaces: Annotated[Ids, Field(description="Memories that were true and are past now.")] = Field(
        default_factory=list
    )
    corrects: Annotated[Ids, Field(description="Memories that never were true.")] = Field(
        default_factory=list
    )
    about: About = ""


class MemoryPatch(Body):
    """What to change; what is left out stays.

    Other words say that it has changed: the memory was true until then. With `wrong` it never was.
    """

    wrong: bool = False
    valid_from: Moment = None
    valid_until: Moment = None
    depends_on: Ids | None = None
    about: About | None = None

    content: Content | None = None
    category: Label | None = None
    importance: Importance | None = None
    topics: Topics | None = None
    pinned: bool | None = None


class UndoBody(Body):
    """The token that came with a change."""

    token: str = Field(max_length=200)


Share = Annotated[float, Field(gt=0, le=1)]


class MemoryFinding(ResponseModel):
    """One kind of trouble in the memory."""

    trouble: str = Field(description="What kind, in a word.")
    count: int = Field(description="Of missing vectors, 1,000 are counted at most.")
    about: str = Field(description="What they do, to be read behind the count.")
    mend: str = Field(description="The command that fixes it.")
    examples: list[str] = Field(description="Ids of some of them.")


class MemoryHealth(BaseModel):
    """The problems found; empty if there are none."""

    findings: list[MemoryFinding]


class MemoryNumbers(ResponseModel):
    """How many memories there are, by what they are."""

    facts: int
    first_at: Timestamp | None = Field(description="When the oldest was learnt.")
    pinned: int
    doubted: int
    states: dict[str, int]
    categories: dict[str, int] = Field(description="Of those in use, the most frequent first.")
    sources: dict[str, int]
    projects: dict[str, int] = Field(description="Of those in use.")
    trusts: dict[str, int] = Field(description="Of those in use, by whose word they are.")
    abouts: dict[str, int] = Field(description="Of those in use, whom or what they are about.")
    months: dict[str, int] = Field(description="When those in use were learnt, as `2026-11`, in UTC.")
    bytes_on_disk: int = Field(description="The whole database.")
    warning: str | None = Field(description="Why recall works less well than it should.")


class MemoryStep(ResponseModel):
    """One change of the memory."""

    id: str
    at: Timestamp
    change: StepKind
    count: int = Field(description="How many memories it changed.")
    memory: Memory | None = Field(description="The first of them, as it is now; null if it was forgotten.")
    undo: str | None = Field(description="Undoes it, if nothing was changed since.")


class MemoryLog(Page[MemoryStep]):
    """What was changed, the newest first."""


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


_SPOOLED_BYTES = 1_000_000
FormatName = Literal["jsonl", "md", "csv", "data.json"]


class BadImportLine(BaseModel):
    """A line that was not imported, and why."""

    line: int
    reason: str


class MemoryImport(BaseModel):
    """What became of a file."""

    id: str = Field(description="The same for the same bytes.")
    format: FormatName
    lines: int = Field(description="Those that say something.")
    restored: int = Field(description="Put back as they were exported.")
    said: int = Field(description="Conversations and messages put back.")
    added: int
    merged: int = Field(description="Merged with known memories.")
    known: int = Field(description="Changed nothing.")
    differing: int = Field(description="Changed here since they were exported, and left as they are here.")
    refused: int
    bad: list[BadImportLine] = Field(description="The first hundred of those refused.")
    preview: bool
    undo: str | None = Field(description="Undoes the import.")


@router.get("/health", dependencies=[SEES_ALL])
async def get_memory_health(app: Served, caller: Caller) -> MemoryHealth:
    """What in the memory needs a look, each with what mends it."""
    found = await app.features.check(caller)
    return MemoryHealth(findings=[MemoryFinding.of(finding) for finding in found])


@router.get("/stats", dependencies=[SEES_ALL])
async def get_memory_stats(app: Served, caller: Caller) -> MemoryNumbers:
    """The memory in numbers."""
    return MemoryNumbers(**await app.statistics.numbers(caller, "memory"))


@router.get("/log")
async def get_memory_log(
    app: Served, caller: Caller, reader_filter: CallerFilter, *, limit: Limit = 50, cursor: Cursor = None
) -> MemoryLog:
    """What was changed, the newest first, each with the token that takes it back."""
    page = await app.memory.log(caller, limit=limit, cursor=cursor)
    steps = [item.record for item in page.items]
    facts = await app.memory.get(caller, [step.facts[0].id for step in steps if step.facts])
    known = {fact.id: fact for fact in visible([*filter(None, facts)], reader_filter)}
    told = [step for step in steps if reader_filter is None or (step.facts and step.facts[0].id in known)]
    items = [
        MemoryStep.of(step, count=len(step.facts), memory=known.get(step.facts[0].id) if step.facts else None)
        for step in told
    ]
    return MemoryLog(items=items, cursor=page.cursor)


@router.post("/consolidate", dependencies=[SEES_ALL], responses=documented(409))
async def consolidate_memories(body: ConsolidationBody, app: Served, caller: Caller) -> Consolidation:
    """Merge duplicates in one step, which `undo` reverts."""
    return Consolidation.of(
        await app.memory.consolidate(caller, threshold=body.threshold, share=body.share, preview=body.preview)
    )


def _selection(
    *,
    category: Label | None = None,
    project: Label | None = None,
    doubted: Annotated[bool, Query(description="Only those in doubt.")] = False,
    pinned: Annotated[bool | None, Query(description="Only those that are pinned, or that are not.")] = None,
    trust: Annotated[Trust | None, Query(description="Whose word they are.")] = None,
    about: Annotated[
        Label | None, Query(description="Whom they are about: `owner`, or as `about` says.")
    ] = None,
    source: Annotated[Label | None, Query(description="Kind of a source, such as `conversation`.")] = None,
    state: State | Literal["all"] = "active",
    since: Annotated[Moment, Query(description="Learnt at or after this time.")] = None,
    until: Annotated[Moment, Query(description="Learnt before this time.")] = None,
    as_of: Annotated[
        Moment,
        Query(
            description="What was known and in use at this time, whatever became of it since, without what"
            " was wrong: with a `state` those that are so by now, with `all` all of them."
        ),
    ] = None,
    order: Annotated[
        Literal["newest", "category"],
        Query(description="Newest first, or the largest category first and in it the newest."),
    ] = "newest",
) -> FactSelection:
    return FactSelection(
        state=None if state == "all" else state,
        category=category,
        project=project,
        doubted=doubted,
        pinned=pinned,
        trust=trust,
        about=about,
        source=source,
        since=since and to_us(since),
        until=until and to_us(until),
        as_of=as_of and to_us(as_of),
        order=order,
    )


@router.get("")
async def list_memories(
    app: Served,
    caller: Caller,
    reader_filter: CallerFilter,
    selection: Annotated[FactSelection, Depends(_selection)],
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    query: Annotated[str | None, Query(max_length=2000, description="Search, best first.")] = None,
) -> MemoryPage:
    """Memories, newest first; with `query` those in use that are nearest to it, best first, in one page."""
    if query is not None and query.strip():
        if selection.state != "active" or cursor is not None:
            raise BadInput(
                "A search finds active memories, in one page: leave out state and cursor, or the query."
            )
        found = await app.memory.search(caller, query, k=limit, selection=selection)
        items = [FoundMemory.of(fact, score=score) for fact, score in found]
        count = answering([score for _, score in found])
        return MemoryPage(items=list(items), cursor=None, total=len(items), answering=count)
    page, total = await app.memory.select(caller, selection, limit=limit, cursor=cursor)
    items = [Memory.of(fact) for fact in visible([item.record for item in page.items], reader_filter)]
    return MemoryPage(items=items, cursor=page.cursor, total=total)


@router.post("", status_code=201, responses=documented(507))
async def add_memory(
    body: MemoryDraft, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Keep a memory: what is known is merged, what it plainly supersedes is superseded.

    What it contradicts is put in doubt together with it. What it `repeats`, `replaces` or `corrects` is put
    away so; ids that are not there change nothing.
    """
    fact = NewFact(**body.given("about"), about=body.about or None)
    return change_of(await app.memory.add(caller, fact), reader_filter)


@router.post("/undo", responses=documented(404, 409))
async def undo_memory_change(
    body: UndoBody, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Take back a change."""
    return change_of(await app.memory.undo(caller, body.token), reader_filter)


@router.get(
    "/export",
    response_class=StreamingResponse,
    responses={
        200: {"description": "The file.", "content": {one.media_type: {} for one in FORMATS.values()}}
    },
)
async def export_memories(
    app: Served,
    caller: Caller,
    *,
    format: Annotated[FormatName, Query(description="`jsonl`, `md` and `csv` lose nothing.")] = "jsonl",
    conversations: Annotated[bool, Query(description="With all that was said, in `jsonl` only.")] = False,
) -> StreamingResponse:
    """Everything that is known, as a file."""
    # What cannot be exported is a problem, and no file that breaks off.
    parts = await begun(app.portability.export(caller, format, conversations=conversations))
    now: datetime = to_datetime(app.ports.clock.now_us()).astimezone(ZoneInfo(caller.time_zone))
    name = f"bethink-memory-{now:%Y-%m-%d}{FORMATS[format].suffix}"
    return StreamingResponse(
        parts,
        media_type=FORMATS[format].media_type,
        headers={"content-disposition": f'attachment; filename="{name}"'},
    )


@router.post(
    "/import",
    responses=documented(507),
    openapi_extra={"requestBody": {"required": True, "content": {"application/octet-stream": {}}}},
)
async def import_memories(
    request: Request,
    app: Served,
    caller: Caller,
    *,
    format: Annotated[
        FormatName | Literal["auto"], Query(description="Known by how the file begins, unless named.")
    ] = "auto",
    preview: Annotated[bool, Query(description="Say what would be, and write nothing.")] = False,
) -> MemoryImport:
    """Take in a file, which is the request's body; what is known already changes nothing."""
    size, limit = 0, app.settings.max_import_bytes
    with tempfile.SpooledTemporaryFile(_SPOOLED_BYTES) as file:
        async for part in request.stream():
            size += len(part)
            if size > limit:
                raise TooLarge(
                    f"The file is larger than {limit // 1_000_000:,} MB (BETHINK_MAX_IMPORT_BYTES). `bethink "
                    "memory import` takes any size."
                )
            await anyio.to_thread.run_sync(file.write, part)
        if not size:
            raise BadInput("The request has no body: send the file itself.")
        report = await app.portability.import_file(caller, file, format=format, preview=preview)  # pyright: ignore[reportArgumentType] - it does all that a file does
    return MemoryImport.model_validate(report, from_attributes=True)


@router.get("/{memory}", responses=documented(404))
async def get_memory(memory: str, app: Served, caller: Caller, reader_filter: CallerFilter) -> Memory:
    """One memory, whatever its state."""
    return Memory.of(await fact_of(app, caller, memory, reader_filter))


@router.patch("/{memory}", responses=documented(404, 409, 507))
async def edit_memory(
    memory: str, body: MemoryPatch, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Change a memory: new content takes its place, and it keeps its time, or with `wrong` was never true."""
    old = await fact_of(app, caller, memory)
    new = replace(old.statement, **body.given("wrong"))
    return change_of(await app.memory.edit(caller, memory, new, wrong=body.wrong), reader_filter)


@router.post("/{memory}/accept", responses=documented(404, 409))
async def accept_memory(
    memory: str, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Make a suggestion (`state=suggested` lists them) the owner's own, as if they had said it."""
    return change_of(await app.memory.accept(caller, memory), reader_filter)


@router.post("/{memory}/reject", responses=documented(404, 409))
async def reject_memory(
    memory: str, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Take a suggestion away; the same words are not suggested again."""
    return change_of(await app.memory.reject(caller, memory), reader_filter)


@router.get("/{memory}/history", responses=documented(404))
async def get_memory_history(
    memory: str, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryHistory:
    """The memories that this one corrected and by which it was corrected, oldest first, itself among them."""
    await fact_of(app, caller, memory, reader_filter)
    history = visible(await app.memory.history(caller, memory), reader_filter)
    steps = await app.memory.steps_of(caller, [fact.id for fact in history])
    events = [MemoryEvent.of(step, memory=id) for step, id in steps]
    return MemoryHistory(items=[Memory.of(fact) for fact in history], events=events)


async def fact_of(
    app: App, caller: Principal, memory: str, reader_filter: ReaderFilter | None = None
) -> Fact:
    """The fact with this id, whatever its state, without what a `reader_filter` hides.

    Raises:
        UnknownId: there is none.
    """
    (found,) = await app.memory.get(caller, [memory])
    if found is not None and reader_filter is not None:
        found = reader_filter.fact(found)
    if found is None:
        raise UnknownId("No such memory: it may have been forgotten.")
    return found


def visible(facts: Sequence[Fact], reader_filter: ReaderFilter | None) -> Sequence[Fact]:
    """The facts without what is hidden."""
    if reader_filter is None:
        return facts
    return [seen for fact in facts if (seen := reader_filter.fact(fact)) is not None]


def change_of(changed: FactChange, reader_filter: ReaderFilter | None = None) -> MemoryChange:
    """A change as JSON; of a fact that is hidden from who changed it the words are not said."""
    fact = changed.fact if reader_filter is None else reader_filter.fact(changed.fact)
    return MemoryChange.of(
        changed,
        memory=Memory.of(fact or msgspec.structs.replace(changed.fact, content=HIDDEN, topics=())),
        others=visible(changed.others, reader_filter),
        near=visible(changed.near, reader_filter),
    )
