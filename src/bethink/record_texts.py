"""What features share for their records: these without what is forgotten, and as lines of an export file."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from bethink.clock import Clock, rfc3339, time_of, with_times
from bethink.feature import DocumentForm, RecordCuts, RecordExcerpt, RetentionRule
from bethink.forgettable import Forgettable, Holding, Removal, TextPlace, left_of, places_in
from bethink.store import OWES_SCRUB, Delete, DeleteAll, Put, R, Scan, items_of, pages_of, records_of, scrub

if TYPE_CHECKING:
    from bethink.index import IndexItem
    from bethink.principal import Principal
    from bethink.redaction import Redaction
    from bethink.store import Change, Collection, Store, Versioned

S = TypeVar("S", bound=msgspec.Struct)
_PAGE: Final = 500
_UNDO_KEPT_US: Final = 30 * 86_400_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTexts(Generic[R]):
    """Finds what records say in their `fields`, and cuts it out.

    `one` is what a person calls a record, `kind` what many are called, and `name` what this one is. A record
    goes as a whole if a question's words stand in its `identity`, with the changes `along`. Its texts are
    about its `subject`, and need not name it. Of a field among `sentences` single ones go, of any other all
    of it; `rewrite` makes the record with what is left of its fields, and `index` what it is found by then.
    Readers of `close` texts know what they are about: there also what only hints at it goes. All go with what
    is in `others` and in `undo`, whose records hold in `before` what a change can be taken back to.
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
    undo: Collection[Any] | None = None
    close: bool = False

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
        stale = await self._stale(owner, lambda record: self._says(record, gone))
        return RecordCuts([*(put for put, _ in found), *stale], [excerpt for _, excerpt in found])

    async def _stale(self, owner: str, says: Callable[[R], bool]) -> list[Change]:
        """The changes that cannot be taken back any more, as they would bring back what is forgotten."""
        if self.undo is None:
            return []
        return [
            Delete(self.undo, change.id)
            async for change in records_of(self.store, owner, Scan(self.undo, limit=_PAGE))
            if any(map(says, change.before))
        ]

    def _says(self, record: R, gone: Redaction) -> bool:
        about = gone.about(self.subject(record))
        return any(
            gone.says_in(text, close=self.close) or one.says(text, close=self.close)
            for text in self.fields(record).values()
            if text
            for one in (gone, about)
        )

    def retention(self, clock: Clock) -> list[RetentionRule]:
        """That changes can be taken back for a month."""
        if (undo := self.undo) is None:
            return []

        async def expire(principal: Principal) -> int:
            scan = Scan(undo, order="at", high=clock.now_us() - _UNDO_KEPT_US, limit=_PAGE)
            old = [
                Delete(undo, item.record.id, item.version)
                async for item in items_of(self.store, principal.owner, scan)
            ]
            if old:
                await self.store.commit(principal.owner, [*old, OWES_SCRUB])
                await scrub(self.store, principal.owner)
            return len(old)

        return [
            RetentionRule(of=(undo,), log=f"changes of {self.kind} cannot be undone any more", drop=expire)
        ]

    def _cut(self, was: Versioned[R], gone: Redaction) -> tuple[Put[R], RecordExcerpt] | None:
        subject, left, parts = self.subject(was.record), dict[str, str](), list[str]()
        about = gone.about(subject)
        for field, text in self.fields(was.record).items():
            if field in self.sentences:
                # What names the record itself has to say all of it: nothing is left of a saying about itself.
                now, cut = (gone if text == subject else about).cut(text, close=self.close)
            else:
                now, cut = "", (text,) if text and gone.says(f"{subject} {text}", close=self.close) else ()
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
        undo = [] if self.undo is None else [self.undo]
        await self.store.commit(owner, [*map(DeleteAll, [self.collection, *self.others, *undo])])

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
        changes += await self._stale(owner, lambda record: record.id in by_id)
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


def as_document(record: msgspec.Struct) -> dict[str, Any]:
    """The record as JSON, with its times as text."""
    return with_times(msgspec.to_builtins(record), rfc3339)


def of_document(document: Mapping[str, Any], of: type[S]) -> S:
    """The reverse of `as_document`.

    Raises:
        msgspec.ValidationError: it is no such record.
    """
    return msgspec.convert(with_times(dict(document), time_of), of)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLines(Generic[R]):
    """Records of a collection as lines of an export file, in the `order` of a key of it or of ids, and back.

    `document` is what a line says beside its kind, and `parse` a checked record of it. A record comes back if
    there is none of its id; if it is there, `told` of both decides whether it is "known" or "differing".
    `keep` puts records back, found by their `index` if nobody gives it. `at` is what says when one was made.
    """

    store: Store
    collection: Collection[R]
    kind: str
    parse: Callable[[Mapping[str, Any]], R]
    order: str | None = "created_at"
    at: str = "created_at"
    document: Callable[[R], Mapping[str, Any]] = as_document
    told: Callable[[R], object] = lambda record: record
    index: Callable[[R], IndexItem | None] = lambda _record: None
    keep: Callable[[str, Sequence[R]], Awaitable[None]] | None = None
    page: int = _PAGE

    @property
    def form(self) -> DocumentForm:
        """What a feature gives as one of its `documents`."""
        return DocumentForm(
            kind=self.kind,
            export=self._export,
            parse=self.parse,
            restore=self._restore,
            made_at=attrgetter(self.at),
        )

    async def _export(self, owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        scan = Scan(self.collection, order=self.order, limit=self.page)
        async for page in pages_of(self.store, owner, scan):
            yield [{"kind": self.kind, **self.document(item.record)} for item in page]

    async def _restore(self, owner: str, records: Sequence[R], is_preview: bool) -> list[str]:  # noqa: FBT001 - as DocumentForm has it
        held = await self.store.get(self.collection, owner, [record.id for record in records])
        outcomes: list[str] = []
        new: dict[str, R] = {}
        for record, here in zip(records, held, strict=True):
            known = here.record if here else new.get(record.id)
            if known is None:
                new[record.id] = record
                outcomes.append("said")
            else:
                outcomes.append("known" if self.told(known) == self.told(record) else "differing")
        if new and not is_preview:
            if self.keep is None:
                puts = [Put(self.collection, one, 0, self.index(one)) for one in new.values()]
                await self.store.commit(owner, puts)
            else:
                await self.keep(owner, [*new.values()])
        return outcomes
