"""Changes of several facts at once: retract, pin, file under a category, merge. One commit, one undo.

`Memory` calls it for `POST /memories/batch` and `POST /memories/merge`. What cannot be changed, since it is
no longer there or in another state, is left out; the answer says how many were changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from bethink.errors import BadInput, UnknownId
from bethink.memory.facts import FactChange, anew, category_of, checked_about, taken_in
from bethink.memory.undo import GONE, check_seen

if TYPE_CHECKING:
    from bethink.memory.aliases import OtherNames
    from bethink.memory.writer import FactDraft, FactWriter
    from bethink.principal import Principal

MOST: Final = 500
"""In one batch, for which other writers wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEdit:
    """What several facts are to become: out of use, pinned or not, of another category, about another."""

    retract: bool = False
    pinned: bool | None = None
    category: str | None = None
    about: str | None = None
    also: str | None = None
    """What whom they are `about` is called, too: what is told by that name is about them from now on."""

    @property
    def change(self) -> Literal["retracted", "merged"]:
        """What the log calls it."""
        return "retracted" if self.retract else "merged"


@dataclass(frozen=True, slots=True)
class FactBatch:
    """Changes several facts of one owner in one commit."""

    writing: FactWriter
    names: OtherNames | None = None

    async def edit(self, principal: Principal, ids: Sequence[str], edit: BatchEdit) -> FactChange:
        """Change these facts; see `BatchEdit`.

        Raises:
            BadInput: nothing is to be changed, or there are too many.
            UnknownId: none of them is in use.
            Conflict: another process kept changing facts meanwhile.
        """
        if edit == BatchEdit():
            raise BadInput("Say what to change: retract, pinned, category or about.")
        _check_count(ids)
        return await self.writing.repeated(principal, partial(self._edit, ids, edit))

    async def _edit(self, ids: Sequence[str], edit: BatchEdit, draft: FactDraft) -> FactChange:
        known = [fact for fact in await draft.read(ids) if fact.state == "active"]
        if not known:
            raise UnknownId(GONE)
        changed: list[str] = []
        for fact in known:
            check_seen(draft, fact, missing=GONE)
            now = draft.get(fact.id)
            if edit.retract:
                draft.put(msgspec.structs.replace(now, state="retracted"))
                await draft.left(fact)
            else:
                category = fact.category if edit.category is None else category_of(edit.category)
                pinned = fact.pinned if edit.pinned is None else edit.pinned
                about = fact.told_about if edit.about is None else checked_about(edit.about)
                if (category, pinned, about) == (fact.category, fact.pinned, fact.told_about):
                    continue
                draft.put(anew(now, category=category, pinned=pinned, told_about=about))
            changed.append(fact.id)
        also = (edit.also, edit.about) if edit.also and edit.about else None
        return await self._committed(draft, changed or [known[0].id], edit.change, also=also)

    async def merge(self, principal: Principal, keep: str, gone: Sequence[str]) -> FactChange:
        """Take facts into one that says the same, with their sources, topics, importance and pins.

        Raises:
            BadInput: it would be merged into itself, or there are too many.
            UnknownId: one of them is not in use.
            Conflict: another process kept changing facts meanwhile.
        """
        _check_count(gone)
        if keep in gone:
            raise BadInput("A memory cannot be merged into itself.")
        return await self.writing.repeated(principal, partial(self._merge, keep, gone))

    async def _merge(self, keep: str, gone: Sequence[str], draft: FactDraft) -> FactChange:
        facts = await draft.read([keep, *gone])
        if len(facts) != 1 + len({*gone}) or any(fact.state != "active" for fact in facts):
            raise UnknownId(GONE)
        for fact in facts:
            check_seen(draft, fact, missing=GONE)
        draft.put(taken_in(facts[0], facts[1:]))
        for fact in facts[1:]:
            draft.put(msgspec.structs.replace(draft.get(fact.id), state="merged", superseded_by=keep))
            await draft.left(fact)
        return await self._committed(draft, [fact.id for fact in facts], "merged")

    async def _committed(
        self,
        draft: FactDraft,
        ids: Sequence[str],
        change: Literal["retracted", "merged"],
        *,
        also: tuple[str, str] | None = None,
    ) -> FactChange:
        undo = f"batch:{self.writing.new_id()}" if draft.changed else None
        if undo:
            names = await self.names.merging(draft.owner, *also, undo=undo) if self.names and also else ()
            self.writing.note(draft, change, undo=undo)
            await self.writing.commit(draft, expected=names)
        first, *others = [draft.get(id) for id in ids]
        return FactChange(first, change, undo, tuple(others), len(ids) if undo else 0)


def _check_count(ids: Sequence[str]) -> None:
    if not 1 <= len({*ids}) <= MOST:
        raise BadInput(f"Name 1 to {MOST} memories.")
