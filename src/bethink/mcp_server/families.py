"""What is offered to MCP clients, by family: a feature with tools. `bethink mcp --only` names them.

Most are the agent's own. Memory, recall and conversations are made for programs here: what the
agent's tools tell a model in words is told by ids, scores and times. What cannot be undone is the
toolbox's own tool, and asks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import AwareDatetime, BaseModel, Field

from bethink.clock import to_datetime, to_us
from bethink.conversations.records import KIND as TURN
from bethink.conversations.records import StoredMessage
from bethink.documents.service import Documents
from bethink.errors import BadInput
from bethink.features import FEATURES
from bethink.memory import KIND as FACT
from bethink.memory import Fact, FactChange, NewFact, Source
from bethink.tool import Tool, ToolContext, ToolOutput, tool, tools_in
from bethink.tools.conversations import ConversationTools
from bethink.tools.knowledge import KnowledgeTools

if TYPE_CHECKING:
    from bethink.app import App
    from bethink.recall.service import Hit


class Memory(BaseModel):
    """One fact. `learnt_at` is when it was told, `valid_…` when it was true."""

    id: str
    content: str
    category: str
    importance: float
    topics: list[str]
    state: str
    pinned: bool
    learnt_at: datetime
    valid_from: datetime | None
    valid_until: datetime | None
    doubted: bool
    about: str = Field(description="`owner`, a name, or what they are to the owner, such as `sister`")


class FoundMemory(Memory):
    """A fact that a search found; `score` is 0..1."""

    score: float


class MemoriesFound(BaseModel):
    """Facts, best first."""

    memories: list[FoundMemory]
    near: bool = Field(
        description="They are near the query and none is known to answer it: if none says it, say so."
    )


class History(BaseModel):
    """What a fact was and what it became, oldest first."""

    memories: list[Memory]


class MemoryChange(BaseModel):
    """What became of a fact; `undo` takes it back, `others` were superseded or put in doubt by it."""

    change: str
    memory: Memory
    undo: str | None
    others: list[Memory]
    near: list[Memory] = Field(
        description="Nearest to a new one: to name in repeats, replaces or corrects, storing it again"
    )


class Remembered(BaseModel):
    """One thing remembered, of any kind."""

    id: str
    kind: str = Field(
        description="`fact`; `turn`: what was said in a conversation; or `passage` of a document"
    )
    text: str
    score: float
    at: datetime
    source: str | None
    title: str | None = Field(description="Of a passage: its document and page")
    conversation: str | None
    speaker: str | None
    valid_until: datetime | None
    doubt: str | None
    pasted: bool = Field(description="It holds a text that the owner pasted and did not write")


class Recalled(BaseModel):
    """What answers a question, best first; `warning` says why it may be less than there is."""

    hits: list[Remembered]
    warning: str | None


class Said(BaseModel):
    """One message of a conversation."""

    id: str
    role: Literal["user", "assistant", "tool"]
    text: str
    at: datetime


class Talk(BaseModel):
    """A conversation: its messages in order, the newest of them last."""

    id: str
    title: str
    messages: list[Said]
    cursor: str | None = Field(description="Leads to older messages; null at the beginning.")


Query = Annotated[str, Field(min_length=1, max_length=2000, description="A question or words")]
Count = Annotated[int, Field(ge=1, le=50, description="How many results at most")]
MemoryId = Annotated[str, Field(max_length=100, description="A memory's id, as store or search gave it")]
Ids = Annotated[list[MemoryId], Field(max_length=32)]
When = AwareDatetime | None
Kind = Literal["fact", "turn", "passage"]


def _store_memory(app: App) -> Tool:
    @tool(effect="write", label="Remember: {content}", output=MemoryChange, echoes_arguments=True)
    async def store_memory(
        context: ToolContext,
        content: Annotated[str, Field(min_length=1, description="One clear fact, in the third person")],
        category: Annotated[
            str,
            Field(description="preferences, personal_info, goals, plans, context, or general"),
        ] = "general",
        importance: Annotated[float, Field(ge=0, le=1, description="0 to 1: how much it matters")] = 0.5,
        topics: Annotated[list[str], Field(max_length=32, description="Words to find it by")] = [],  # noqa: B006 - a default of the schema, copied by its validation
        replaces: Annotated[Ids, Field(description="Memories that were true and are past now")] = [],  # noqa: B006 - see above
        corrects: Annotated[Ids, Field(description="Memories that never were true")] = [],  # noqa: B006 - see above
        repeats: Annotated[Ids, Field(description="Memories that say the same in other words")] = [],  # noqa: B006 - see above
        depends_on: Annotated[Ids, Field(description="Memories without which it would not hold")] = [],  # noqa: B006 - see above
        valid_from: Annotated[When, Field(description="Since when it is true")] = None,
        about: Annotated[
            str, Field(max_length=64, description="Whom it is about if not the user: a name, or `sister`")
        ] = "",
    ) -> ToolOutput:
        """Remember a fact about the user for good, in Bethink's long-term memory.

        What is known already is merged, what it plainly supersedes is superseded,
        what it contradicts is kept beside it and both are doubted. Passwords, keys and
        card numbers are refused. `undo` of the answer takes it back.
        """
        source = Source(kind="person", id=context.principal.audience)
        new = NewFact(
            content,
            category,
            importance,
            tuple(topics),
            source,
            replaces=tuple(replaces),
            corrects=tuple(corrects),
            repeats=tuple(repeats),
            depends_on=tuple(depends_on),
            valid_from=valid_from and to_us(valid_from),
            about=about or None,
        )
        return ToolOutput.of(change_of(await app.memory.add(context.principal, new)))

    return store_memory


def memory_tools(app: App) -> list[Tool]:
    """`store_memory`, `search_memory`, `get_memory_history`, `retract_memory` and `undo_memory_change`."""

    async def changed(context: ToolContext, change: FactChange) -> ToolOutput:
        # Whose words they are is known behind this, when the answer is looked through.
        await app.visibility.reader_filters.facts(context.principal, [change.fact, *change.others])
        return ToolOutput.of(change_of(change))

    @tool(effect="read", label="Search memory: {query}", output=MemoriesFound, echoes_arguments=True)
    async def search_memory(context: ToolContext, query: Query, top_k: Count = 5) -> ToolOutput:
        """Find facts in the user's long-term memory, by meaning and by words, best first."""
        hits = await app.recall.search(context.principal, query, top_k, kinds={FACT})
        facts = await app.memory.get(context.principal, [hit.id for hit in hits])
        facts = await app.visibility.reader_filters.facts(context.principal, [one for one in facts if one])
        scores = {hit.id: round(hit.score, 4) for hit in hits}
        memories = [FoundMemory(**_fields(fact), score=scores[fact.id]) for fact in facts]
        return ToolOutput.of(MemoriesFound(memories=memories, near=any(hit.near for hit in hits)))

    @tool(effect="read", label="Show the history of a memory", output=History)
    async def get_memory_history(context: ToolContext, memory: MemoryId) -> ToolOutput:
        """Give what a memory was before its corrections and what it became, oldest first."""
        facts = await app.memory.history(context.principal, memory)
        facts = await app.visibility.reader_filters.facts(context.principal, facts)
        return ToolOutput.of(History(memories=[memory_of(fact) for fact in facts]))

    @tool(effect="write", label="Retract a memory", output=MemoryChange)
    async def retract_memory(context: ToolContext, memory: MemoryId) -> ToolOutput:
        """Take a memory out of use, since it is wrong or no longer wanted. `undo` brings it back.

        To remove it for good, use forget_memory.
        """
        return await changed(context, await app.memory.retract(context.principal, memory))

    @tool(effect="write", label="Undo a change of memory", output=MemoryChange)
    async def undo_memory_change(
        context: ToolContext,
        token: Annotated[str, Field(max_length=200, description="`undo` of the change")],
    ) -> ToolOutput:
        """Take back a change of memory by its undo token."""
        return await changed(context, await app.memory.undo(context.principal, token))

    return [_store_memory(app), search_memory, get_memory_history, retract_memory, undo_memory_change]


