"""What the room Memory asks beside the list: who used what, duplicates, the graph, many changes at once."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from bethink.conversations.uses import places_of, usage_of, uses_of
from bethink.graph.service import MOST_ITEMS
from bethink.memory.aliases import OtherNames
from bethink.memory.batch import BatchEdit
from bethink.web.deps import (
    SEES_ALL,
    Body,
    Caller,
    CallerFilter,
    Items,
    Label,
    ResponseModel,
    Served,
    Timestamp,
)
from bethink.web.documents.graph import DocumentGraphShown, shown
from bethink.web.memories import About, Memory, MemoryChange, change_of, fact_of
from bethink.web.problems import documented

router = APIRouter(prefix="/memories", tags=["memories"])


class MemoryUse(ResponseModel):
    """An answer that was given with a memory."""

    conversation: str
    title: str
    message: str
    position: int
    at: Timestamp
    is_cited: bool = Field(description="Its text names the memory as a source.")


class MessagePlace(ResponseModel):
    """Where a message stands, and what it begins with."""

    conversation: str
    title: str
    position: int
    text: str


class MemoryUses(Items[MemoryUse]):
    """Who used a memory, the newest answer first, and where the messages stand that it comes from."""

    sources: dict[str, MessagePlace] = Field(
        description="By the ids of messages, those that are still there."
    )


class LikelyDuplicate(ResponseModel):
    """Two memories that may say the same; `likeness` is how near they are in meaning, 0..1."""

    kept: Memory
    gone: Memory
    likeness: float


class LikelyDuplicates(Items[LikelyDuplicate]):
    """What a person may want to merge, the likest first."""


Ids = Annotated[list[str], Field(min_length=1, max_length=500)]


class BatchBody(Body):
    """What several memories are to become; what is left out stays."""

    ids: Ids
    retract: bool = False
    pinned: bool | None = None
    category: Label | None = None
    about: About | None = None
    also: About | None = Field(
        default=None,
        description="Another name of whom they are `about`: what is told by it is about them from now on.",
    )


class MergeBody(Body):
    """Memories that say the same as `keep`, and go into it."""

    keep: str
    gone: Ids


class AliasShown(ResponseModel):
    """That `name` means who is called `about`."""

    id: str
    name: str
    about: str


class Aliases(Items[AliasShown]):
    """The other names of people and things."""


class MemoryUsageNumbers(ResponseModel):
    """What became of memories in answers."""

    recalled: int = Field(description="Memories that were shown to a model or found in a conversation.")
    answers: int = Field(description="Answers that were given with memories.")
    cited: int = Field(description="Answers whose text names a memory as a source.")


@router.get("/usage", dependencies=[SEES_ALL])
async def get_memory_usage(app: Served, caller: Caller) -> MemoryUsageNumbers:
    """How much memories are used, from what the answers kept."""
    return MemoryUsageNumbers.of(await usage_of(app.ports.store, caller.owner))


@router.get("/graph", dependencies=[SEES_ALL])
async def get_memory_graph(
    app: Served, caller: Caller, *, limit: Annotated[int, Query(ge=1, le=MOST_ITEMS)] = 300
) -> DocumentGraphShown:
    """How memories, pages and documents that changed last hang together, whatever `graph_enabled` is."""
    return shown(await replace(app.graph, enabled=True).view(caller, limit=limit))


@router.get("/duplicates", dependencies=[SEES_ALL])
async def get_likely_duplicates(app: Served, caller: Caller) -> LikelyDuplicates:
    """Pairs that may say the same, for a person to look at: nothing merges them by itself."""
    pairs = await app.memory.likely_duplicates(caller)
    return LikelyDuplicates(items=[LikelyDuplicate.of(pair) for pair in pairs])


@router.post("/batch", responses=documented(404, 409))
async def change_memories(
    body: BatchBody, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Retract, pin, file or say whom several memories are about, in one step that `undo` takes back."""
    edit = BatchEdit(**body.model_dump(exclude={"ids"}))
    return change_of(await app.memory.edit_many(caller, body.ids, edit), reader_filter)


@router.post("/merge", responses=documented(404, 409))
async def merge_memories(
    body: MergeBody, app: Served, caller: Caller, reader_filter: CallerFilter
) -> MemoryChange:
    """Take memories into one that says the same, with their sources and topics; `undo` parts them again."""
    return change_of(await app.memory.merge(caller, body.keep, body.gone), reader_filter)


@router.get("/aliases", dependencies=[SEES_ALL])
async def get_aliases(app: Served, caller: Caller) -> Aliases:
    """Other names of people and things, the oldest first: Bert is Roberto."""
    found = await app.features.of(OtherNames).list(caller.owner)
    return Aliases(items=[AliasShown.of(one) for one in found])


@router.delete("/aliases/{alias}", status_code=204, dependencies=[SEES_ALL], responses=documented(404))
async def remove_alias(alias: str, app: Served, caller: Caller) -> None:
    """Let a name mean nobody else any more; memories stay where they are filed."""
    await app.features.of(OtherNames).remove(caller, alias)


@router.get("/{memory}/uses", dependencies=[SEES_ALL], responses=documented(404))
async def get_memory_uses(memory: str, app: Served, caller: Caller) -> MemoryUses:
    """The answers that were given with a memory, and where the messages stand that it comes from."""
    fact = await fact_of(app, caller, memory)
    store = app.ports.store
    uses = await uses_of(store, caller.owner, memory)
    said = [source.message for source in fact.sources if source.message is not None]
    places = await places_of(store, caller.owner, said)
    sources = {id: MessagePlace.of(place) for id, place in places.items()}
    return MemoryUses(items=[MemoryUse.of(use) for use in uses], sources=sources)
