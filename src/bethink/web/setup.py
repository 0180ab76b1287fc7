"""`/setup`: how far the first steps are; and the first user, made with the set-up key."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from bethink.accounts import ADMIN
from bethink.app import App
from bethink.errors import NotAllowed
from bethink.principal import Principal
from bethink.web.deps import Anybody, Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.security.credentials import FOREIGN
from bethink.web.users import SessionShown, SignInBody, sign_in

router = APIRouter(prefix="/setup", tags=["setup"])


class SetupShown(BaseModel):
    """How far the first steps are; who is not signed in learns only whether there is a first user to make."""

    model: bool = Field(description="Whether a model is set.")
    history: bool = Field(description="Whether something was brought from another program.")
    about: bool = Field(description="Whether anything is remembered of the owner.")
    dismissed: bool = Field(description="Whether the first steps were put away.")
    first_user: bool = Field(description="Whether there is a user.")
    by_key: bool = Field(description="Whether the first user is to be made here, with the set-up key.")


class SetupBody(Body):
    """Put the first steps away."""

    dismissed: Literal[True]


class FirstUserBody(Body):
    """The first user. `key` is what `bethink serve` printed; on this machine alone none is needed."""

    key: Annotated[str, Field(max_length=500)] = ""
    name: Annotated[str, Field(max_length=200)]
    password: Annotated[str, Field(max_length=2000)]


@router.get("")
async def get_setup(app: Served, caller: Anybody) -> SetupShown:
    """How far the first steps are."""
    return await _state(app, caller)


@router.post("", responses=documented(403))
async def dismiss_setup(body: SetupBody, app: Served, caller: Caller) -> SetupShown:
    """Put the first steps away."""
    del body
    await app.configuration.dismiss()
    return await _state(app, caller)


@router.post("/user", status_code=201, responses=documented(401, 403, 429))
async def make_first_user(
    body: FirstUserBody, app: Served, caller: Anybody, request: Request, response: Response
) -> SessionShown:
    """Make the first user, an administrator who owns what is there, and sign this browser in as them."""
    if request.scope["state"].get(FOREIGN):
        raise NotAllowed("Only Bethink's own page may make the first user.")
    is_let_in = caller is not None and ADMIN in caller.rights
    hashed = partial(app.accounts.signing.passwords.hashed, body.password)
    user = await app.setup_key.first_user(body.name, hashed, key=None if is_let_in else body.key)
    credentials = SignInBody(name=user.name, password=body.password)
    return await sign_in(credentials, app, request, response)


async def _state(app: App, caller: Principal | None) -> SetupShown:
    has_users = bool((await app.accounts.register.known()).users)
    by_key = not has_users and app.accounts.needs_users
    return SetupShown(
        model=caller is not None and app.models.usual is not None,
        history=caller is not None and bool(await app.importing.list(caller)),
        about=caller is not None and bool(await app.memory.count(caller)),
        dismissed=caller is not None and app.configuration.is_dismissed,
        first_user=has_users,
        by_key=by_key,
    )
