"""The memory service of spec 004 for MCP clients, under its own names. `mcp_server/families` offers it.

Its tools are not among those of a chat, where turns are stored and recalled without being asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BaseModel, Field

from bethink.errors import NotAllowed
from bethink.recall.conversation_memory import MOST_ENTRIES, ConversationMemory
from bethink.tool import Foretold, ToolContext, ToolOutput, tool

if TYPE_CHECKING:
    from bethink.conversations.entries import MemoryEntry
    from bethink.principal import Principal

_FAMILY: Final = "conversations"
_EXPORT_S: Final = 300.0


class Entry(BaseModel):
    """A turn of a conversation. `conversation_id` and `metadata` are those it was stored with."""

    id: str
    conversation_id: str
    user_message: str
    assistant_message: str
    timestamp: datetime
    metadata: dict[str, str]


class EntryStored(BaseModel):
    """The id of what was stored."""

    id: str


class EntriesRetrieved(BaseModel):
    """Turns as context: `relevance_scores` in the order of `entries`, `total_tokens` of all texts."""

    entries: list[Entry]
    relevance_scores: list[float]
    total_tokens: int


class EntriesFound(BaseModel):
    """Turns, best first."""

    entries: list[Entry]


class ConversationCleared(BaseModel):
    """What became of a conversation."""

    conversation_id: str
    status: str


class ConversationsExported(BaseModel):
    """Where an archive is, and how many conversations and turns it holds."""

    path: str
    conversations: int
    entries: int


class Availability(BaseModel):
    """Whether memory is there; `reason` says why not, for the user."""

    available: bool
    reason: str


_Id = Annotated[str, Field(min_length=1, max_length=200, description="Your own id of the conversation")]
_Query = Annotated[str, Field(min_length=1, max_length=2_000, description="A question or words")]
_Limit = Annotated[
    int | None, Field(ge=1, le=MOST_ENTRIES, description="How many entries at most; the settings' if unset")
]
_Said = Annotated[str, Field(min_length=1, description="What the user said")]
_Answered = Annotated[str, Field(min_length=1, description="What the assistant answered")]


@dataclass(frozen=True, slots=True)
class ConversationTools:
    """The tools over past conversations, for programs."""

    memory: ConversationMemory

    @tool(effect="write", label="Store a turn", output=EntryStored, family=_FAMILY)
    async def store_conversation(
        self,
        context: ToolContext,
        conversation_id: _Id,
        user_message: _Said,
        assistant_message: _Answered,
        metadata: Annotated[
            dict[str, str] | None, Field(description="What you want to find the turn by, such as user_id")
        ] = None,
    ) -> ToolOutput:
        """Store a turn of a conversation between the user and an assistant, to be found later."""
        id = await self.memory.store_conversation(
            context.principal, conversation_id, user_message, assistant_message, metadata
        )
        return ToolOutput.of(EntryStored(id=id))

    @tool(effect="write", label="Archive a conversation", output=ConversationCleared, family=_FAMILY)
    async def clear_conversation(self, context: ToolContext, conversation_id: _Id) -> ToolOutput:
        """Archive a conversation: it leaves the list. What was said in it is kept and still found."""
        await self.memory.clear_conversation(context.principal, conversation_id)
        return ToolOutput.of(ConversationCleared(conversation_id=conversation_id, status="archived"))

    @tool(effect="read", label="Ask whether memory is available", output=Availability, family=_FAMILY)
    async def is_available(self, context: ToolContext) -> ToolOutput:
        """Tell whether turns are stored and found. If not, tell the user."""
        del context
        reason = self.memory.unavailable
        return ToolOutput.of(Availability(available=not reason, reason=reason or ""))

    @tool(effect="read", label="Context: {query}", output=EntriesRetrieved, family=_FAMILY)
    async def retrieve_context(self, context: ToolContext, query: _Query, limit: _Limit = None) -> ToolOutput:
        """Give the turns of past conversations that answer a question, recent ones preferred."""
        found = await self.memory.retrieve_context(context.principal, query, limit)
        return ToolOutput.of(
            EntriesRetrieved(
                entries=_entries(found.entries),
                relevance_scores=found.relevance_scores,
                total_tokens=found.total_tokens,
            )
        )

    @tool(effect="read", label="Search conversations: {query}", output=EntriesFound, family=_FAMILY)
    async def search_conversations(
        self,
        context: ToolContext,
        query: _Query,
        filters: Annotated[
            dict[str, str] | None,
            Field(description="conversation_id, since, until (times), or names of metadata with their value"),
        ] = None,
        limit: _Limit = None,
    ) -> ToolOutput:
        """Find turns of past conversations, best first."""
        found = await self.memory.search_conversations(context.principal, query, filters, limit=limit)
        return ToolOutput.of(EntriesFound(entries=_entries(found)))

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        del principal
        return Foretold(arguments, f"All conversations, into the file {arguments['path']}")

    @tool(
        effect="destructive",
        label="Export to {path}",
        foretell=_foretell,
        output=ConversationsExported,
        timeout_s=_EXPORT_S,
        family=_FAMILY,
    )
    async def export_knowledge_base(
        self,
        context: ToolContext,
        path: Annotated[str, Field(min_length=1, max_length=1_000, description="Of the .tar.gz to write")],
    ) -> ToolOutput:
        """Write all conversations to an archive on this machine. The user is asked first."""
        if context.principal.audience.startswith("mcp-http:"):
            raise NotAllowed("Only a program on this machine may have files written.")
        counts = (await self.memory.export_knowledge_base(context.principal, Path(path))).counts
        return ToolOutput.of(
            ConversationsExported(path=path, conversations=counts.documents, entries=counts.pages)
        )


def _entries(found: Iterable[MemoryEntry]) -> list[Entry]:
    return [Entry.model_validate(one, from_attributes=True) for one in found]
