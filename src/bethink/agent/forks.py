"""Where a run is to begin, when that is not behind a conversation's last message. `agent/runs` opens it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never

from bethink.conversations import continued, edited
from bethink.errors import BadInput
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from bethink.conversations import Conversation, Conversations, StoredMessage
    from bethink.messages import Attachment, Message
    from bethink.principal import Principal

_PAGE = 20


@dataclass(frozen=True, slots=True)
class Fork:
    """A place in a conversation, by a message's id on any branch.

    `edit` says something else in place of that message of the owner; `behind`
    goes on behind it; `again` answers anew what the owner said there, or what
    that message answers. What was there before stays, as another branch.
    """

    conversation: str
    message: str
    way: Literal["edit", "behind", "again"]


@dataclass(frozen=True, slots=True)
class Parting:
    """A fork whose message was read; for `again` it is the owner's that is answered."""

    stored: StoredMessage
    way: Literal["edit", "behind", "again"]

    def of(self, held: Conversation) -> Conversation:
        """The conversation's record with the branch made active on which the run goes on.

        Raises:
            BadInput: it has too many branches.
        """
        match self.way:
            case "edit":
                return edited(held, self.stored)
            case "behind" | "again":
                return continued(held, self.stored)
            case _:
                assert_never(self.way)


async def parting(conversations: Conversations, principal: Principal, fork: Fork) -> Parting:
    """The fork, with its message read.

    Raises:
        UnknownId: this owner has no such conversation, or it has no such message.
        BadInput: the message to edit is not the owner's, or nobody said what is to be answered.
    """
    stored = await conversations.message(principal, fork.conversation, fork.message)
    if fork.way == "edit" and not isinstance(stored.message, UserMessage):
        message = "Only what you said can be edited: name a message of yours."
        raise BadInput(message)
    if fork.way == "again":
        stored = await _answered(conversations, principal, stored)
    return Parting(stored, fork.way)


async def _answered(
    conversations: Conversations, principal: Principal, stored: StoredMessage
) -> StoredMessage:
    """What the owner said that the message answers; itself where it is the owner's."""
    held = (await conversations.get(principal, stored.conversation)).record
    before: int | None = stored.position + 1
    while before:
        page = await conversations.line(principal, held, limit=_PAGE, before=before, branch=stored.branch)
        for item in page.items:
            if isinstance(item.record.message, UserMessage):
                return item.record
        before = int(page.cursor) if page.cursor else None
    message = "There is nothing of yours before this message that could be answered again."
    raise BadInput(message)


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """The files that came with what the owner said."""
    return message.attachments if isinstance(message, UserMessage) else ()
