"""What the records of a collection say, and these records without what is forgotten. Features open it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from bethink.feature import RecordCuts, RecordExcerpt
from bethink.forgettable import Forgettable, Removal, TextPlace, left_of, places_in
from bethink.store import Delete, DeleteAll, Put, R, Scan, items_of, records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from bethink.forgettable import Holding
    from bethink.index import IndexItem
    from bethink.redaction import Redaction
    from bethink.store import Change, Collection, Store, Versioned

_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTexts(Generic[R]):
    """Finds what records say in their `fields`, and cuts it out.

    `one` is what a person calls a record, `kind` what many are called, and `name` what this one is. A record
    goes as a whole if a question's words stand in its `identity`, with the changes `along`. Its texts are
    about its `subject`, and need not name it. Of a field among `sentences` single ones go, of any other all
    of it; `rewrite` makes the record with what is left of its fields, and `index` what it is found by then.
    All go with what is in `others`.
    """

    store: Store
    collection: Collection[R]
    kind: str
    one: str
    name: Callable[[R], str]
    fields: Callable[[R], Mapping[str, str]]
    sentences: frozenset[str]
    rewrite: Callable[[R, Mapping[str, str]], R]
    index: Callable[[R], IndexItem | None] = lambda _record: None
    identity: Callable[[R], Sequence[str]] = lambda _record: ()
    subject: Callable[[R], str] = lambda _record: ""
    along: Callable[[R], Sequence[Change]] = lambda _record: ()
    others: Sequence[Collection[Any]] = ()

    @property
    def forgettable(self) -> Forgettable:
        """How all of an owner's records go, and what of them holds some words."""
        return Forgettable(
            self.kind,
            self.one,
            self.kind,
            lambda owner: self.store.count(owner, self.collection, {}),
            self._names,
            self._remove,
            find=self._find,
            take=self._take,
        )

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """The records that say what is forgotten, without it."""
        items = items_of(self.store, owner, Scan(self.collection, limit=_PAGE))
        found = [one async for item in items if (one := self._cut(item, gone)) is not None]
        return RecordCuts([put for put, _ in found], [excerpt for _, excerpt in found])

    def _cut(self, was: Versioned[R], gone: Redaction) -> tuple[Put[R], RecordExcerpt] | None:
        subject, left, parts = self.subject(was.record), dict[str, str](), list[str]()
        about = gone.about(subject)
        for field, text in self.fields(was.record).items():
            if field in self.sentences:
                # What names the record itself has to say all of it: nothing is left of a saying about itself.
                now, cut = (gone if text == subject else about).cut(text, close=False)
            else:
                now, cut = "", (text,) if text and gone.says(f"{subject} {text}", close=False) else ()
            if cut:
                left[field] = now
                parts += cut
        if not parts:
            return None
        return self._put(was, left), RecordExcerpt(
            self.kind, was.record.id, self.name(was.record), tuple(parts)
        )

    def _put(self, was: Versioned[R], left: Mapping[str, str]) -> Put[R]:
        now = self.rewrite(was.record, left)
        return Put(self.collection, now, was.version, self.index(now))

    async def _names(self, owner: str, limit: int) -> list[str]:
        (page,) = await self.store.scan(owner, Scan(self.collection, limit=limit))
        return [self.name(item.record) for item in page.items]

    async def _remove(self, owner: str) -> None:
        changes = [DeleteAll(self.collection), *map(DeleteAll, self.others)]
        await self.store.commit(owner, changes)

    async def _find(self, owner: str, holding: Holding) -> list[TextPlace]:
        """Records that go as a whole, and the fields of others that hold the words."""
        return [
            place
            async for record in records_of(self.store, owner, Scan(self.collection, limit=_PAGE))
            for place in self._places(record, holding)
        ]

    def _places(self, record: R, holding: Holding) -> list[TextPlace]:
        if any(holding(text) for text in self.identity(record)):
            return [TextPlace(self.kind, record.id)]
        return places_in(self.kind, record.id, self.fields(record), holding=holding)

    async def _take(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        """Records without what these places name."""
        changes: list[Change] = []
        gone: list[tuple[str, str]] = []
        by_id = {place.id: [one for one in places if one.id == place.id] for place in places}
        for item in await self.store.get(self.collection, owner, [*by_id]):
            if item is None:
                continue
            name, here = self.name(item.record), by_id[item.record.id]
            if any(not place.field for place in here):
                changes += [Delete(self.collection, item.record.id), *self.along(item.record)]
                gone.append((self.one, name))
                continue
            left, parts = left_of(self.fields(item.record), here)
            gone += [(f"in the record of {name}", part) for _, part in parts]
            if left:
                changes.append(
                    self._put(
                        item, {field: text if field in self.sentences else "" for field, text in left.items()}
                    )
                )
        return Removal(changes, gone)


@dataclass(frozen=True, slots=True)
class JointTexts:
    """What a feature keeps in several collections; a person knows all of it by what the first is called."""

    parts: Sequence[RecordTexts[Any]]

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """All of them without what is forgotten."""
        found = [await part.cut(owner, gone) for part in self.parts]
        return RecordCuts(
            [change for one in found for change in one.changes],
            [excerpt for one in found for excerpt in one.excerpts],
        )

    @property
    def forgettable(self) -> Forgettable:
        """How all of the first go, and what of all this holds some words."""
        each = [part.forgettable for part in self.parts]

        async def find(owner: str, holding: Holding) -> list[TextPlace]:
            return [place for one in each if one.find for place in await one.find(owner, holding)]

        async def take(owner: str, places: Sequence[TextPlace]) -> Removal:
            taken = [await one.take(owner, places) for one in each if one.take]
            return Removal(
                [change for one in taken for change in one.changes],
                [gone for one in taken for gone in one.gone],
            )

        return replace(each[0], find=find, take=take)
