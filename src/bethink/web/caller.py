"""What every route begins with: the app it serves, and the principal who asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from bethink.app import App
from bethink.principal import Principal

AUDIENCE = "web"


class Body(BaseModel):
    """A request's body: unknown fields and other types are refused, so that no slip passes silently."""

    model_config = ConfigDict(extra="forbid", strict=True)


def _app(request: Request) -> App:
    return request.state.app


def _principal(request: Request, app: Annotated[App, Depends(_app)]) -> Principal:
    peer = request.client.host if request.client else None
    return app.accounts.authenticate(audience=AUDIENCE, peer=peer)


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
