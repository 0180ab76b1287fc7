"""The names of spec 002 ("API Reference"), so that tools and agents written for it run on Bethink.

They are thin: a `BaseTool` becomes a tool of Bethink's, `LongTermMemoryStore` is the
memory file of the user whose key is given, `GeneralPurposeAgent` is an app with these
tools alone. `ToolCallParams` is a dataclass: the SDK's stages cannot be fields of a Pydantic
model. Needs the extra `dial`.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Protocol

import anyio
import msgspec

from bethink.dial.answer import DialOffer
from bethink.dial.bucket_memory import BucketMemory
from bethink.dial.core import CoreClient
from bethink.dial.door import ChatDoor, Request
from bethink.dial.render import Style
from bethink.dial.sessions import DialSessions, EphemeralApp, owner_of
from bethink.errors import BadInput
from bethink.events import ToolProgress
from bethink.memory import NewFact
from bethink.settings import DialDoor
from bethink.telemetry import log
from bethink.tool import Tool, ToolContext, ToolOutput, foreign_tool

if TYPE_CHECKING:
    from aidial_sdk.chat_completion import Choice, Message, Response
    from aidial_sdk.chat_completion import Request as DialRequest

    from bethink.embeddings import Embeddings

__all__ = [
    "BaseTool",
    "DeleteAllMemoriesTool",
    "DeleteMemoryTool",
    "FunctionCall",
    "GeneralPurposeAgent",
    "LongTermMemoryStore",
    "SearchMemoryTool",
    "StageProcessor",
    "StoreMemoryTool",
    "ToolCall",
    "ToolCallParams",
]

_log = log("dial")


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """What is called; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call, in the shape of OpenAI's; the client library's own type does as well."""

    id: str
    function: FunctionCall
    type: str = "function"


class StageProcessor(Protocol):
    """What a tool may do with its stage; the SDK's `Stage` does it, too."""

    def append_content(self, content: str) -> None:
        """Show more."""
        ...


@dataclass(frozen=True, slots=True)
class ToolCallParams:
    """What a tool is called with."""

    tool_call: Any
    stage: StageProcessor
    choice: Choice | None
    api_key: str
    conversation_id: str


class BaseTool(ABC):
    """A tool: implement `_execute`, and say what it is called and takes."""

    @abstractmethod
    async def _execute(self, params: ToolCallParams) -> str | Message:
        """Do it; the text, or a message whose content it is."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which the model calls it."""

    @property
    @abstractmethod
    def description(self) -> str:
        """What the model reads, at most 1,024 characters."""

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """JSON Schema of the arguments."""

    @property
    def schema(self) -> dict[str, Any]:
        """The function as OpenAI's API has it."""
        function = {"name": self.name, "description": self.description, "parameters": self.parameters}
        return {"type": "function", "function": function}

    @property
    def create_tool_stage(self) -> bool:
        """Whether its calls are stages of the answer."""
        return True

    @property
    def show_in_stage(self) -> bool:
        """Whether those show arguments and response."""
        return True

    async def execute(self, params: ToolCallParams) -> Message:
        """The result as a message; what goes wrong becomes its content."""
        from aidial_sdk.chat_completion import Message, Role

        text, _ = await _executed(self, params)
        call = params.tool_call
        return Message(role=Role.TOOL, tool_call_id=call.id, name=call.function.name, content=text)


async def _executed(base: BaseTool, params: ToolCallParams) -> tuple[str, bool]:
    """What the tool says, and whether it failed."""
    try:
        said = await base._execute(params)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - spec 002's name
    except Exception as error:  # noqa: BLE001 - a tool call: recorded, and told to the model
        _log.exception("tool %s failed", base.name)
        return f"ERROR during tool call execution: {error}", True
    return said if isinstance(said, str) else str(said.content or ""), False


@dataclass(frozen=True, slots=True)
class _Progress:
    """A stage that tells what it is given as progress of the run."""

    context: ToolContext

    def append_content(self, content: str) -> None:
        self.context.emit(ToolProgress(call=self.context.call, text=content.rstrip("\n")))


