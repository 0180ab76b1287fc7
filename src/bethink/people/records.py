"""The record of a person, and what of it is given out.

Of a card its last four digits are kept, never the number: nothing that Bethink
does needs it, so that nothing can let it out. The security code is not kept at
all (PCI DSS 4.0, requirement 3.3.1.2).
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from bethink.clock import to_datetime
from bethink.store import Collection, Record

_GROUP = 4
HIDDEN_CODE = "***"
"""Stands for a security code, which nobody keeps."""


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a person lives."""

    country: str
    city: str
    street: str
    flat_house: str


class Card(msgspec.Struct, frozen=True, kw_only=True):
    """What is kept of a card: how many `digits` its number has, and the last four of them."""

    digits: int
    last: str
    exp_date: str

    @property
    def shown(self) -> str:
        """The number in groups of four, its last four digits alone to be read."""
        number = "*" * (self.digits - len(self.last)) + self.last
        return "-".join(number[start : start + _GROUP] for start in range(0, len(number), _GROUP))


class Person(Record, frozen=True, kw_only=True):
    """One person. `created_at` is microseconds UTC, `date_of_birth` is YYYY-MM-DD.

    Who is `untrusted` was written, in part at least, when words from outside stood in the run, or
    imported; they stay so until their owner vouches for them.
    """

    name: str
    surname: str
    email: str
    about_me: str
    created_at: int
    phone: str | None = None
    date_of_birth: str | None = None
    gender: str | None = None
    company: str | None = None
    salary: float | None = None
    address: Address | None = None
    credit_card: Card | None = None
    untrusted: bool = False


class Email(Record, frozen=True, kw_only=True):
    """Whose an e-mail address is. Its id is the address's digest: the store lets only one be made."""

    person: str


# What a person is found by is read, not declared: keys may outlive what is deleted in a store's files.
PEOPLE = Collection("people", Person, ("created_at",), scans=(("created_at",),), searchable=False)
EMAILS = Collection("people_emails", Email, searchable=False)


def email_id(address: str) -> str:
    """The id of an address's record: the same however it is written in capitals."""
    return hashlib.blake2b(address.casefold().encode(), digest_size=16).hexdigest()


def shown(person: Person) -> dict[str, Any]:
    """The person as JSON (spec 001), card numbers masked; what is not known is null."""
    card = person.credit_card
    return {
        "id": person.id,
        "name": person.name,
        "surname": person.surname,
        "email": person.email,
        "phone": person.phone,
        "date_of_birth": person.date_of_birth,
        "gender": person.gender,
        "company": person.company,
        "salary": person.salary,
        "about_me": person.about_me,
        "address": None if person.address is None else msgspec.structs.asdict(person.address),
        "credit_card": None
        if card is None
        else {"num": card.shown, "cvv": HIDDEN_CODE, "exp_date": card.exp_date},
        "created_at": to_datetime(person.created_at).isoformat().replace("+00:00", "Z"),
    }
