"""The tools of the Users Management Service (spec 001; the names of both its documents and its code)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue

from bethink.errors import UnknownId
from bethink.field_checks import given_fields
from bethink.people.records import Person, shown
from bethink.people.service import People, PersonQuery
from bethink.tool import Foretold, Tool, ToolContext, ToolOutput, tool, tools_in

if TYPE_CHECKING:
    from bethink.feature import Surroundings
    from bethink.principal import Principal


_people_tool = partial(tool, rare=True, family="people")
NOBODY = "No users found."
_SECRET: dict[str, JsonValue] = {"writeOnly": True}
"""What goes in and never comes out: `bethink.masking` keeps it out of all that is stored and shown."""

_CRITICAL = ("email", "credit_card")
"""What others know or pay a person by: a change of it asks the owner first (spec 001, "confirm before")."""

_LINE = 200


def _line_of(description: str) -> Any:  # noqa: ANN401 - pydantic's own type says nothing more
    return Field(max_length=_LINE, description=description)


Name = Annotated[str, _line_of("First name")]
Surname = Annotated[str, _line_of("Family name")]
Email = Annotated[str, _line_of("E-mail address; no two users have the same")]
About = Annotated[str, Field(max_length=4000, description="Who this is, in a few sentences")]
Phone = Annotated[str | None, _line_of("Telephone number, such as +44 20 7946 0018")]
Born = Annotated[str | None, _line_of("Date of birth, YYYY-MM-DD")]
Gender = Annotated[
    Literal["male", "female", "other", "prefer_not_to_say"] | None, Field(description="Gender, if known")
]
Company = Annotated[str | None, _line_of("Where they work")]
Salary = Annotated[float | None, Field(ge=0, description="Salary a year")]
Text = Annotated[str | None, _line_of("As it is written on a letter")]
UserId = Annotated[
    str,
    Field(
        max_length=100,
        description="The user's id, as search_users gives it",
        validation_alias=AliasChoices("id", "user_id"),
    ),
]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AddressPart(_Part):
    """Where a user lives; of an address that is known, give only what changes."""

    country: Text = None
    city: Text = None
    street: Text = None
    flat_house: Text = None


class CardPart(_Part):
    """A payment card. Its number is never shown again, but for the last four digits; the cvv is not kept."""

    num: Annotated[
        str | None, Field(max_length=40, description="13 to 19 digits", json_schema_extra=_SECRET)
    ] = None
    cvv: Annotated[
        str | None, Field(max_length=10, description="3 or 4 digits", json_schema_extra=_SECRET)
    ] = None
    exp_date: Annotated[str | None, Field(max_length=10, description="MM/YYYY")] = None


Lives = Annotated[AddressPart | None, Field(description="Where they live")]
Pays = Annotated[CardPart | None, Field(description="Their payment card")]


class _Address(BaseModel):
    country: str
    city: str
    street: str
    flat_house: str


class _Card(BaseModel):
    num: str
    cvv: str
    exp_date: str


class User(BaseModel):
    """A user; the card's number is masked but for its last four digits."""

    id: str
    name: str
    surname: str
    email: str
    phone: str | None
    date_of_birth: str | None
    gender: str | None
    company: str | None
    salary: float | None
    about_me: str
    address: _Address | None
    credit_card: _Card | None
    created_at: str


class Users(BaseModel):
    """Some users; `cursor` leads to more."""

    users: list[User]
    cursor: str | None


class Deleted(BaseModel):
    """The id of what is gone."""

    deleted: str


def tools_of(at: Surroundings) -> list[Tool]:
    """`create_user`, `get_user`, `search_users`, `update_user` and `delete_user`."""
    return tools_in(PeopleTools(at.features.of(People)))


def _critical(arguments: dict[str, Any]) -> str:
    named = [name.replace("_", " ") for name in _CRITICAL if arguments.get(name) is not None]
    return f"This would change somebody's {' and '.join(named)}." if named else ""


