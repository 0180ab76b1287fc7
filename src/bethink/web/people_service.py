"""The users management service of spec 001: `/v1/users`, with its statuses and sentences to the letter.

`bethink people serve` serves it with an MCP server beside it. What it keeps are
the people of the same data directory that the agent and `/people` know.
"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from bethink.people import PeopleFound, PersonQuery
from bethink.principal import LOCAL_OWNER
from bethink.web.deps import Caller, Cursor, Served
from bethink.web.people import Gender, Part, Person, given_of, person_of
from bethink.web.problems import documented

router = APIRouter()
_MAX_PAGE = 500
_UNLIMITED = 100

Limit = Annotated[
    int, Query(ge=1, le=_MAX_PAGE, description="Users of one answer; `Link` leads to the next.")
]


class _Body(BaseModel):
    """A body as the service's clients send it: numbers may be texts, nulls are left out, more is refused."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Address(_Body):
    """An address, or what changes of one."""

    country: str | None = None
    city: str | None = None
    street: str | None = None
    flat_house: str | None = None


class Card(_Body):
    """A card. Of its number the last four digits are kept, the code is not."""

    num: str | None = None
    cvv: str | None = None
    exp_date: str | None = None


class _Fields(_Body):
    phone: str | None = None
    date_of_birth: str | None = None
    gender: str | None = None
    company: str | None = None
    salary: float | None = None
    address: Address | None = None
    credit_card: Card | None = None


class UserCreate(_Fields):
    """A user to add."""

    name: str
    surname: str
    email: str
    about_me: str


class UserUpdate(_Fields):
    """What to change of a user; what is left out, or null, stays."""

    name: str | None = None
    surname: str | None = None
    email: str | None = None
    about_me: str | None = None


class Alive(BaseModel):
    """The service answers."""

    status: Literal["ok"] = Field(default="ok")


@router.get("/health")
async def get_health(app: Served) -> Alive:
    """Whether users can be read."""
    await app.people.count(app.accounts.on_behalf_of(LOCAL_OWNER, audience="health"))
    return Alive()


@router.get("/v1/users")
async def get_users(
    app: Served,
    caller: Caller,
    request: Request,
    response: Response,
    *,
    limit: Limit = _UNLIMITED,
    cursor: Cursor = None,
) -> list[Person]:
    """All users, in the order in which they came."""
    found = await app.people.search(caller, PersonQuery(), limit=limit, cursor=cursor)
    return _paged(found, request, response)


@router.get("/v1/users/search")
async def search_users(
    app: Served,
    caller: Caller,
    request: Request,
    response: Response,
    *,
    name: Part = None,
    surname: Part = None,
    email: Part = None,
    gender: Annotated[Gender | None, Query()] = None,
    limit: Limit = _UNLIMITED,
    cursor: Cursor = None,
) -> list[Person]:
    """The users who fit all that is asked."""
    sought = PersonQuery(name, surname, email, gender)
    found = await app.people.search(caller, sought, limit=limit, cursor=cursor)
    return _paged(found, request, response)


@router.get("/v1/users/{id}", responses=documented(404))
async def get_user(id: str, app: Served, caller: Caller) -> Person:
    """One user."""
    return person_of(await app.people.get(caller, id))


@router.post("/v1/users", status_code=201, responses=documented(400))
async def add_user(body: UserCreate, app: Served, caller: Caller) -> Person:
    """Add a user; no two have the same e-mail address."""
    return person_of(await app.people.create(caller, given_of(body, with_null=False)))


@router.put("/v1/users/{id}", responses=documented(400, 404))
async def update_user(id: str, body: UserUpdate, app: Served, caller: Caller) -> Person:
    """Change a user."""
    return person_of(await app.people.update(caller, id, given_of(body, with_null=False)))


@router.delete("/v1/users/{id}", status_code=204, responses=documented(404))
async def delete_user(id: str, app: Served, caller: Caller) -> Response:
    """Delete a user for good."""
    await app.people.delete(caller, id)
    return Response(status_code=204)


def _paged(found: PeopleFound, request: Request, response: Response) -> list[Person]:
    """The users; where there are more, the `Link` header leads to them (RFC 8288)."""
    if found.cursor is not None:
        response.headers["Link"] = f'<{request.url.include_query_params(cursor=found.cursor)}>; rel="next"'
    return [person_of(person) for person in found.people]
