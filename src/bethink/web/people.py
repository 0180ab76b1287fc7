"""`/people`: the records that the owner keeps of others; `service` gives the same to programs."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from bethink.people.records import shown
from bethink.people.service import PeopleFound, PersonQuery
from bethink.principal import LOCAL_OWNER
from bethink.web.deps import Body, Caller, Cursor, Limit, Page, Served
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.people.records import Person as Record

router = APIRouter(prefix="/people", tags=["people"])

Gender = Literal["male", "female", "other", "prefer_not_to_say"]
Part = Annotated[str | None, Query(max_length=200, description="Found anywhere in it, in any case.")]
OfGender = Annotated[Gender | None, Query()]


class PersonAddress(BaseModel):
    """Where somebody lives."""

    country: str
    city: str
    street: str
    flat_house: str


class PersonCard(BaseModel):
    """A payment card, as it is given out: its number but for four digits, and its code, are masked."""

    num: str = Field(examples=["****-****-****-1111"])
    cvv: str = Field(examples=["***"])
    exp_date: str


class Person(BaseModel):
    """One person (spec 001's user)."""

    id: str
    name: str
    surname: str
    email: str
    phone: str | None
    date_of_birth: str | None
    gender: Gender | None
    company: str | None
    salary: float | None
    about_me: str
    address: PersonAddress | None
    credit_card: PersonCard | None
    created_at: datetime


class OwnPerson(Person):
    """The same, for the owner."""

    untrusted: bool = Field(description="Some of it may come from outside, until the owner vouches for it.")


class PersonPage(Page[OwnPerson]):
    """Some people, in the order in which they came."""


class AddressParts(Body):
    """An address; of one that is known, what changes of it."""

    country: str | None = None
    city: str | None = None
    street: str | None = None
    flat_house: str | None = None


class CardParts(Body):
    """A card. Of its number the last four digits are kept, the code is not."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)

    num: str | None = Field(default=None, description="13 to 19 digits.")
    cvv: str | None = Field(default=None, description="3 or 4 digits; checked, and not kept.")
    exp_date: str | None = Field(default=None, description="MM/YYYY")


class _Fields(Body):
    phone: str | None = None
    date_of_birth: str | None = Field(default=None, description="YYYY-MM-DD")
    gender: str | None = Field(default=None, description="male, female, other or prefer_not_to_say")
    company: str | None = None
    salary: float | None = None
    address: AddressParts | None = None
    credit_card: CardParts | None = None


class PersonDraft(_Fields):
    """A person to keep."""

    name: str
    surname: str
    email: str
    about_me: str


class PersonPatch(_Fields):
    """What to change; what is left out stays, null empties a field that may be empty."""

    name: str | None = None
    surname: str | None = None
    email: str | None = None
    about_me: str | None = None


def person_of(person: Record) -> Person:
    """A person as JSON."""
    return Person.model_validate(shown(person))


def own_person_of(person: Record) -> OwnPerson:
    """A person as JSON for the owner."""
    return OwnPerson.model_validate(shown(person) | {"untrusted": person.untrusted})


@router.get("")
async def list_people(
    app: Served,
    caller: Caller,
    *,
    limit: Limit = 50,
    cursor: Cursor = None,
    name: Part = None,
    surname: Part = None,
    email: Part = None,
    gender: OfGender = None,
) -> PersonPage:
    """The people who fit all that is asked, or everybody."""
    sought = PersonQuery(name, surname, email, gender)
    found = await app.people.search(caller, sought, limit=limit, cursor=cursor)
    return PersonPage(items=[own_person_of(person) for person in found.people], cursor=found.cursor)


@router.post("", status_code=201)
async def add_person(body: PersonDraft, app: Served, caller: Caller) -> OwnPerson:
    """Keep a person; no two have the same e-mail address."""
    return own_person_of(await app.people.create(caller, body.given()))


@router.get("/{person}", responses=documented(404))
async def get_person(person: str, app: Served, caller: Caller) -> OwnPerson:
    """One person."""
    return own_person_of(await app.people.get(caller, person))


@router.patch("/{person}", responses=documented(404, 409))
async def edit_person(person: str, body: PersonPatch, app: Served, caller: Caller) -> OwnPerson:
    """Change some of a person's fields."""
    return own_person_of(
        await app.people.update(caller, person, body.given(empties=PersonPatch.model_fields))
    )


@router.post("/{person}/vouch", responses=documented(404, 409))
async def vouch_for_person(person: str, app: Served, caller: Caller) -> OwnPerson:
    """Say that what is known of a person is your own word, whoever wrote it."""
    return own_person_of(await app.people.vouch(caller, person))


@router.delete("/{person}", status_code=204, responses=documented(404))
async def delete_person(person: str, app: Served, caller: Caller) -> None:
    """Delete a person's record for good."""
    await app.people.delete(caller, person)


service = APIRouter()
"""The users management service of spec 001: `/v1/users`, with its statuses and sentences to the letter.

`bethink people serve` serves it with an MCP server beside it. What it keeps are the people of the same
data directory that the agent and `/people` know.
"""
_UNLIMITED = 100
"""Users of one answer if nobody says how many."""
_ServiceLimit = Annotated[
    int, Query(ge=1, le=500, description="Users of one answer; `Link` leads to the next.")
]
_SERVICE_BODY = ConfigDict(strict=False, hide_input_in_errors=True)
"""As the service's clients send it: numbers may be texts."""


class UserCreate(PersonDraft):
    """A user to add."""

    model_config = _SERVICE_BODY


class UserUpdate(PersonPatch):
    """What to change of a user; what is left out, or null, stays."""

    model_config = _SERVICE_BODY


class Alive(BaseModel):
    """The service answers."""

    status: Literal["ok"] = Field(default="ok")


@service.get("/health")
async def get_health(app: Served) -> Alive:
    """Whether users can be read."""
    await app.people.count(app.accounts.on_behalf_of(LOCAL_OWNER, audience="health"))
    return Alive()


@service.get("/v1/users")
async def get_users(
    app: Served,
    caller: Caller,
    request: Request,
    response: Response,
    *,
    limit: _ServiceLimit = _UNLIMITED,
    cursor: Cursor = None,
) -> list[Person]:
    """All users, in the order in which they came."""
    found = await app.people.search(caller, PersonQuery(), limit=limit, cursor=cursor)
    return _paged(found, request, response)


@service.get("/v1/users/search")
async def search_users(
    app: Served,
    caller: Caller,
    request: Request,
    response: Response,
    *,
    name: Part = None,
    surname: Part = None,
    email: Part = None,
    gender: OfGender = None,
    limit: _ServiceLimit = _UNLIMITED,
    cursor: Cursor = None,
) -> list[Person]:
    """The users who fit all that is asked."""
    sought = PersonQuery(name, surname, email, gender)
    found = await app.people.search(caller, sought, limit=limit, cursor=cursor)
    return _paged(found, request, response)


@service.get("/v1/users/{id}", responses=documented(404))
async def get_user(id: str, app: Served, caller: Caller) -> Person:
    """One user."""
    return person_of(await app.people.get(caller, id))


@service.post("/v1/users", status_code=201, responses=documented(400))
async def add_user(body: UserCreate, app: Served, caller: Caller) -> Person:
    """Add a user; no two have the same e-mail address."""
    return person_of(await app.people.create(caller, body.given()))


@service.put("/v1/users/{id}", responses=documented(400, 404))
async def update_user(id: str, body: UserUpdate, app: Served, caller: Caller) -> Person:
    """Change a user."""
    return person_of(await app.people.update(caller, id, body.given()))


@service.delete("/v1/users/{id}", status_code=204, responses=documented(404))
async def delete_user(id: str, app: Served, caller: Caller) -> None:
    """Delete a user for good."""
    await app.people.delete(caller, id)


def _paged(found: PeopleFound, request: Request, response: Response) -> list[Person]:
    """The users; where there are more, the `Link` header leads to them (RFC 8288)."""
    if found.cursor is not None:
        response.headers["Link"] = f'<{request.url.include_query_params(cursor=found.cursor)}>; rel="next"'
    return [person_of(person) for person in found.people]
