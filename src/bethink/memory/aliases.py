"""Other names of those whom facts are about: Bert is Roberto, "sister" is Anna.

They come when two names are made one (`POST /memories/batch`), and go with its undo or by themselves.
`Memory` asks whom a new fact is about, recall whom a question names. They are forgotten and exported.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from bethink.assertions import OWNER, about_of, with_other_names
from bethink.clock import Clock, Ids, checked_id, rfc3339, time_of, with_times
from bethink.errors import BadInput, UnknownId
from bethink.feature import DocumentForm, Feature, OpenFeature, Surroundings
from bethink.principal import Principal, Recent
from bethink.record_texts import RecordTexts
from bethink.store import Change, Collection, Delete, Put, Record, Scan, Store, records_of

if TYPE_CHECKING:
    from bethink.memory.facts import NewFact

KIND: Final = "alias"
_NAME_CHARS: Final = 64
_READ_AGAIN_US: Final = 600_000_000
"""Another process may have changed them."""
_OWNERS: Final = 1_000


class Alias(Record, frozen=True, kw_only=True):
    """That `name` means who is called `about`; `undo` is the token of the change that it came with."""

    schema: int = 1
    name: str
    about: str
    at: int
    undo: str = ""


ALIASES: Final = Collection("memory_aliases", Alias, ("at",), scans=(("at",),), searchable=False)


@dataclass(frozen=True, slots=True)
class OtherNames:
    """The aliases of all owners. They are read for each recall, so they are kept until facts change."""

    store: Store
    clock: Clock
    new_id: Ids
    _known: Recent[str, tuple[int, Sequence[Alias]]] = field(
        default_factory=lambda: Recent[str, "tuple[int, Sequence[Alias]]"](_OWNERS), repr=False
    )

    async def list(self, owner: str) -> Sequence[Alias]:
        """All of an owner's, the oldest first."""
        known, now = self._known.get(owner), self.clock.now_us()
        if known is None or not 0 <= now - known[0] < _READ_AGAIN_US:
            scan = Scan(ALIASES, order="at")
            known = now, [one async for one in records_of(self.store, owner, scan)]
            self._known[owner] = known
        return known[1]

    def heard(self, owner: str) -> None:
        """Read them again the next time."""
        self._known.pop(owner)

    async def filed(self, owner: str, facts: Sequence[NewFact]) -> list[NewFact]:
        """New facts, about whoever is meant by the names that they have."""
        known = {one.name.casefold(): one.about for one in await self.list(owner)}
        if not known:
            return [*facts]
        meant = [known.get((one.about or _begun(one.content, known)).casefold()) for one in facts]
        return [replace(one, about=who) if who else one for one, who in zip(facts, meant, strict=True)]

    async def asked(self, principal: Principal, question: str) -> str:
        """A question with the other names of whom it names."""
        known = await self.list(principal.owner)
        return with_other_names(question, [(one.name, one.about) for one in known]) if known else question

    async def merging(self, owner: str, name: str, about: str, *, undo: str) -> list[Change]:
        """The changes by which `name` and its other names come to mean `about`.

        Raises:
            BadInput: they are one name, or one of them is the owner.
        """
        if OWNER in {name, about} or not name or name.casefold() == about.casefold():
            raise BadInput("Give two names of one person or thing that is not you.")
        changes: list[Change] = []
        for one in await self.list(owner):
            if one.name.casefold() in {name.casefold(), about.casefold()}:
                changes.append(Delete(ALIASES, one.id))
            elif one.about.casefold() == name.casefold():
                changes.append(Put(ALIASES, msgspec.structs.replace(one, about=about)))
        new = Alias(id=self.new_id(), name=name, about=about, at=self.clock.now_us(), undo=undo)
        return [*changes, Put(ALIASES, new, if_version=0)]

    async def parted(self, owner: str, undo: str) -> list[Change]:
        """The changes that take back what came with a change; see `Along`."""
        return [Delete(ALIASES, one.id) for one in await self.list(owner) if undo and one.undo == undo]

    async def remove(self, principal: Principal, id: str) -> None:
        """Let a name mean nobody else any more; facts stay where they are filed.

        Raises:
            UnknownId: there is no such alias.
        """
        (found,) = await self.store.get(ALIASES, principal.owner, [id])
        if found is None:
            raise UnknownId("There is no such other name: it may have been removed already.")
        await self.store.commit(principal.owner, [Delete(ALIASES, id, if_version=found.version)])
        self.heard(principal.owner)


def _begun(content: str, names: Mapping[str, str]) -> str:
    """Whom a statement is about: one of the names, if it begins with that."""
    about = about_of(content)
    begun = content.casefold()
    return next((name for name in names if about == OWNER and f"{begun} ".startswith(f"{name} ")), about)


def _form(store: Store) -> DocumentForm:
    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        found = [one async for one in records_of(store, owner, Scan(ALIASES, order="at"))]
        if found:
            yield [{"kind": KIND, **with_times(msgspec.to_builtins(one), rfc3339)} for one in found]

    def parse(document: Mapping[str, Any]) -> Alias:
        found = msgspec.convert(with_times(dict(document), time_of), Alias)
        checked_id(found.id)
        if not all(0 < len(name) <= _NAME_CHARS for name in (found.name, found.about)):
            raise BadInput(f"A name has 1 to {_NAME_CHARS} characters.")
        return msgspec.structs.replace(found, schema=1)

    async def restore(owner: str, found: Sequence[Alias], is_preview: bool) -> list[str]:  # noqa: FBT001 - as DocumentForm has it
        taken = {one.name.casefold() async for one in records_of(store, owner, Scan(ALIASES))}
        new = {one.name.casefold(): one for one in found if one.name.casefold() not in taken}
        if new and not is_preview:
            await store.commit(owner, [Put(ALIASES, one, 0) for one in new.values()])
        return ["restored" if one in new.values() else "known" for one in found]

    return DocumentForm(kind=KIND, export=export, parse=parse, restore=restore, made_at=lambda one: one.at)


def _open(at: Surroundings) -> OpenFeature:
    texts = RecordTexts(
        store=at.store,
        collection=ALIASES,
        kind="aliases",
        one="other name",
        name=lambda one: one.name,
        fields=lambda _: {},
        sentences=frozenset(),
        rewrite=lambda one, _: one,
        identity=lambda one: (one.name, one.about),
    )
    return OpenFeature(
        service=OtherNames(at.store, at.clock, at.new_id),
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[_form(at.store)],
    )


FEATURE: Final = Feature(name="aliases", open=_open, collections=(ALIASES,))
