"""Turns as programs store and read them: what was asked, what was answered, and what the program says of it.

`recall/conversation_memory` gives them out. A turn that a program stores is kept as two messages of a
conversation like any other. Source: spec 004, "Memory Service" (`MemoryEntry`) and "Memory Entry Schema".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

import msgspec

from bethink.clock import to_datetime
from bethink.conversations.records import checked_content
from bethink.errors import BadInput, BethinkError
from bethink.messages import AssistantMessage, ToolMessage, UserMessage

if TYPE_CHECKING:
    from bethink.conversations.records import Conversation, StoredMessage

MAX_ID_CHARS: Final = 200
MAX_METADATA: Final = 32
MAX_NAME_CHARS: Final = 60
MAX_VALUE_CHARS: Final = 2_000
RESERVED: Final = ("conversation_id", "since", "until")
"""Names of filters, which no metadata has."""
_IDS: Final = uuid.UUID("6f0f8a4e-4c1e-5f0d-9a3b-2d7c5b1e9f60")
"""The name space of ids that are made of other programs' ids."""
_OWN_VERSION: Final = 7
"""Of the UUIDs that `clock.Ids` makes; programs that name chats by UUIDs use version 4."""


class MemoryEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A turn. `conversation_id` is the storing program's own, if one stored it."""

    id: str
    conversation_id: str
    user_message: str
    assistant_message: str
    timestamp: datetime
    metadata: dict[str, str] = {}


@dataclass(frozen=True, slots=True)
class NewTurn:
    """A turn that a program stores: checked, so that it can be kept."""

    conversation_id: str
    user_message: str
    assistant_message: str
    metadata: tuple[tuple[str, str], ...] = ()

    @classmethod
    def checked(
        cls,
        conversation_id: object,
        *,
        user_message: object,
        assistant_message: object,
        metadata: object,
        max_chars: int,
    ) -> NewTurn:
        """The turn of these words.

        Raises:
            BadInput: one of them is not fit; the message names it and says why.
        """
        return cls(
            checked_id("conversation_id", conversation_id),
            _text("user_message", user_message, max_chars),
            _text("assistant_message", assistant_message, max_chars),
            _metadata(metadata),
        )


def checked_id(name: str, value: object) -> str:
    """What a program calls something.

    Raises:
        BadInput: it is no text, empty, too long, or has control characters.
    """
    if not isinstance(value, str) or not 0 < len(value) <= MAX_ID_CHARS or not value.isprintable():
        raise BadInput(f"{name} is {value!r:.60}: give a text of 1 to {MAX_ID_CHARS} printable characters.")
    return value


def conversation_id_of(caller_id: str) -> str:
    """The id of the conversation to which a program gives this id: always the same."""
    return str(uuid.uuid5(_IDS, caller_id))


def looks_own(conversation: str) -> bool:
    """Whether an id has the form of those that conversations get here, so that no program made it up."""
    try:
        return uuid.UUID(conversation).version == _OWN_VERSION
    except ValueError:
        return False


def _text(name: str, value: object, max_chars: int) -> str:
    if not isinstance(value, str):
        raise BadInput(f"{name} is {value!r:.60}: give a text.")
    try:
        return checked_content(value, max_chars)
    except BethinkError as error:
        raise type(error)(f"{name}: {error}") from error


def _metadata(given: object) -> tuple[tuple[str, str], ...]:
    if given is None:
        return ()
    if not isinstance(given, Mapping) or len(cast("Mapping[object, object]", given)) > MAX_METADATA:
        raise BadInput(f"metadata is {given!r:.60}: give at most {MAX_METADATA} names with a text each.")
    return tuple(_pair(name, value) for name, value in cast("Mapping[object, object]", given).items())


def _pair(name: object, value: object) -> tuple[str, str]:
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS or not name.isprintable():
        raise BadInput(
            f"metadata has the name {name!r:.80}: names have 1 to {MAX_NAME_CHARS} printable characters."
        )
    if name in RESERVED:
        raise BadInput(f"metadata has the name {name!r}, which is a filter's: choose another name.")
    if not isinstance(value, str) or len(value) > MAX_VALUE_CHARS:
        raise BadInput(
            f"metadata[{name!r}] is {value!r:.60}: give a text of at most {MAX_VALUE_CHARS:,} characters."
        )
    return name, value.encode("utf-8", "ignore").decode().replace("\0", "")


@dataclass(slots=True)
class Turn:
    """Messages that belong together: a person's, and the texts that answered it."""

    first: StoredMessage
    user: list[str] = field(default_factory=list[str])
    assistant: list[str] = field(default_factory=list[str])
    ids: list[str] = field(default_factory=list[str])

    def entry(self, held: Conversation) -> MemoryEntry:
        """The turn as programs read it."""
        return MemoryEntry(
            id=self.first.id,
            conversation_id=held.caller_id or held.id,
            user_message="\n\n".join(self.user),
            assistant_message="\n\n".join(self.assistant),
            timestamp=to_datetime(self.first.at),
            metadata=dict(self.first.metadata),
        )


def turns_of(said: Iterable[StoredMessage]) -> list[Turn]:
    """The turns of messages in their order. Calls of tools, their results and slash commands are none."""
    turns: list[Turn] = []
    for one in said:
        message = one.message
        if one.aside or one.withdrawn or isinstance(message, ToolMessage) or not message.content.strip():
            continue
        if isinstance(message, UserMessage) or not turns:
            turns.append(Turn(one))
        turn = turns[-1]
        match message:
            case UserMessage(content=content):
                turn.user.append(content)
            case AssistantMessage(content=content, tool_calls=calls):
                turn.assistant += [] if calls else [content]
        turn.ids.append(one.id)
    return turns
