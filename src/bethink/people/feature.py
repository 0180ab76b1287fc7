"""The records of people, as a feature: their texts for forgetting, their lines in an export file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import checked_id, rfc3339, time_of, to_datetime, with_times
from bethink.errors import BadInput
from bethink.feature import DocumentForm, Feature, OpenFeature
from bethink.people.records import EMAILS, PEOPLE, Email, Person, checked, email_id
from bethink.people.service import People
from bethink.record_texts import RecordTexts
from bethink.store import Delete, Put, Scan, pages_of, retry_conflicts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from bethink.feature import Surroundings
    from bethink.store import Store


_PAGE = 200
_DIGITS = range(13, 20)
_LAST = 4
_GIVEN_BY_NOBODY = frozenset({"id", "created_at", "credit_card", "untrusted"})


def people_form(store: Store) -> DocumentForm:
    """A line for each person, in the order in which they came."""

    async def export(owner: str) -> AsyncGenerator[Sequence[Mapping[str, Any]]]:
        async for page in pages_of(store, owner, Scan(PEOPLE, order="created_at", limit=_PAGE)):
            yield [_document(item.record) for item in page]

    @retry_conflicts
    async def restore(owner: str, people: Sequence[Person], is_preview: bool) -> Sequence[str]:  # noqa: FBT001 - as DocumentForm has it
        held = await store.get(PEOPLE, owner, [person.id for person in people])
        taken = await store.get(EMAILS, owner, [email_id(person.email) for person in people])
        outcomes: list[str] = []
        new: dict[str, Person] = {}
        for person, here, email in zip(people, held, taken, strict=True):
            key = email_id(person.email)
            if here is not None:
                outcomes.append("known" if here.record == person else "differing")
            elif email is not None or key in new:
                outcomes.append("differing")
            else:
                new[key] = person
                outcomes.append("said")
        puts = [Put(PEOPLE, person, if_version=0) for person in new.values()]
        emails = [Put(EMAILS, Email(id=key, person=one.id), if_version=0) for key, one in new.items()]
        if new and not is_preview:
            await store.commit(owner, [*puts, *emails])
        return outcomes

    return DocumentForm(
        kind="person", export=export, parse=_person, restore=restore, made_at=lambda person: person.created_at
    )


def _document(person: Person) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(person)
    kept = {name: value for name, value in document.items() if value not in (None, False)}
    return {"kind": "person", **with_times(kept, rfc3339)}


def _person(document: Mapping[str, Any]) -> Person:
    found = msgspec.convert(with_times(dict(document), time_of), Person)
    checked_id(found.id)
    card = found.credit_card
    if card is not None and not (
        card.digits in _DIGITS and card.last.isdecimal() and len(card.last) == _LAST
    ):
        raise BadInput("credit_card: only how many digits it has and the last four of them are kept.")
    given = {
        name: value
        for name, value in msgspec.to_builtins(found).items()
        if value is not None and name not in _GIVEN_BY_NOBODY
    }
    return msgspec.structs.replace(found, **checked(given, None, to_datetime(found.created_at).date()))


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
        # What is no sentence has nothing left that could be kept.
        rewrite=lambda person, left: msgspec.structs.replace(
            person, **{field: text or None for field, text in left.items()}
        ),
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


def _open(at: Surroundings) -> OpenFeature:
    texts = people_texts(at.store)
    return OpenFeature(
        service=People(at.store, at.clock, at.new_id),
        forgettable=texts.forgettable,
        cut=texts.cut,
        documents=[people_form(at.store)],
    )


FEATURE = Feature(
    name="people",
    open=_open,
    collections=(PEOPLE, EMAILS),
    counted={"people": ("person", PEOPLE)},
    tools="bethink.tools.people",
    routes=("bethink.web.people",),
    commands="bethink.cli.people",
    mcp_summary=("Records of people whom the user knows (users management). Card numbers come back masked."),
)
