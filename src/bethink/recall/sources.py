"""Facts and turns as recall wants to know them. `app` wires a resolver a kind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bethink.conversations import speaker_of
from bethink.feature import Recallable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversations, StoredMessage
    from bethink.memory import Fact, Memory
    from bethink.memory.facts import Source
    from bethink.principal import Principal

_IMPORTANCE_OF_TURNS = 0.5
"""As much as a fact of which nobody said how much it matters."""
_RECALLED = ("active", "superseded")
_DOUBTS = {
    "contradicts": "another memory says otherwise",
    "depends": "what it rests on has changed",
    "unclear": "it is not certain",
}


@dataclass(frozen=True, slots=True)
class Facts:
    """The recallables of facts, present and past."""

    memory: Memory

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables of these facts, in order; None for what is gone."""
        return [fact and _of_fact(fact) for fact in await self.memory.get(principal, ids)]


@dataclass(frozen=True, slots=True)
class Turns:
    """The recallables of what was said in conversations."""

    conversations: Conversations

    async def __call__(self, principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        """The recallables of these messages, in order; None if gone, or taken back by an edit."""
        return [said and _of_turn(said) for said in await self.conversations.recallable(principal, ids)]


def _of_fact(fact: Fact) -> Recallable | None:
    if fact.state not in _RECALLED:
        return None
    return Recallable(
        text=fact.content,
        at=fact.created_at,
        importance=fact.importance,
        source=_named(fact.sources[0]) if fact.sources else None,
        valid_from=fact.valid_from,
        valid_until=fact.valid_until,
        doubt=doubt_of(fact),
        superseded_by=fact.superseded_by,
        untrusted=fact.trust == "untrusted",
        said_by=fact.sources,
    )


def doubt_of(fact: Fact) -> str | None:
    """Why the fact may not hold, in a few words; None where nothing speaks against it."""
    return _DOUBTS[fact.doubts[0].kind] if fact.doubts else None


def _named(source: Source) -> str:
    place = ":".join(part for part in (source.kind, source.id) if part)
    return f"{place}#{source.message}" if source.message else place


def _of_turn(said: StoredMessage) -> Recallable:
    return Recallable(
        text=said.message.content,
        at=said.at,
        importance=_IMPORTANCE_OF_TURNS,
        source=f"conversation:{said.conversation}#{said.id}",
        conversation=said.conversation,
        speaker=speaker_of(said),
        position=said.position,
        untrusted=said.untrusted,
    )