def conversation_tools(app: App) -> list[Tool]:
    """`recall` over everything, `search_conversations` and `read_conversation`."""

    @tool(effect="read", label="Recall: {query}", output=Recalled)
    async def recall(
        context: ToolContext,
        query: Query,
        k: Count = 10,
        kinds: Annotated[
            list[Kind] | None, Field(description="Only these kinds; all of them if left out")
        ] = None,
        since: Annotated[When, Field(description="Said from then on")] = None,
        until: Annotated[When, Field(description="Said before")] = None,
        as_of: Annotated[When, Field(description="What held at that time")] = None,
    ) -> ToolOutput:
        """Recall what answers a question from everything remembered: facts, past conversations, documents."""
        hits = await app.recall.search(
            context.principal, query, k, kinds=kinds, since=since, until=until, as_of=as_of
        )
        return ToolOutput.of(Recalled(hits=[remembered_of(hit) for hit in hits], warning=app.recall.warning))

    @tool(effect="read", label="Search conversations: {query}", output=Recalled)
    async def search_conversations(
        context: ToolContext,
        query: Query,
        k: Count = 10,
        since: Annotated[When, Field(description="Said from then on")] = None,
        until: Annotated[When, Field(description="Said before")] = None,
    ) -> ToolOutput:
        """Find what was said in past conversations, best first; each hit names its conversation."""
        hits = await app.recall.search(context.principal, query, k, kinds={TURN}, since=since, until=until)
        return ToolOutput.of(Recalled(hits=[remembered_of(hit) for hit in hits], warning=app.recall.warning))

    @tool(effect="read", label="Read a conversation", output=Talk)
    async def read_conversation(
        context: ToolContext,
        conversation: Annotated[str, Field(max_length=100, description="Its id, as a hit names it")],
        limit: Annotated[int, Field(ge=1, le=100, description="Messages of one page")] = 20,
        cursor: Annotated[str | None, Field(max_length=1000, description="Of the page before")] = None,
    ) -> ToolOutput:
        """Read the newest messages of a conversation; `cursor` of the answer leads to older ones."""
        return ToolOutput.of(await talk_of(app, context, conversation, limit=limit, cursor=cursor))

    return [recall, search_conversations, read_conversation]


