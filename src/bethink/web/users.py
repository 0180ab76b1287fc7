"""`/keys`: a person's own keys. `/users`: all users, for administrators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from bethink.accounts import ADMIN, Key, User
from bethink.accounts.rights import USUAL
from bethink.clock import to_us
from bethink.errors import BadInput, NotAllowed
from bethink.web.deps import PARTING, Body, Caller, Moment, ResponseModel, Served, Timestamp
from bethink.web.problems import documented

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from bethink.app import App
    from bethink.principal import Principal

router = APIRouter(tags=["users"])

Scope = Literal["read", "write", "chat", "admin"]


class KeyShown(ResponseModel):
    """One key, without its text."""

    id: str
    name: str = Field(description="What it is for.")
    hint: str = Field(description="Its last characters.")
    scopes: list[str]
    state: Literal["live", "expired", "revoked"]
    created_at: Timestamp
    expires_at: Timestamp | None
    last_used_at: Timestamp | None = Field(description="To half a minute.")


class KeyList(BaseModel):
    """A person's keys, the oldest first."""

    items: list[KeyShown]


class KeyMade(KeyShown):
    """A key that was just made."""

    key: str = Field(description="Its text: shown this once, and kept nowhere.")


class KeyBody(Body):
    """A key to make."""

    name: Annotated[str, Field(max_length=200)]
    scopes: Annotated[list[Scope] | None, Field(description="By default read, write and chat.")] = None
    expires_at: Moment = None


class UserShown(ResponseModel):
    """One user. `id` is the owner of what they keep."""

    id: str
    name: str
    admin: bool
    disabled: bool
    has_password: bool
    live_keys: int
    created_at: Timestamp


class UserList(BaseModel):
    """All users, the oldest first."""

    items: list[UserShown]


class UserBody(Body):
    """A user to add."""

    name: Annotated[str, Field(max_length=200)]
    admin: bool = False
    password: Annotated[str | None, Field(max_length=2000)] = None


class UserPatch(Body):
    """What to change; what is left out stays."""

    disabled: bool | None = None
    admin: bool | None = None
    password: Annotated[str | None, Field(max_length=2000)] = None


@router.get("/keys")
async def list_keys(app: Served, caller: Caller) -> KeyList:
    """The caller's own keys."""
    keys = (await app.accounts.register.known()).keys_of(caller.owner)
    uses = await app.accounts.last_uses([key.id for key in keys])
    return KeyList(items=[_key(app, key, uses) for key in keys])


@router.post("/keys", status_code=201)
async def make_key(body: KeyBody, app: Served, caller: Caller) -> KeyMade:
    """A new key of the caller's, with no more rights than they come with.

    Who came with a key, and is no administrator, cannot make any.
    """
    known = await app.accounts.register.known()
    if caller.owner not in known.users:
        message = "This Bethink has no users, so that it needs no keys: `bethink users add` makes the first."
        raise BadInput(message)
    scopes = USUAL if body.scopes is None else body.scopes
    _check_grown(caller, scopes)
    expires = None if body.expires_at is None else to_us(body.expires_at)
    made = await app.accounts.register.add_key(caller.owner, body.name, scopes=scopes, expires_at=expires)
    return KeyMade(**_key(app, made.key, {}).model_dump(), key=made.text)


@router.delete("/keys/{key}", responses=documented(404), dependencies=[PARTING])
async def revoke_key(key: str, app: Served, caller: Caller) -> KeyShown:
    """End a key of the caller's at once, and what was signed in with it."""
    return _key(app, await app.accounts.register.revoke_key(key, user=caller.owner), {})


@router.get("/users")
async def list_users(app: Served, _: Caller) -> UserList:
    """All users."""
    known = await app.accounts.register.known()
    users = sorted(known.users.values(), key=lambda user: user.created_at)
    return UserList(items=[_user(app, user) for user in users])


@router.post("/users", status_code=201)
async def add_user(body: UserBody, app: Served, _: Caller) -> UserShown:
    """A new user; without a password they need a key, which the command line makes."""
    known = await app.accounts.register.known()
    if not known.users:
        message = "The first user is made at the command line: `bethink users add NAME`, then a key for them."
        raise NotAllowed(message)
    password = None if body.password is None else await app.accounts.signing.passwords.hashed(body.password)
    return _user(app, await app.accounts.register.add_user(body.name, is_admin=body.admin, password=password))


@router.patch("/users/{user}", responses=documented(404), dependencies=[PARTING])
async def change_user(user: str, body: UserPatch, app: Served, caller: Caller) -> UserShown:
    """Disable, enable, make an administrator or none, or give a new password, which signs them out."""
    if user == caller.owner and (body.disabled or body.admin is False):
        message = "You would lock yourself out. Another administrator can do this, or `bethink users`."
        raise NotAllowed(message)
    password = None if body.password is None else await app.accounts.signing.passwords.hashed(body.password)
    return _user(
        app,
        await app.accounts.register.change_user(
            user, disabled=body.disabled, is_admin=body.admin, password=password
        ),
    )


def _check_grown(caller: Principal, scopes: Iterable[str]) -> None:
    """A key that leaks shall not become two, nor one that may more.

    Raises:
        NotAllowed: the caller came with a key that is no administrator's, or would give what they have not.
    """
    if caller.sign_in is None and ADMIN not in caller.rights:
        message = "Only who is signed in, or an administrator's key, can make keys. Sign in at /."
        raise NotAllowed(message)
    if more := set(scopes) - caller.rights:
        message = f"A new key cannot have more rights than you come with: {', '.join(sorted(more))} is more."
        raise NotAllowed(message)


def _key(app: App, key: Key, uses: Mapping[str, int]) -> KeyShown:
    is_live = key.is_live(app.ports.clock.now_us())
    state = "revoked" if key.revoked_at is not None else "live" if is_live else "expired"
    return KeyShown.of(key, state=state, last_used_at=uses.get(key.id))


def _user(app: App, user: User) -> UserShown:
    now = app.ports.clock.now_us()
    return UserShown.of(
        user,
        admin=user.is_admin,
        disabled=user.disabled_at is not None,
        has_password=user.password is not None,
        live_keys=sum(key.is_live(now) for key in app.accounts.register.last_known.keys_of(user.id)),
    )
