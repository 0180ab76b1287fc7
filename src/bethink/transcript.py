"""A conversation as others may read it: what was said, without tools, thoughts and, unless chosen, memory.

`web/shares` freezes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from bethink.conversations.records import MESSAGES, Conversation, StoredMessage, line
from bethink.memory import KIND as FACT
from bethink.memory import Memory
from bethink.messages import AssistantMessage, Attachment, ToolMessage
from bethink.shares import SharedFile, SharedMessage
from bethink.store import Scan, Store, pages_of

if TYPE_CHECKING:
    from bethink.principal import Principal

_PAGE: Final = 200
_MOST_MEMORIES: Final = 50


@dataclass(frozen=True, slots=True)
class Transcripts:
    """Transcripts of conversations, with the memories that answers used and files if wanted."""

    store: Store
    memory: Memory

    async def of(
        self, principal: Principal, held: Conversation, *, memories: bool, files: bool
    ) -> list[SharedMessage]:
        """What was said on the active line, in order."""
        said: list[SharedMessage] = []
        for stretch in reversed(line(held)):
            where = {"conversation": held.id, "branch": stretch.branch}
            scan = Scan(MESSAGES, where, order="position", low=stretch.start, high=stretch.end, limit=_PAGE)
            async for page in pages_of(self.store, principal.owner, scan):
                for item in page:
                    shown = await self._shown(principal, item.record, memories=memories, files=files)
                    said += [shown] if shown else []
        return said

    async def _shown(
        self, principal: Principal, stored: StoredMessage, *, memories: bool, files: bool
    ) -> SharedMessage | None:
        message = stored.message
        if isinstance(message, ToolMessage) or (stored.aside and not memories):
            # A slash command tells of memory.
            return None
        attached = () if isinstance(message, AssistantMessage) else message.attachments
        if not message.content.strip() and not (files and attached):
            return None
        return SharedMessage(
            role="assistant" if isinstance(message, AssistantMessage) else "user",
            content=message.content,
            at=stored.at,
            speaker=stored.speaker,
            memories=await self._used(principal, stored) if memories else (),
            files=tuple(map(_file, attached)) if files else (),
        )

    async def _used(self, principal: Principal, stored: StoredMessage) -> tuple[str, ...]:
        ids: Sequence[str] = [ref.id for ref in stored.recalled if ref.kind == FACT][:_MOST_MEMORIES]
        if not ids:
            return ()
        return tuple(fact.content for fact in await self.memory.get(principal, ids) if fact is not None)


def _file(attached: Attachment) -> SharedFile:
    id = attached.url.rpartition("/")[2]
    return SharedFile(id=id, name=attached.name, media_type=attached.media_type)
