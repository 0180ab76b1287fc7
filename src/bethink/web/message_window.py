"""Which stretch of a long conversation a page shows, by the positions of its messages. For its routes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.conversations import Conversation, StoredMessage


def end_of_page(*, after: int | None, at: int | None, limit: int) -> str | None:
    """The position before which a page ends; None where it ends with the conversation."""
    if after is not None:
        return str(after + 1 + limit)
    return None if at is None else str(at + 1 + limit // 2)


def reaches_end(messages: Sequence[StoredMessage], held: Conversation) -> bool:
    """Whether the page holds the last message of the active branch."""
    return bool(messages) and messages[-1].position + 1 == held.count
