"""What people's records say, for forgetting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from bethink.people.records import EMAILS, PEOPLE, Person, email_id
from bethink.record_texts import RecordTexts
from bethink.store import Delete

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bethink.store import Store

_SENTENCES = "about_me"


def people_texts(store: Store) -> RecordTexts[Person]:
    """Who is named in a question goes as a whole; of others, what is told of them."""
    return RecordTexts(
        store=store,
        collection=PEOPLE,
        kind="people",
        one="person",
        name=_name,
        fields=_fields,
        sentences=frozenset((_SENTENCES,)),
        rewrite=_rewrite,
        identity=lambda person: (_name(person), person.email),
        subject=_name,
        along=lambda person: [Delete(EMAILS, email_id(person.email))],
        others=[EMAILS],
    )


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


def _rewrite(person: Person, left: Mapping[str, str]) -> Person:
    # What is no sentence has nothing left that could be kept.
    return msgspec.structs.replace(person, **{field: text or None for field, text in left.items()})
