"""The record of a person, what each field must be, and what of it is given out.

Of a card its last four digits are kept, never the number: nothing that Bethink
does needs it, so that nothing can let it out. The security code is not kept at
all (PCI DSS 4.0, requirement 3.3.1.2).
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date
from typing import Any

import msgspec

from bethink.clock import to_datetime
from bethink.errors import BadInput
from bethink.field_checks import tidied
from bethink.masking import has_card_number
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


GENDERS = ("male", "female", "other", "prefer_not_to_say")
MAX_LINE_CHARS = 200
MAX_ABOUT_CHARS = 4_000
_MAX_EMAIL_CHARS = 254
"""The longest address that mail can be sent to (RFC 5321, 4.5.3.1.3)."""
_FIRST_YEAR = 1850
"""Nobody alive was born before; a year with a digit missing is caught."""
_MAX_SALARY = 1e15

_EMAIL = re.compile(r"[^\s@<>,;:\"()\[\]\\]+@(?:[\w-]+\.)+[\w-]{2,}")
_PHONE = re.compile(r"\+?[\d ().\-/]{5,30}")
_PHONE_DIGITS = range(5, 16)
"""E.164 has no longer numbers."""
_CARD_DIGITS = range(13, 20)
_CODE = re.compile(r"\d{3,4}")
_EXPIRY = re.compile(r"(?:0[1-9]|1[0-2])/\d{4}")

REQUIRED = ("name", "surname", "email", "about_me")
_ADDRESS = ("country", "city", "street", "flat_house")


class InvalidField(ValueError):
    """Why a field's value is not taken: a reason each of its parts, "" for the field itself."""

    def __init__(self, reason: str = "", **parts: str) -> None:
        super().__init__(reason)
        self.parts = {"": reason} if reason else parts

    def told(self, field: str) -> list[str]:
        """The reasons with the names of what they are about."""
        return [
            f"{field}.{part}: {reason}" if part else f"{field}: {reason}"
            for part, reason in self.parts.items()
        ]


def checked(given: Mapping[str, Any], before: Person | None, today: date) -> dict[str, Any]:
    """The given fields as a record keeps them; None empties one. `before` is whom they change.

    Raises:
        BadInput: a field is unknown or its value is unfit; the sentence names all of them.
    """
    needed = REQUIRED if before is None else ()
    reasons = [f"{name}: is required" for name in needed if given.get(name) is None]
    values: dict[str, Any] = {}
    for name, value in given.items():
        try:
            values[name] = _value(name, value, before, today=today)
        except InvalidField as error:
            reasons += [reason for reason in error.told(name) if reason not in reasons]
    if reasons:
        raise BadInput(f"The person is not valid. {'; '.join(reasons)}.")
    return values


def _value(name: str, value: Any, before: Person | None, *, today: date) -> Any:  # noqa: ANN401 - a type each
    if value is None:
        if name in REQUIRED:
            raise InvalidField("is required")
        return None
    match name:
        case "date_of_birth":
            return _birthday(value, today)
        case "address":
            return _address(_parts(value, _ADDRESS), before.address if before else None)
        case "credit_card":
            return _card(_parts(value, _CARD), before.credit_card if before else None)
        case _ if name in _CHECKS:
            return _CHECKS[name](value)
        case _:
            raise InvalidField("there is no such field")


def _parts(value: object, known: Iterable[str]) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidField("give an object")
    given: dict[str, Any] = {str(name): part for name, part in value.items() if part is not None}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - JSON
    if unknown := [name for name in given if name not in known]:
        raise InvalidField(**dict.fromkeys(unknown, "there is no such field"))
    return given


def line(value: object, most: int = MAX_LINE_CHARS) -> str:
    """A text without control characters, white space folded unless it may have lines."""
    if not isinstance(value, str):
        raise InvalidField("give a text")
    text = tidied(value)
    if most == MAX_LINE_CHARS:
        text = " ".join(text.split())
    if not text:
        raise InvalidField("is empty")
    if len(text) > most:
        raise InvalidField(f"is {len(text):,} characters long, at most {most:,} are kept")
    if has_card_number(text):
        raise InvalidField("contains a card number: put it into credit_card.num")
    return text