def as_tool(base: BaseTool, *, api_key: str, conversation_id: str, choice: Choice | None = None) -> Tool:
    """A tool of spec 002 as one of Bethink's, for one request."""

    async def handler(context: ToolContext, **arguments: object) -> ToolOutput:
        call = ToolCall(context.call, FunctionCall(base.name, json.dumps(arguments)))
        params = ToolCallParams(call, _Progress(context), choice, api_key, conversation_id)
        text, failed = await _executed(base, params)
        return ToolOutput(text, error="tool_failed" if failed else None)

    return foreign_tool(
        handler,
        name=base.name,
        description=base.description,
        parameters=base.parameters,
        effect="write",
        trust="owner",
        label=base.name,
        source="",
        timeout_s=None,
    )


def arguments_of(params: ToolCallParams) -> Mapping[str, Any]:
    """A call's arguments.

    Raises:
        BadInput: they are no JSON object.
    """
    try:
        return msgspec.json.decode(params.tool_call.function.arguments, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise BadInput(f"The arguments are no JSON object: {error}.") from error


_NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}, "required": []}


class LongTermMemoryStore:
    """The memories of each user in their own bucket; `endpoint` is DIAL Core's URL.

    What was read is kept for as long as the file has the same ETag.
    """

    def __init__(self, endpoint: str, *, embeddings: Embeddings | None = None) -> None:
        self._client = CoreClient(endpoint)
        self._ephemeral = EphemeralApp(embeddings)
        self._memories: dict[str, tuple[BucketMemory, asyncio.Lock]] = {}

    async def add_memory(
        self,
        api_key: str,
        content: str,
        *,
        importance: float = 0.5,
        category: str = "general",
        topics: Sequence[str] = (),
    ) -> str:
        """Remember something of the user whose key it is; what is told of it.

        Raises:
            BethinkError: it is not kept; the sentence says why.
        """
        new = NewFact(content, category, importance, tuple(topics))
        async with self._memory(api_key, writes=True) as bucket_memory:
            changed = await bucket_memory.memory.add(bucket_memory.principal, new)
        return f"Memory stored: {changed.fact.content}"

    async def search_memories(self, api_key: str, query: str, top_k: int = 5) -> list[dict[str, Any]]:
        """What is known that answers the query, best first: the documented fields and `similarity`.

        Raises:
            BethinkError: the memory cannot be read.
        """
        async with self._memory(api_key) as bucket_memory:
            found = await bucket_memory.memory.search(bucket_memory.principal, query, k=top_k)
        return [
            {
                "content": fact.content,
                "importance": fact.importance,
                "category": fact.category,
                "topics": [*fact.topics],
                "similarity": round(score, 2),
            }
            for fact, score in found
        ]

    async def delete_all_memories(self, api_key: str) -> str:
        """Remove the user's memory file; what is told of it.

        Raises:
            BethinkError: it is not removed.
        """
        async with self._memory(api_key, writes=True) as bucket_memory:
            app = await self._ephemeral.app()
            await app.forgetting.forget_all(bucket_memory.principal)
        return "Successfully deleted all memories. The memory file has been removed."

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._ephemeral.aclose()

    @asynccontextmanager
    async def _memory(self, api_key: str, *, writes: bool = False) -> AsyncGenerator[BucketMemory]:
        """A user's facts as the file has them now, put back in the end if `writes`."""
        core = self._client.with_key(api_key)
        home = (await core.bucket()).home
        app = await self._ephemeral.app()
        if home not in self._memories:
            principal = app.accounts.on_behalf_of(owner_of(home), audience="dial")
            self._memories[home] = BucketMemory(app.memory, principal, home), asyncio.Lock()
        bucket_memory, lock = self._memories[home]
        async with lock:
            await bucket_memory.load(core)
            if bucket_memory.fault is not None:
                raise bucket_memory.fault
            yield bucket_memory
            if writes:
                await bucket_memory.save(core)


class _MemoryTool(BaseTool):
    """A tool over a store that all tools share; its words are constants."""

    said: tuple[str, str, dict[str, Any]]

    def __init__(self, memory_store: LongTermMemoryStore) -> None:
        self.memory_store = memory_store

    @property
    def name(self) -> str:
        """See `BaseTool`."""
        return self.said[0]

    @property
    def description(self) -> str:
        """See `BaseTool`."""
        return self.said[1]

    @property
    def parameters(self) -> dict[str, Any]:
        """See `BaseTool`."""
        return self.said[2]