async def talk_of(
    app: App, context: ToolContext, conversation: str, *, limit: int, cursor: str | None = None
) -> Talk:
    """A page of a conversation.

    Raises:
        UnknownId: this owner has no such conversation.
    """
    held = (await app.conversations.get(context.principal, conversation)).record
    page = await app.conversations.messages(context.principal, conversation, limit=limit, before=cursor)
    messages = [said_of(item.record) for item in reversed(page.items)]
    return Talk(id=held.id, title=held.title, messages=messages, cursor=page.cursor)


def memory_of(fact: Fact) -> Memory:
    """A fact as programs read it."""
    return Memory(**_fields(fact))


def change_of(changed: FactChange) -> MemoryChange:
    """A change as programs read it."""
    return MemoryChange(
        change=changed.change,
        memory=memory_of(changed.fact),
        undo=changed.undo,
        others=[memory_of(other) for other in changed.others],
        near=[memory_of(other) for other in changed.near],
    )


def remembered_of(hit: Hit) -> Remembered:
    """A hit as programs read it."""
    found = Remembered.model_validate(hit, from_attributes=True)
    return found.model_copy(update={"score": round(hit.score, 4)})


def said_of(stored: StoredMessage) -> Said:
    """A message as programs read it."""
    role: Literal["user", "assistant", "tool"] = stored.message.__struct_config__.tag  # pyright: ignore[reportAssignmentType] - the union's own tags
    return Said(id=stored.id, role=role, text=stored.message.content, at=to_datetime(stored.at))


def _fields(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "content": fact.content,
        "category": fact.category,
        "importance": fact.importance,
        "topics": list(fact.topics),
        "state": fact.state,
        "pinned": fact.pinned,
        "learnt_at": to_datetime(fact.created_at),
        "valid_from": None if fact.valid_from is None else to_datetime(fact.valid_from),
        "valid_until": None if fact.valid_until is None else to_datetime(fact.valid_until),
        "doubted": bool(fact.doubts),
        "about": fact.about,
    }


Make = Callable[["App", str], list["Tool"]]
"""Of an app, and what a client is bound to: a knowledge base by its name, or nothing."""
_MADE: Mapping[str, Make] = {
    "conversations": lambda app, _: tools_in(ConversationTools(app.conversation_memory)),
    "memory": lambda app, _: [*memory_tools(app), *conversation_tools(app)],
    "knowledge": lambda app, base: tools_in(
        KnowledgeTools(app.features.of(Documents), app.message_search, base or None)
    ),
}


@dataclass(frozen=True, slots=True)
class Family:
    """Tools that belong together: the toolbox's of that family, and some made for programs.

    One that is `on_request` is offered only to clients that name it: other families have tools of its names.
    """

    summary: str
    made: Make | None = None
    on_request: bool = False


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool as a client is told of it; `output` is the schema of its structured answer."""

    tool: Tool
    output: dict[str, Any] | None = None


FAMILIES: dict[str, Family] = {
    feature.name: Family(feature.mcp_summary, _MADE.get(feature.name), on_request=feature.mcp_on_request)
    for feature in sorted(FEATURES, key=lambda feature: feature.mcp_on_request)
    if feature.mcp_summary
}
_BY_ITSELF: Final = tuple(name for name, family in FAMILIES.items() if not family.on_request)


def offers(app: App, only: Sequence[str] = ()) -> dict[str, Offer]:
    """What there is to offer now, by name. What is switched off is left out.

    `only` names families; `knowledge:NAME` is that family for one knowledge base. Of two tools of one name
    the one of the family that is named first is offered.
    """
    found: dict[str, Offer] = {}
    for word in only or _BY_ITSELF:
        name, _, bound = word.partition(":")
        family = FAMILIES[name]
        made = family.made(app, bound) if family.made else ()
        for one in (*made, *(one for one in app.toolbox.all if one.family == name)):
            found.setdefault(one.name, Offer(one, one.output and _schema_of(one.output)))
    return found


@cache
def _schema_of(output: type[BaseModel]) -> dict[str, Any]:
    """The JSON Schema of a tool's structured answer, not to be changed."""
    return output.model_json_schema(mode="serialization")


def offer_of(found: dict[str, Offer], name: str) -> Offer | None:
    """The one of a name, or of another name that the source documents have for it."""
    return found.get(name) or next((one for one in found.values() if name in one.tool.aliases), None)


def families_of(text: str | None) -> tuple[str, ...]:
    """The families that a comma-separated list names, none for all.

    Raises:
        BadInput: there is no such family.
    """
    names = tuple(name.strip() for name in (text or "").split(",") if name.strip())
    for name in names:
        if name not in FAMILIES:
            raise BadInput(f"There is no family {name!r}: there are {', '.join(FAMILIES)}.")
    return names


def instructions(only: Sequence[str] = ()) -> str:
    """What a client's model is told of this server."""
    return "\n".join(
        FAMILIES[name].summary for name in (word.partition(":")[0] for word in only or _BY_ITSELF)
    )
