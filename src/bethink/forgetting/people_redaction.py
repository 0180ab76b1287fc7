"""What records of people tell of what is forgotten, and these records without it. Read by `traces`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from bethink.people import PEOPLE
from bethink.store import Put, Scan, Versioned
from bethink.store.reading import items_of

if TYPE_CHECKING:
    from bethink.people import Person
    from bethink.redaction import Redaction
    from bethink.store import Store

_PAGE = 500


@dataclass(frozen=True, slots=True)
class Retold:
    """A person's record, what becomes of it, and what goes."""

    was: Versioned[Person]
    now: Person
    gone: tuple[str, ...]

    @property
    def name(self) -> str:
        """Whose record it is."""
        return f"{self.now.name} {self.now.surname}"

    @property
    def put(self) -> Put[Person]:
        """The change that keeps it so."""
        return Put(PEOPLE, self.now, self.was.version)


async def retold(store: Store, owner: str, gone: Redaction) -> tuple[Retold, ...]:
    """The records that say something of it: in what is told about somebody, or with a field by their name."""
    everybody = items_of(store, owner, Scan(PEOPLE, limit=_PAGE))
    found = [_retold(item, gone) async for item in everybody]
    return tuple(one for one in found if one.gone)


def _retold(was: Versioned[Person], gone: Redaction) -> Retold:
    person = was.record
    whose = f"{person.name} {person.surname}"
    about, parts = gone.about(whose).cut(person.about_me, close=False)
    lines = {
        "company": person.company,
        "phone": person.phone,
        "date_of_birth": person.date_of_birth,
        "address": " ".join(msgspec.structs.astuple(person.address)) if person.address else None,
    }
    told = {name: text for name, text in lines.items() if text and gone.says(f"{whose} {text}", close=False)}
    now = msgspec.structs.replace(person, about_me=about, **dict.fromkeys(told))
    return Retold(was, now, (*parts, *told.values()))