@dataclass(frozen=True, slots=True)
class PeopleTools:
    """The tools over the records of people."""

    people: People

    @_people_tool(effect="write", label="Add {name} {surname} to people", output=User, aliases=("add_user",))
    async def create_user(
        self,
        context: ToolContext,
        name: Name,
        surname: Surname,
        email: Email,
        about_me: About,
        phone: Phone = None,
        date_of_birth: Born = None,
        gender: Gender = None,
        company: Company = None,
        salary: Salary = None,
        address: Lives = None,
        credit_card: Pays = None,
    ) -> ToolOutput:
        """Add a user (a person whom the owner keeps a record of) to the users management system.

        Search for them first (search_users) to avoid duplicates. Use what the owner or a page
        says; never make anything up.
        """
        fields = _given_fields(
            name=name, surname=surname, email=email, about_me=about_me, phone=phone, salary=salary,
            date_of_birth=date_of_birth, gender=gender, company=company, address=address,
            credit_card=credit_card,
        )  # fmt: skip
        person = await self.people.create(context.principal, fields, untrusted=context.is_untrusted)
        return _output("User added:", person)

    @_people_tool(effect="read", label="Look up user {id}", output=User, aliases=("get_user_by_id",))
    async def get_user(self, context: ToolContext, id: UserId) -> ToolOutput:
        """Give one user's record by its id."""
        person = await self.people.get(context.principal, id)
        return replace(_output("User:", person), addresses=_addresses([person]))

    @_people_tool(effect="read", label="Look for people", output=Users, aliases=("search_user",))
    async def search_users(
        self,
        context: ToolContext,
        name: Annotated[str | None, _line_of("Part of the first name")] = None,
        surname: Annotated[str | None, _line_of("Part of the family name")] = None,
        email: Annotated[str | None, _line_of("Part of the e-mail address")] = None,
        gender: Gender = None,
        limit: Annotated[int, Field(ge=1, le=50, description="Users of one page")] = 20,
        cursor: Annotated[str | None, _line_of("Cursor from the page before; none for the first")] = None,
    ) -> ToolOutput:
        """Find users by parts of name, surname and e-mail address, case-insensitive.

        All given parts must match; without any, all users are listed, page by page.
        """
        sought = PersonQuery(name, surname, email, gender)
        found = await self.people.search(context.principal, sought, limit=limit, cursor=cursor)
        users = {"users": [shown(person) for person in found.people], "cursor": found.cursor}
        if not found.people:
            return ToolOutput(NOBODY, structured=users)
        noun = "user" if len(found.people) == 1 else "users"
        more = f"\nThere are more: call again with cursor={found.cursor}" if found.cursor else ""
        lines = "\n".join(_line(person) for person in found.people)
        return ToolOutput(
            f"{len(found.people)} {noun}:\n{lines}{more}",
            structured=users,
            untrusted=any(person.untrusted for person in found.people),
            addresses=_addresses(found.people),
        )

    @_people_tool(effect="write", label="Change user {id}", critical=_critical, output=User)
    async def update_user(
        self,
        context: ToolContext,
        id: UserId,
        name: Annotated[str | None, _line_of("First name")] = None,
        surname: Annotated[str | None, _line_of("Family name")] = None,
        email: Annotated[str | None, _line_of("E-mail address")] = None,
        about_me: Annotated[str | None, Field(max_length=4000, description="Who this is")] = None,
        phone: Phone = None,
        date_of_birth: Born = None,
        gender: Gender = None,
        company: Company = None,
        salary: Salary = None,
        address: Lives = None,
        credit_card: Pays = None,
    ) -> ToolOutput:
        """Change the given fields of a user; others stay. Search for them first."""
        fields = _given_fields(
            name=name, surname=surname, email=email, about_me=about_me, phone=phone, salary=salary,
            date_of_birth=date_of_birth, gender=gender, company=company, address=address,
            credit_card=credit_card,
        )  # fmt: skip
        person = await self.people.update(context.principal, id, fields, untrusted=context.is_untrusted)
        return _output("User changed:", person)

    async def _foretell(self, principal: Principal, arguments: dict[str, Any]) -> Foretold:
        try:
            person = await self.people.get(principal, arguments["id"])
        except UnknownId:
            return Foretold(arguments, "")
        return Foretold(arguments, f"- {person.name} {person.surname}, {person.email}")

    @_people_tool(
        effect="destructive",
        label="Delete user {id}",
        foretell=_foretell,
        output=Deleted,
        aliases=("delete_users",),
    )
    async def delete_user(self, context: ToolContext, id: UserId) -> ToolOutput:
        """Delete a user's record for good. Only when the owner explicitly asks for it."""
        gone = await self.people.delete(context.principal, id)
        text = f"User deleted: {gone.name} {gone.surname}, id {gone.id}"
        return ToolOutput(text, structured={"deleted": gone.id}, untrusted=gone.untrusted)


def _given_fields(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - each field has its own type
    """What a call gives; a part of an address or a card that is left out is not given."""
    return {
        name: value.model_dump(exclude_none=True) if isinstance(value, BaseModel) else value
        for name, value in given_fields(**fields).items()
    }


def _output(head: str, person: Person) -> ToolOutput:
    return ToolOutput(f"{head}\n{_line(person)}", structured=shown(person), untrusted=person.untrusted)


def _addresses(people: Sequence[Person]) -> tuple[str, ...]:
    """Where those whom the owner knows can be written to."""
    return tuple(person.email for person in people if not person.untrusted)


def _line(person: Person) -> str:
    known = {name: value for name, value in shown(person).items() if value is not None}
    return json.dumps(known, ensure_ascii=False)
