"""The people of all owners, as tools and doors read and change them; every call acts for one principal."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput, Conflict, EmailTaken, UnknownId
from bethink.people.records import EMAILS, PEOPLE, Email, Person, checked, email_id
from bethink.store import Delete, Put, Scan, records_of, retry_conflicts

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping
    from datetime import date

    from bethink.clock import Clock
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
        await self.store.commit(principal.owner, [Delete(PEOPLE, id), Delete(EMAILS, email_id(gone.email))])
        await self.store.scrub()
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
        raise BadInput("This cursor is of no search for people: leave it out to begin anew.")
    return int(at), id
