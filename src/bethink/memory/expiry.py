"""Facts retracted for their age, many at once. `Memory.expire` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.memory.draft import Draft
    from bethink.memory.writing import FactWriter


async def expire(writing: FactWriter, ids: Sequence[str], draft: Draft) -> int:
    """Retract those of these facts that are in use; how many. The log has the token that undoes it."""
    old = [fact for fact in await draft.read(ids) if fact.state == "active"]
    for fact in old:
        draft.put(msgspec.structs.replace(draft.get(fact.id), state="retracted"))
        await draft.left(fact)
    if old:
        writing.note(draft, "expired", undo=f"expired:{writing.new_id()}")
        await writing.commit(draft)
    return len(old)
