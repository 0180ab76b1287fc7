"""What was said in conversations, as a feature."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bethink.conversations.records import (
    CONVERSATIONS,
    KIND,
    LOOKUP_KIND,
    MESSAGES,
    SIGHTINGS,
    StoredMessage,
    speaker_of,
)
from bethink.conversations.service import Conversations
from bethink.feature import Feature, OpenFeature, Recallable, RecallKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.feature import Surroundings
    from bethink.principal import Principal

_IMPORTANCE = 0.5
"""As much as a fact of which nobody said how much it matters."""


def _open(at: Surroundings) -> OpenFeature:
    async def resolve(principal: Principal, ids: Sequence[str]) -> Sequence[Recallable | None]:
        return [said and recallable_of(said) for said in await conversations.recallable(principal, ids)]

    conversations = Conversations(at.store, at.clock, at.new_id)
    return OpenFeature(
        service=conversations, recall=[RecallKind(name=KIND, resolve=resolve, lookups=LOOKUP_KIND)]
    )


FEATURE = Feature(
    name="conversations",
    open=_open,
    collections=(CONVERSATIONS, MESSAGES, SIGHTINGS),
    counted={"conversations": ("conversation", CONVERSATIONS), "messages": ("message", MESSAGES)},
    sources={"conversation": CONVERSATIONS},
    routes=("bethink.web.conversations",),
    commands="bethink.cli.conversations",
)


def recallable_of(said: StoredMessage) -> Recallable:
    """What recall shows of a message."""
    return Recallable(
        text=said.message.content,
        at=said.at,
        importance=_IMPORTANCE,
        source=f"conversation:{said.conversation}#{said.id}",
        conversation=said.conversation,
        speaker=speaker_of(said),
        position=said.position,
        untrusted=said.untrusted,
    )
