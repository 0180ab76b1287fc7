"""Which answers a memory was used in: told by what runs left on their last messages. `web/memories` asks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.conversations.records import CONVERSATIONS, MESSAGES, SIGHTINGS
from bethink.store import Scan, records_of

if TYPE_CHECKING:
    from bethink.conversations.records import StoredMessage
    from bethink.store import Store

_CONVERSATIONS: Final = 200
"""So many conversations are read through for one memory; of more, the newest."""

_TEXT_CHARS: Final = 400


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """An answer that was given with a memory; `is_cited` if its text names it as a source."""

    conversation: str
    title: str
    message: str
    position: int
    at: int
    is_cited: bool


@dataclass(frozen=True, slots=True)
class UsePlace:
    """Where a message stands: the conversation's title, its place there, and what it begins with."""

    conversation: str
    title: str
    position: int
    text: str


@dataclass(frozen=True, slots=True)
class MemoryUsage:
    """How many memories were shown in conversations, and how many answers had memories, or name one."""

    recalled: int
    answers: int
    cited: int


async def uses_of(store: Store, owner: str, memory: str) -> list[MemoryUse]:
    """The answers that a memory was given to, the newest first."""
    seen = Scan(SIGHTINGS, {"fact": memory}, limit=500)
    ids = [sighting.conversation async for sighting in records_of(store, owner, seen)]
    found = [one.record for one in await store.get(CONVERSATIONS, owner, ids) if one is not None]
    newest = sorted(found, key=lambda one: -one.updated_at)[:_CONVERSATIONS]
    uses: list[MemoryUse] = []
    for talk in newest:
        if talk.trashed_at:
            continue
        messages = Scan(MESSAGES, {"conversation": talk.id}, order="position", limit=500)
        async for stored in records_of(store, owner, messages):
            cited = any(mark.id == memory for mark in stored.used)
            if cited or any(one.id == memory for one in stored.recalled):
                uses.append(
                    MemoryUse(talk.id, talk.title, stored.id, stored.position, stored.at, is_cited=cited)
                )
    return sorted(uses, key=lambda use: -use.at)


async def places_of(store: Store, owner: str, messages: list[str]) -> dict[str, UsePlace]:
    """Where messages stand, by their ids, without those that are gone."""
    found: list[StoredMessage] = [
        one.record for one in await store.get(MESSAGES, owner, messages) if one is not None
    ]
    ids = [*dict.fromkeys(one.conversation for one in found)]
    talks = await store.get(CONVERSATIONS, owner, ids)
    titles = {one.record.id: one.record.title for one in talks if one is not None}
    return {
        one.id: UsePlace(
            one.conversation, titles[one.conversation], one.position, one.message.content[:_TEXT_CHARS]
        )
        for one in found
        if one.conversation in titles
    }


async def usage_of(store: Store, owner: str) -> MemoryUsage:
    """How much memories are used, in one pass over the sightings and one over the messages."""
    shown = {one.fact async for one in records_of(store, owner, Scan(SIGHTINGS, limit=500))}
    answers = cited = 0
    if shown:
        async for stored in records_of(store, owner, Scan(MESSAGES, limit=500)):
            answers += bool(stored.recalled)
            cited += bool(stored.used)
    return MemoryUsage(len(shown), answers, cited)
