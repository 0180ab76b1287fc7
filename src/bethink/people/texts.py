"""What people's records say, and these records without what is forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.feature import RecordCuts, RecordExcerpt
from bethink.forgettable import Forgettable, Removal, TextPlace, left_of, places_in
from bethink.people.records import EMAILS, PEOPLE, email_id
from bethink.store import Delete, DeleteAll, Put, Scan
from bethink.store.reading import items_of, records_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from bethink.forgettable import Holding
    from bethink.people.records import Person
    from bethink.redaction import Redaction
    from bethink.store import Change, Store, Versioned

KIND = "people"
_PAGE = 500
_SENTENCES = "about_me"


@dataclass(frozen=True, slots=True)
class PeopleTexts:
    """Finds and cuts what the records of an owner's people say."""

    store: Store

    @property
    def forgettable(self) -> Forgettable:
        """How all of an owner's people go, and what of them holds some words."""
        return Forgettable(
            KIND,
            "person",
            "people",
            lambda owner: self.store.count(owner, PEOPLE, {}),
            self._names,
            self._remove,
            find=self._holding,
            take=self._taken,
        )

    async def cut(self, owner: str, gone: Redaction) -> RecordCuts:
        """The records that say it, in what is told about somebody or in a field of theirs, without it."""
        everybody = items_of(self.store, owner, Scan(PEOPLE, limit=_PAGE))
        found = [one async for item in everybody if (one := _cut(item, gone)) is not None]
        return RecordCuts([put for put, _ in found], [excerpt for _, excerpt in found])

    async def _names(self, owner: str, limit: int) -> list[str]:
        (page,) = await self.store.scan(owner, Scan(PEOPLE, limit=limit))
        return [_name(item.record) for item in page.items]

    async def _remove(self, owner: str) -> None:
        await self.store.commit(owner, [DeleteAll(PEOPLE), DeleteAll(EMAILS)])

    async def _holding(self, owner: str, holding: Holding) -> list[TextPlace]:
        """Whose name or address holds some words, and which fields of others do."""
        everybody = records_of(self.store, owner, Scan(PEOPLE, limit=_PAGE))
        return [place async for person in everybody for place in _places(person, holding)]

    async def _taken(self, owner: str, places: Sequence[TextPlace]) -> Removal:
        """People without what these places name."""
        changes: list[Change] = []
        gone: list[tuple[str, str]] = []
        by_id = {place.id: [one for one in places if one.id == place.id] for place in places}
        for item in await self.store.get(PEOPLE, owner, [*by_id]):
            if item is None:
                continue
            person = item.record
            if any(not place.field for place in by_id[person.id]):
                changes += [Delete(PEOPLE, person.id), Delete(EMAILS, email_id(person.email))]
                gone.append(("person", _name(person)))
                continue
            left, parts = left_of(_fields(person), by_id[person.id])
            gone += [(f"in the record of {_name(person)}", part) for _, part in parts]
            if left:
                # What is no sentence has nothing left that could be kept.
                kept = {name: text if name == _SENTENCES else None for name, text in left.items()}
                changes.append(Put(PEOPLE, msgspec.structs.replace(person, **kept), item.version))
        return Removal(changes, gone)


def _cut(was: Versioned[Person], gone: Redaction) -> tuple[Put[Person], RecordExcerpt] | None:
    person = was.record
    fields = _fields(person)
    about, parts = gone.about(_name(person)).cut(fields.pop(_SENTENCES), close=False)
    said = {
        name: text
        for name, text in fields.items()
        if text and gone.says(f"{_name(person)} {text}", close=False)
    }
    if not parts and not said:
        return None
    now = msgspec.structs.replace(person, about_me=about, **dict.fromkeys(said))
    excerpt = RecordExcerpt(KIND, person.id, _name(person), (*parts, *said.values()))
    return Put(PEOPLE, now, was.version), excerpt


def _places(person: Person, holding: Holding) -> list[TextPlace]:
    if holding(_name(person)) or holding(person.email):
        return [TextPlace(KIND, person.id)]
    return places_in(KIND, person.id, _fields(person), holding=holding)


def _name(person: Person) -> str:
    return f"{person.name} {person.surname}"


def _fields(person: Person) -> dict[str, str]:
    """What is told of a person beside the name and the e-mail address, as texts."""
    address = person.address
    return {
        _SENTENCES: person.about_me,
        "phone": person.phone or "",
        "date_of_birth": person.date_of_birth or "",
        "company": person.company or "",
        "address": " ".join(msgspec.structs.astuple(address)) if address else "",
    }
