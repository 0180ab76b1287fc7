"""The memory of spec 002 ("Memory Tools"): one store, shared by three tools."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from bethink.dial.bucket_memory import BucketMemory
from bethink.dial.compat.contract import BaseTool, ToolCallParams, arguments_of
from bethink.dial.core import CoreClient
from bethink.dial.ephemeral_app import EphemeralApp
from bethink.dial.sessions import owner_of
from bethink.memory import NewFact

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from bethink.embeddings import Embeddings

_NOTHING: Final[dict[str, Any]] = {"type": "object", "properties": {}, "required": []}


class LongTermMemoryStore:
    """The memories of each user in their own bucket; `endpoint` is DIAL Core's URL.

    What was read is kept for as long as the file has the same ETag.
    """

    def __init__(self, endpoint: str, *, embeddings: Embeddings | None = None) -> None:
        self._client = CoreClient(endpoint)
        self._lodging = EphemeralApp(embeddings)
        self._desks: dict[str, tuple[BucketMemory, asyncio.Lock]] = {}

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
        async with self._desk(api_key, writes=True) as bucket_memory:
            changed = await bucket_memory.memory.add(bucket_memory.principal, new)
        return f"Memory stored: {changed.fact.content}"

    async def search_memories(self, api_key: str, query: str, top_k: int = 5) -> list[dict[str, Any]]:
        """What is known that answers the query, best first: the documented fields and `similarity`.

        Raises:
            BethinkError: the memory cannot be read.
        """
        async with self._desk(api_key) as bucket_memory:
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
        async with self._desk(api_key, writes=True) as bucket_memory:
            app = await self._lodging.app()
            await app.forgetting.forget_all(bucket_memory.principal)
        return "Successfully deleted all memories. The memory file has been removed."

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()
        await self._lodging.aclose()

    @asynccontextmanager
    async def _desk(self, api_key: str, *, writes: bool = False) -> AsyncGenerator[BucketMemory]:
        """A user's facts as the file has them now, put back in the end if `writes`."""
        core = self._client.with_key(api_key)
        home = (await core.bucket()).home
        app = await self._lodging.app()
        if home not in self._desks:
            principal = app.accounts.on_behalf_of(owner_of(home), audience="dial")
            self._desks[home] = BucketMemory(app.memory, principal, home), asyncio.Lock()
        bucket_memory, lock = self._desks[home]
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
                "query": {"type": "string", "description": "Where to look for, in natural language."},
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
