"""What every route begins with: the app it serves, and the principal who asks."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Container, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, Generic, Self, TypeVar, cast

import anyio
from fastapi import Depends, Header, Request
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)

from bethink.app import App
from bethink.clock import hashed_id, to_datetime, to_us
from bethink.errors import BadInput, NotAllowed, StorageError, UnknownId
from bethink.principal import Principal
from bethink.telemetry import correlate
from bethink.visibility.reader_filter import ReaderFilter
from bethink.web.request_scope import READER_FILTER, REQUEST_SCOPE
from bethink.web.security.credentials import check, credential_of, peer_of, shows_key

if TYPE_CHECKING:
    from starlette.types import Scope

PAGE: Final = "web"
PROGRAM: Final = "rest"
OPENAI: Final = "openai"
"""The doors that this one is: the owner's own page, a program with a key, a client of OpenAI's."""
_READ_WITHIN_S: Final = 3
"""How long is waited to learn who asks what anybody may."""
_NOT_WHOLE: Final = (
    "This needs the whole memory, and a filter hides part of it from you: ask its owner to do it."
)
_OPENAI_PATH: Final = "/v1/"
_MAX_FIELDS: Final = 200
"""More than any body has."""
_UNSAFE: Final = re.compile(r"[^\w.-]+")
_Item = TypeVar("_Item")


class Body(BaseModel):
    """A request's body: unknown fields and other types are refused, so that no slip passes silently."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, given: object) -> object:
        """Refuse many fields at once: each of them would be an error of its own."""
        if isinstance(given, dict) and len(cast("dict[object, object]", given)) > _MAX_FIELDS:
            raise ValueError(f"at most {_MAX_FIELDS} fields")
        return cast("object", given)

    def given(self, *but: str, empties: Container[str] = ()) -> dict[str, Any]:
        """The fields that the request has, `but` some, as records keep them: tuples, and microseconds UTC.

        Null counts only for what it `empties`; anywhere else it is as if the field were left out.
        """
        given = self.model_dump(exclude_unset=True, exclude={*but})
        return {name: _kept(value) for name, value in given.items() if value is not None or name in empties}


def _kept(value: object) -> object:
    if isinstance(value, datetime):
        return to_us(value)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


Timestamp = Annotated[datetime, BeforeValidator(lambda at: to_datetime(at) if isinstance(at, int) else at)]
"""A time in an answer; inside it is microseconds UTC."""
KnownTime = Annotated[Timestamp | None, BeforeValidator(lambda at: at or None)]
"""A time in an answer that may not be known, or never come: inside it is 0 then."""


class ResponseModel(BaseModel):
    """The JSON of a value of ours, nested ones included: its fields are read by their names."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, value: object, /, **more: Any) -> Self:  # noqa: ANN401 - fields of the model
        """The value as JSON; `more` are fields that it does not have, or has otherwise."""
        found = {name: getattr(value, name) for name in cls.model_fields if hasattr(value, name)}
        return cls.model_validate(found | more)


class Items(BaseModel, Generic[_Item]):
    """Things as JSON, in an order that the answer's own words tell."""

    items: list[_Item]


class Page(Items[_Item], Generic[_Item]):
    """Some of them."""

    cursor: str | None = Field(description="Leads to the next page; null at the end.")


def _app(request: Request) -> App:
    return request.state.app


async def _principal(request: Request, app: Annotated[App, Depends(_app)]) -> Principal:
    scope = request.scope
    door = PROGRAM if shows_key(scope) else PAGE
    if scope["path"].startswith(_OPENAI_PATH):
        door = OPENAI
    principal = await principal_of(scope, app, door)
    if door != PAGE and principal.key is not None and principal.sign_in is None:
        # A key has its name from a person: what could pass for another audience is taken out of it.
        key = app.accounts.register.last_known.keys.get(principal.key)
        name = _UNSAFE.sub("-", key.name if key else "") or principal.key
        principal = replace(principal, audience=f"{door}:{name}")
    return principal


async def _caller(request: Request, app: Annotated[App, Depends(_app)]) -> Principal:
    principal = await app.visibility.filters.hold(await _principal(request, app))
    request.scope["state"][READER_FILTER] = await app.visibility.filter_for(principal)
    return principal


def _reader_filter(request: Request, caller: Annotated[Principal, Depends(_caller)]) -> ReaderFilter | None:
    del caller
    return request.scope["state"][READER_FILTER]


def seen(text: str, reader_filter: ReaderFilter | None) -> str:
    """The text as the caller may see it."""
    return text if reader_filter is None else reader_filter.text(text)


def whole(reader_filter: Annotated[ReaderFilter | None, Depends(_reader_filter)]) -> None:
    """Go on only for who is told all.

    Raises:
        NotAllowed: a filter hides something from them.
    """
    if reader_filter is not None:
        raise NotAllowed(_NOT_WHOLE)


def parting(request: Request, caller: Annotated[Principal, Depends(_caller)]) -> None:
    """Have the request answered, though it may end what the caller came with."""
    del caller
    request.scope["state"][REQUEST_SCOPE].leave()


