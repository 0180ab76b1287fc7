"""The people of all owners, as tools and doors read and change them; every call acts for one principal.

`FEATURE` says what their texts are for forgetting, and how they go into an export file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import Clock, checked_id, rfc3339, time_of, to_datetime, with_times
from bethink.errors import BadInput, Conflict, EmailTaken, UnknownId
from bethink.feature import DocumentForm, Feature, OpenFeature, Surroundings
from bethink.people.records import EMAILS, PEOPLE, Email, Person, checked, email_id
from bethink.record_texts import RecordTexts
from bethink.store import OWES_SCRUB, Delete, Put, Scan, pages_of, records_of, retry_conflicts, scrub

if TYPE_CHECKING:
    from datetime import date

    from bethink.principal import Principal
    from bethink.store import Change, Store, Versioned


_PAGE = 500
_CURSOR_DIGITS = 18


@dataclass(frozen=True, slots=True)
class PersonQuery:
    """Whom a search is for: all that is given must fit.

    Texts are looked for anywhere in their field, in any case; a gender must be the very one.
    """

    name: str | None = None
    surname: str | None = None
    email: str | None = None
    gender: str | None = None

    def fits(self, person: Person) -> bool:
        """Whether this is one of them."""
        parts = ((self.name, person.name), (self.surname, person.surname), (self.email, person.email))
        if any(part and part.strip().casefold() not in text.casefold() for part, text in parts):
            return False
        return not self.gender or self.gender.strip().lower() == person.gender


@dataclass(frozen=True, slots=True)
class PeopleFound:
    """Some people; `cursor` continues behind the last one, None at the end."""

    people: tuple[Person, ...]
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class People:
    """The people of all owners."""

    store: Store
    clock: Clock
    new_id: Callable[[], str]

    async def create(
        self, principal: Principal, given: Mapping[str, Any], *, untrusted: bool = False
    ) -> Person:
        """Keep a new person, with the fields that are given (`shown` names them); None is none.

        What is `untrusted` may come from outside.

        Raises:
            BadInput: a field is unfit or missing; the sentence names each.
            EmailTaken: somebody has this e-mail address.
        """
        values = checked(given, None, self._today)
        person = Person(**values, id=self.new_id(), created_at=self.clock.now_us(), untrusted=untrusted)
        try:
            await self.store.commit(
                principal.owner,
                [
                    Put(PEOPLE, person, if_version=0),
                    Put(EMAILS, Email(id=email_id(person.email), person=person.id), if_version=0),
                ],
            )
        except Conflict as error:
            raise EmailTaken from error
        return person

    async def get(self, principal: Principal, id: str) -> Person:
        """The person with this id.

        Raises:
            UnknownId: this owner has no such person.
        """
        return (await self._get(principal, id)).record

    async def search(
        self, principal: Principal, sought: PersonQuery, *, limit: int = 50, cursor: str | None = None
    ) -> PeopleFound:
        """At most `limit` of those who fit, in the order in which they came; `PersonQuery()` is everybody.

        Raises:
            BadInput: the cursor is of no search.
        """
        behind = _place(cursor)
        found: list[Person] = []
        async for person in self.all(principal, since=behind[0]):
            if (person.created_at, person.id) <= behind or not sought.fits(person):
                continue
            if len(found) == limit:
                return PeopleFound(tuple(found), f"{found[-1].created_at}.{found[-1].id}")
            found.append(person)
        return PeopleFound(tuple(found))

    def all(self, principal: Principal, *, since: int = 0) -> AsyncGenerator[Person]:
        """Everybody who came `since` a moment, in microseconds UTC, in the order in which they came."""
        scan = Scan(PEOPLE, order="created_at", low=since, limit=_PAGE)
        return records_of(self.store, principal.owner, scan)

    async def count(self, principal: Principal) -> int:
        """How many people there are."""
        return await self.store.count(principal.owner, PEOPLE, {})

    async def update(
        self, principal: Principal, id: str, given: Mapping[str, Any], *, untrusted: bool = False
    ) -> Person:
        """Change the given fields of a person; None empties one. What is left out stays.

        Of an address or a card only the given parts change, whether there was one before or not.
        Nobody's later change makes what was `untrusted` the owner's own.

        Raises:
            UnknownId: this owner has no such person.
            BadInput: a field is unfit; the sentence names each.
            EmailTaken: somebody else has this e-mail address.
            Conflict: others kept changing this person meanwhile.
        """
        before = await self._get(principal, id)
        after = msgspec.structs.replace(
            before.record,
            **checked(given, before.record, self._today),
            untrusted=before.record.untrusted or untrusted,
        )
        changes: list[Change] = [Put(PEOPLE, after, if_version=before.version)]
        was, now = email_id(before.record.email), email_id(after.email)
        if was != now:
            (holder,) = await self.store.get(EMAILS, principal.owner, [now])
            if holder is not None:
                raise EmailTaken
            changes += [Put(EMAILS, Email(id=now, person=id), if_version=0), Delete(EMAILS, was)]
        await self.store.commit(principal.owner, changes)
        return after

    @retry_conflicts
    async def vouch(self, principal: Principal, id: str) -> Person:
        """Say that what is known of a person is the owner's own word, whoever wrote it.

        Raises:
            UnknownId: this owner has no such person.
            Conflict: others kept changing this person meanwhile.
        """
        before = await self._get(principal, id)
        after = msgspec.structs.replace(before.record, untrusted=False)
        await self.store.commit(principal.owner, [Put(PEOPLE, after, if_version=before.version)])
        return after

    async def delete(self, principal: Principal, id: str) -> Person:
        """Remove a person for good, from the store's files too; who it was.

        Raises:
            UnknownId: this owner has no such person.
            StorageError: other readers keep traces in the files; the next deletion removes them.
        """
        gone = (await self._get(principal, id)).record
        gone_too = Delete(EMAILS, email_id(gone.email))
        await self.store.commit(principal.owner, [Delete(PEOPLE, id), gone_too, OWES_SCRUB])
        await scrub(self.store, principal.owner)
        return gone

    async def _get(self, principal: Principal, id: str) -> Versioned[Person]:
        (found,) = await self.store.get(PEOPLE, principal.owner, [id])
        if found is None:
            raise UnknownId("User not found")
        return found

    @property
    def _today(self) -> date:
        return to_datetime(self.clock.now_us()).date()


def _place(cursor: str | None) -> tuple[int, str]:
    at, _, id = (cursor or "0.").partition(".")
    if not at.isdecimal() or len(at) > _CURSOR_DIGITS:
        raise BadInput("This cursor is not valid: leave it out to start again.")
    return int(at), id


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
