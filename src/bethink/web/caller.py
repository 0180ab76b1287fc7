"""What every route begins with: the app it serves, and the principal who asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from bethink.app import App
from bethink.errors import BadInput, StorageError
from bethink.principal import Principal
from bethink.web.credentials import credential_of, peer_of
from bethink.web.rights import check
from bethink.web.visit import VISIT

if TYPE_CHECKING:
    from starlette.types import Scope

AUDIENCE = "web"


class Body(BaseModel):
    """A request's body: unknown fields and other types are refused, so that no slip passes silently."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _app(request: Request) -> App:
    return request.state.app


async def _principal(request: Request, app: Annotated[App, Depends(_app)]) -> Principal:
    return await principal_of(request.scope, app, AUDIENCE)


async def principal_of(scope: Scope, app: App, audience: str) -> Principal:
    """Who makes a request, with the right to make it; it is ended if their key is.

    Raises:
        NotSignedIn: a key is needed, and what was shown opens nothing.
        NotAllowed: the key has not the right, or the caller is not on this machine.
        BadInput: two different keys were shown, or one in the address.
    """
    # Text in any case: whoever comes this way comes over the network.
    peer = peer_of(scope, app.settings.trusted_proxies)
    # Without users whatever a program sends as its key is passed over.
    credential = credential_of(scope) if await app.accounts.needs_key() else None
    principal = await app.accounts.authenticate(audience=audience, peer=peer, credential=credential)
    check(principal, scope["method"], scope["path"])
    if (visit := scope["state"].get(VISIT)) is not None:
        visit.enter(app.accounts, principal)
    return principal


async def _stranger(request: Request, app: Annotated[App, Depends(_app)]) -> Principal | None:
    """Who asks, or None for somebody who shows no key, or a bad one."""
    try:
        return await _principal(request, app)
    except (BadInput, StorageError):
        return None


def _stored(text: str) -> str:
    if "\0" in text:
        message = "a NUL character cannot be kept"
        raise ValueError(message)
    return text


def _written(moment: object) -> object:
    if isinstance(moment, str | None):
        return moment
    message = "write the time out, such as 2026-05-01T14:30:00Z"
    raise ValueError(message)


Served = Annotated[App, Depends(_app)]
Caller = Annotated[Principal, Depends(_principal)]
Anybody = Annotated[Principal | None, Depends(_stranger)]
"""Of a route that says something to strangers, too: None is one."""
Limit = Annotated[int, Field(ge=1, le=200, description="Items of one page.")]
Cursor = Annotated[
    str | None, Field(max_length=1000, description="`cursor` of the page before; none for the first.")
]
Label = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_stored)]
"""A short text by which things are found again."""
Moment = Annotated[
    AwareDatetime | None,
    Field(strict=False, description="A time with its zone, as RFC 3339 writes it."),
    BeforeValidator(_written),
]
"""A time of a body; a number would be read as seconds or as something else."""