async def principal_of(scope: Scope, app: App, audience: str, *, resource: str | None = None) -> Principal:
    """Who makes a request, with the right to make it; it is ended if their key is.

    `resource` is the address of the door, where it takes access tokens.

    Raises:
        NotSignedIn: a key is needed, and what was shown opens nothing.
        NotAllowed: the key has not the right, or the caller is not on this machine.
        BadInput: two different keys were shown, or one in the address.
    """
    # Text in any case: whoever comes this way comes over the network.
    peer = peer_of(scope, app.settings.trusted_proxies)
    # Without users whatever a program sends as its key is passed over.
    credential = credential_of(scope) if await app.accounts.needs_key() else None
    principal = await app.accounts.authenticate(
        audience=audience, peer=peer, credential=credential, resource=resource
    )
    correlate(owner=principal.owner)
    check(principal, scope["method"], scope["path"])
    if (request_scope := scope["state"].get(REQUEST_SCOPE)) is not None:
        request_scope.enter(app.accounts, principal)
    return principal


async def opened_by_link(
    request: Request, app: App, found: tuple[str, _Item] | None, fault: str
) -> tuple[str, _Item]:
    """Whose thing a secret link shows, and which; `found` is what there is at it.

    Raises:
        UnknownId: it shows nothing, or its owner may not come in any more; `fault` is what is said then.
        TooManyRequests: too many links that show nothing were tried from this address.
    """
    user = await app.accounts.find_user(found[0]) if found else None
    is_disabled = user is not None and user.disabled_at is not None
    is_gone = user is None and await app.accounts.needs_key()
    if found is None or is_disabled or is_gone:
        app.accounts.signing.count_failure(peer_of(request.scope, app.settings.trusted_proxies))
        raise UnknownId(fault)
    return found


def _unless(*faults: type[Exception]) -> Callable[..., Awaitable[Principal | None]]:
    """Who asks; None for one of these faults, or if it takes long to be read."""

    async def asking(request: Request, app: Annotated[App, Depends(_app)]) -> Principal | None:
        with anyio.move_on_after(_READ_WITHIN_S), suppress(*faults):
            return await _principal(request, app)
        return None

    return asking


def _stored(text: str) -> str:
    if "\0" in text:
        raise ValueError("a NUL character cannot be kept")
    return text


_NUMBER: Final = re.compile(r"\s*[-+]?[\d.]+(?:e[-+]?\d+)?\s*", re.IGNORECASE)
"""What would be read as seconds."""


def _written(moment: object) -> object:
    if moment is None or (isinstance(moment, str) and not _NUMBER.fullmatch(moment)):
        return moment
    raise ValueError("write the time out, such as 2026-05-01T14:30:00Z")


Served = Annotated[App, Depends(_app)]
Caller = Annotated[Principal, Depends(_caller)]
CallerFilter = Annotated[ReaderFilter | None, Depends(_reader_filter)]
"""What the caller is not told; None for who is told all."""
SEES_ALL: Final = Depends(whole)
"""Of a route that goes by all that is kept, and would tell of it whatever is left out of the answer."""
PARTING: Final = Depends(parting)
"""Of a route that may end the very key or sign-in by which it is asked."""
Anybody = Annotated[Principal | None, Depends(_unless(BadInput, StorageError))]
"""Of a route that says something to strangers, too, and nothing of memory: None has shown no good key."""
Scraper = Annotated[Principal | None, Depends(_unless(StorageError))]
"""Of the route that tells how it is also while the store is away: None is anybody, and told that alone."""
Limit = Annotated[int, Field(ge=1, le=200, description="Items of one page.")]
Cursor = Annotated[
    str | None, Field(max_length=1000, description="`cursor` of the page before; none for the first.")
]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_stored)]
"""A short text by which things are found again."""
IdempotencyKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=255,
        description="Chosen by you: the same request with the same key makes one thing, however often sent.",
    ),
]
"""Of a route that makes something: the answer to a request may be lost on its way."""


VersionMatch = Annotated[
    str | None, Header(alias="If-Match", description="The `version` that is to be changed.", max_length=40)
]


def version_of(if_match: str | None, fault: str) -> int | None:
    """The version that a change is for; None for whichever it is.

    Raises:
        BadInput: it is none; `fault` is what is said then.
    """
    if if_match is None or (text := if_match.strip().removeprefix("W/").strip('"')) == "*":
        return None
    if not text.isdecimal():
        raise BadInput(fault)
    return int(text)


def id_made_by(key: str | None, given: Mapping[str, Any]) -> str | None:
    """The id of what a request with a key makes. Other words under the same key make another thing."""
    told = f"{key}\n{json.dumps(given, sort_keys=True, default=str)}"
    return None if key is None else hashed_id(0, told.encode())


Moment = Annotated[
    AwareDatetime | None,
    Field(strict=False, description="A time with its zone, as RFC 3339 writes it."),
    BeforeValidator(_written),
]
"""A time of a body; a number would be read as seconds or as something else."""
