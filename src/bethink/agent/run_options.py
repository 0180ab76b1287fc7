"""What one run may have of its own: its caller's options, its door's resources, and where it branches off.

Doors fill these in from a request; `agent/start` makes the run's loop of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, assert_never

import msgspec

from bethink.conversations import continued, edited
from bethink.errors import BadInput
from bethink.llm import NO_OPTIONS, Options, ToolSchema
from bethink.messages import UserMessage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversation, Conversations, StoredMessage
    from bethink.llm import Llm
    from bethink.messages import Attachment, Message
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.tool import Tool


class RunOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How one run is to go. Kept while it waits for an approval, so that it goes on as it began.

    `model` is one of `Models.names`, None the usual one. `system` stands behind
    Bethink's own system prompt. Without `tools` the model is offered none of
    Bethink's, without `memory` nothing is recalled, kept or found again.
    `client_tools` are made by the caller: a call of one ends the run. `first_call` is the
    tool with which the answer has to begin (`client_tools`). The others are the model's, as in `LlmRequest`.
    """

    model: str | None = None
    system: str = ""
    tools: bool = True
    memory: bool = True
    client_tools: tuple[ToolSchema, ...] = ()
    first_call: str | None = None
    response_format: dict[str, Any] | None = None
    temperature: float | None = None
    max_output_tokens: int | None = None
    options: Options = NO_OPTIONS

    def without(self, gone: Redaction) -> RunOptions:
        """The wishes with nothing of what is forgotten."""
        system, _ = gone.cut(self.system, close=True)
        tools = tuple(
            tool
            for tool in self.client_tools
            if not gone.says_in(msgspec.json.encode(tool).decode(), close=True)
        )
        return msgspec.structs.replace(self, system=system, client_tools=tools)


@dataclass(frozen=True, slots=True)
class RunResources:
    """What a door brings for one run, and what ends with it: never stored.

    `tools` stand beside Bethink's own, and before those of the same name. Of its
    own only those named in `only` stay, where it is given. With `remembers` there
    is memory in temporary conversations too: that of the door's own house.
    """

    llm: Llm | None = None
    tools: Sequence[Tool] = ()
    only: frozenset[str] | None = None
    remembers: bool = False


DEFAULT_OPTIONS = RunOptions()
NO_RESOURCES = RunResources()
_PAGE = 20


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """A place in a conversation, by a message's id on any branch.

    `edit` says something else in place of that message of the owner; `behind`
    goes on behind it; `again` answers anew what the owner said there, or what
    that message answers. What was there before stays, as another branch.
    """

    conversation: str
    message: str
    way: Literal["edit", "behind", "again"]


@dataclass(frozen=True, slots=True)
class LoadedBranchPoint:
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


async def load_branch_point(
    conversations: Conversations, principal: Principal, fork: BranchPoint
) -> LoadedBranchPoint:
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
    return LoadedBranchPoint(stored, fork.way)


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