def _email(value: object) -> str:
    text = line(value)
    if len(text) > _MAX_EMAIL_CHARS or not _EMAIL.fullmatch(text):
        raise InvalidField("is not an e-mail address, such as ada@example.org")
    return text


def _phone(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidField("give a text")
    text = " ".join(value.split())
    if not _PHONE.fullmatch(text) or sum(char.isdigit() for char in text) not in _PHONE_DIGITS:
        raise InvalidField("is not a telephone number: 5 to 15 digits, such as +44 20 7946 0018")
    return text


def _birthday(value: object, today: date) -> str:
    if isinstance(value, date):
        value = value.isoformat()
    try:
        born = date.fromisoformat(str(value))
    except ValueError:
        raise InvalidField("is not a date: write YYYY-MM-DD, such as 1990-12-31") from None
    if born.year < _FIRST_YEAR or born > today:
        raise InvalidField(f"must lie between {_FIRST_YEAR} and today")
    return born.isoformat()


def _gender(value: object) -> str:
    text = value.strip().lower() if isinstance(value, str) else value
    if text not in GENDERS:
        raise InvalidField(f"must be one of {', '.join(GENDERS)}")
    return str(text)


def _salary(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise InvalidField("give a number")
    if not 0 <= value <= _MAX_SALARY:
        raise InvalidField("must not be below 0, nor above 10^15")
    return float(value)


_CHECKS: dict[str, Callable[[object], Any]] = {
    "name": line,
    "surname": line,
    "email": _email,
    "about_me": lambda value: line(value, MAX_ABOUT_CHARS),
    "phone": _phone,
    "gender": _gender,
    "company": line,
    "salary": _salary,
}


def _address(given: Mapping[str, Any], before: Address | None) -> Address:
    """The address with the given parts; those that are left out stay as they were."""
    known: dict[str, Any] = {} if before is None else msgspec.structs.asdict(before)
    faults = {name: "is required" for name in _ADDRESS if name not in known and name not in given}
    return Address(**known | _each(given, dict.fromkeys(_ADDRESS, line), faults))


def _card(given: Mapping[str, Any], before: Card | None) -> Card:
    """What is kept of a card; the masked number that was shown means the same card as before."""
    if before is not None and given.get("num", before.shown) == before.shown:
        given = {name: part for name, part in given.items() if name != "num"}
        needed: tuple[str, ...] = ()
    else:
        # The code is asked for as a sign that the card is at hand; then it is dropped.
        needed = ("num", "cvv", "exp_date")
    faults = {name: "is required" for name in needed if name not in given}
    parts = _each(given, _CARD, faults)
    digits, last = parts.get("num") or (before and (before.digits, before.last)) or (0, "")
    return Card(
        digits=digits, last=last, exp_date=parts.get("exp_date") or (before.exp_date if before else "")
    )


def _each(
    given: Mapping[str, Any], checks: Mapping[str, Callable[[object], Any]], faults: dict[str, str]
) -> dict[str, Any]:
    """The parts put in order; all faults are told at once."""
    values: dict[str, Any] = {}
    for name, part in given.items():
        try:
            values[name] = checks[name](part)
        except InvalidField as error:
            faults[name] = str(error)
    if faults:
        raise InvalidField(**faults)
    return values


def _number(value: object) -> tuple[int, str]:
    if not isinstance(value, str):
        raise InvalidField("give a text of digits")
    if "*" in value:
        raise InvalidField("is masked: give the number itself, or leave it out to keep the one that is known")
    number = re.sub(r"[ -]", "", value)
    if not (number.isascii() and number.isdecimal() and len(number) in _CARD_DIGITS):
        raise InvalidField("must have 13 to 19 digits")
    return len(number), number[-4:]


def _code(value: object) -> None:
    if not isinstance(value, str) or not (value == HIDDEN_CODE or _CODE.fullmatch(value)):
        raise InvalidField("must have 3 or 4 digits")


def _expiry(value: object) -> str:
    if not isinstance(value, str) or not _EXPIRY.fullmatch(value.strip()):
        raise InvalidField("must be a month and a year, such as 09/2029")
    return value.strip()


_CARD: dict[str, Callable[[object], Any]] = {"num": _number, "cvv": _code, "exp_date": _expiry}