class StoreMemoryTool(_MemoryTool):
    """`store_memory` of spec 002."""

    said = (
        "store_memory",
        "Store important information about the user in long-term memory: one clear fact a call.",
        {
            "type": "object",
            "properties": {
                "content": {"type": "string", "description": "The fact, clear and concise."},
                "category": {"type": "string", "default": "general"},
                "importance": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.5},
                "topics": {"type": "array", "items": {"type": "string"}, "default": []},
            },
            "required": ["content"],
        },
    )

    async def _execute(self, params: ToolCallParams) -> str:
        return await self.memory_store.add_memory(params.api_key, **arguments_of(params))


class SearchMemoryTool(_MemoryTool):
    """`search_memory` of spec 002."""

    said = (
        "search_memory",
        "Search long-term memory for information about the user.",
        {
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for, in natural language."},
                "top_k": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
            },
            "required": ["query"],
        },
    )

    async def _execute(self, params: ToolCallParams) -> str:
        asked = arguments_of(params)
        found = await self.memory_store.search_memories(params.api_key, **asked)
        if not found:
            return f"No memories found matching: {asked['query']}"
        told = [
            f"{number}. **Category:** {one['category']} | **Importance:** {one['importance']:g} | "
            f"**Similarity:** {one['similarity']:.2f}\n   Content: {one['content']}"
            + (f"\n   Topics: {', '.join(one['topics'])}" if one["topics"] else "")
            for number, one in enumerate(found, 1)
        ]
        return "\n\n".join((f"Found {len(found)} {'memory' if len(found) == 1 else 'memories'}:", *told))


class DeleteMemoryTool(_MemoryTool):
    """`delete_all_memories` of spec 002."""

    said = (
        "delete_all_memories",
        "Delete ALL stored memories. Use only when the user explicitly requests it.",
        _NOTHING,
    )

    async def _execute(self, params: ToolCallParams) -> str:
        return await self.memory_store.delete_all_memories(params.api_key)


DeleteAllMemoriesTool = DeleteMemoryTool


_IDLE_S: Final = 900


class GeneralPurposeAgent:
    """An agent with these tools alone; `endpoint` is DIAL Core's URL.

    Its loop, limits and stages are Bethink's.
    """

    def __init__(
        self,
        endpoint: str,
        system_prompt: str,
        tools: list[BaseTool],
        *,
        embeddings: Embeddings | None = None,
    ) -> None:
        self._system_prompt = system_prompt
        self._tools = tools
        self._client = CoreClient(endpoint)
        self._ephemeral = EphemeralApp(embeddings)
        self._settings = DialDoor(enabled=True, url=endpoint, memory="off")
        self._door: ChatDoor | None = None

    async def handle_request(
        self, deployment_name: str, choice: Choice, request: DialRequest, *, response: Response
    ) -> Message:
        """Answer through an open choice, with a model of Core's; the answer as a message.

        Raises:
            RefusedError: the model failed before it said anything.
            BethinkError: the request is not fit, or Core cannot be asked.
        """
        from aidial_sdk.chat_completion import Message, Role

        del response
        key, conversation = request.api_key, request.conversation_id
        app = await self._ephemeral.app()
        if self._door is None:
            sessions = DialSessions(app, in_bucket=True, idle_s=_IDLE_S)
            self._door = ChatDoor(app, self._client, self._settings, sessions, system=self._system_prompt)
        await self._door.sessions.sweep(anyio.current_time() - _IDLE_S)
        offer = DialOffer(
            tools=[
                as_tool(one, api_key=key, conversation_id=conversation or "", choice=choice)
                for one in self._tools
            ],
            only=frozenset(),
            styles={one.name: Style(one.create_tool_stage, one.show_in_stage) for one in self._tools},
        )
        door = replace(self._door, offer=offer)
        body = await request.original_request.body()
        renderer = await door.answer(Request(key, body, conversation, deployment_name), lambda: choice)
        return Message(role=Role.ASSISTANT, content=renderer.text)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._ephemeral.aclose()
