"""`/session`: sign a browser in and out. `/keys`: one's own keys. `/users`: all users, for administrators.

Scripts cannot read the cookie of a sign-in, and other sites' pages cannot have it sent: it is
SameSite=Strict, `security` refuses their Origin before any route, and what changes something wants JSON
or a method that no form has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal, Self

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, model_validator

from bethink.accounts import ADMIN, Key, User
from bethink.accounts.register import USUAL
from bethink.accounts.sign_ins import BROWSER_DAYS
from bethink.clock import to_us
from bethink.errors import BadInput, NotAllowed
from bethink.web.deps import PARTING, Anybody, Body, Caller, Items, Moment, ResponseModel, Served, Timestamp
from bethink.web.problems import documented
from bethink.web.security.credentials import COOKIE, FOREIGN, KNOWN_BROWSER, cookie_of, origin_of, peer_of

if TYPE_CHECKING:
    from bethink.app import App

router = APIRouter(tags=["users"])


_PATH = "/session"
_US_PER_S = 1_000_000
_MAX_COOKIE_CHARS = 400


class Person(BaseModel):
    """Who is signed in."""

    id: str
    name: str
    admin: bool


class SessionShown(BaseModel):
    """Whether somebody is signed in, and needs to be."""

    needed: bool = Field(description="Whether nothing can be done without: there are users.")
    user: Person | None = Field(description="Null if nobody is signed in or there are no users.")
    rights: list[str] = Field(description="What may be done now.")
    by_key: bool = Field(description="Whether a key alone was shown with this request, and no cookie.")


class SignInBody(Body):
    """A key, or a name and a password."""

    key: Annotated[str | None, Field(max_length=200)] = None
    name: Annotated[str | None, Field(max_length=200)] = None
    password: Annotated[str | None, Field(max_length=2000)] = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.key is None) == (self.name is None) or (self.name is None) != (self.password is None):
            raise ValueError("give either `key`, or `name` and `password`")
        return self


@router.get(_PATH)
async def get_session(app: Served, caller: Anybody) -> SessionShown:
    """Who is signed in, for the caller itself."""
    needed = await app.accounts.needs_key()
    if caller is None:
        return SessionShown(needed=needed, user=None, rights=[], by_key=False)
    user = app.accounts.register.last_known.users.get(caller.owner) if needed else None
    return SessionShown(
        needed=needed,
        user=_person(user) if user else None,
        rights=sorted(caller.rights),
        by_key=caller.key is not None and caller.sign_in is None,
    )


@router.post(_PATH, status_code=201, responses=documented(401, 429))
async def sign_in(body: SignInBody, app: Served, request: Request, response: Response) -> SessionShown:
    """Sign this browser in; the answer sets the cookie."""
    if not await app.accounts.needs_key():
        raise BadInput(
            "This server has no users, so nobody needs to sign in: `bethink users add` makes the first."
        )
    if request.scope["state"].get(FOREIGN):
        raise NotAllowed("Only Bethink's own page may sign somebody in.")
    signing, peer = app.accounts.signing, peer_of(request.scope, app.settings.trusted_proxies)
    if body.key is not None:
        signed = await signing.with_key(body.key.strip(), peer=peer)
    else:
        signed = await signing.with_password(
            body.name or "",
            body.password or "",
            peer=peer,
            browser=cookie_of(request.scope, KNOWN_BROWSER)[:_MAX_COOKIE_CHARS],
            is_gone=request.is_disconnected,
        )
    record = signed.record
    keep = partial(
        response.set_cookie,
        secure=_is_https(request, app.settings.public_urls),
        httponly=True,
        samesite="strict",
    )
    if signed.browser:
        keep(KNOWN_BROWSER, signed.browser, max_age=BROWSER_DAYS * 86_400, path=_PATH)
    keep(COOKIE, signed.text, max_age=(record.expires_at - record.created_at) // _US_PER_S)
    person = _person(signed.user)
    return SessionShown(needed=True, user=person, rights=sorted(record.scopes), by_key=False)


@router.delete(_PATH, status_code=204, response_class=Response, dependencies=[PARTING])
async def sign_out(app: Served, caller: Caller, request: Request) -> Response:
    """Sign this browser out; what it held opens nothing any more, in any process."""
    await app.accounts.signing.out(caller)
    response = Response(status_code=204)
    secure = _is_https(request, app.settings.public_urls)
    response.delete_cookie(COOKIE, secure=secure, httponly=True, samesite="strict")
    return response


def _person(user: User) -> Person:
    return Person(id=user.id, name=user.name, admin=user.is_admin)


def _is_https(request: Request, public_urls: list[str]) -> bool:
    """Whether the browser came by https: here, or to a proxy of ours that did the rest without."""
    is_here = request.scope["scheme"] == "https"
    return is_here or origin_of(request.scope, public_urls).startswith("https:")


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


class KeyList(Items[KeyShown]):
    """A person's keys, the oldest first."""


class KeyMade(KeyShown):
    """A key that was just made."""

    key: str = Field(description="Its text: shown only once and not stored.")


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


class UserList(Items[UserShown]):
    """All users, the oldest first."""


class UserBody(Body):
    """A user to add."""

    name: Annotated[str, Field(max_length=200)]
    admin: bool = False
    password: Annotated[str | None, Field(max_length=2000)] = None


class UserPatch(Body):
    """What to change; fields that are left out stay."""

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
        raise BadInput("This Bethink has no users, so it needs no keys: `bethink users add` makes the first.")
    scopes = USUAL if body.scopes is None else body.scopes
    # A key that leaks shall not become two, nor one that may more.
    if caller.sign_in is None and ADMIN not in caller.rights:
        raise NotAllowed("Sign in at / to make keys, or use the key of an administrator.")
    if more := set(scopes) - caller.rights:
        raise NotAllowed(f"A new key cannot have more rights than you: {', '.join(sorted(more))}.")
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
        raise NotAllowed(
            "The first user is made at the command line: `bethink users add NAME`, then a key for them."
        )
    password = None if body.password is None else await app.accounts.signing.passwords.hashed(body.password)
    return _user(app, await app.accounts.register.add_user(body.name, is_admin=body.admin, password=password))


@router.patch("/users/{user}", responses=documented(404), dependencies=[PARTING])
async def change_user(user: str, body: UserPatch, app: Served, caller: Caller) -> UserShown:
    """Disable, enable, make an administrator or none, or give a new password, which signs them out."""
    if user == caller.owner and (body.disabled or body.admin is False):
        raise NotAllowed(
            "You would lock yourself out. Another administrator can do this, or `bethink users`."
        )
    password = None if body.password is None else await app.accounts.signing.passwords.hashed(body.password)
    return _user(
        app,
        await app.accounts.register.change_user(
            user, disabled=body.disabled, is_admin=body.admin, password=password
        ),
    )


def _key(app: App, key: Key, uses: Mapping[str, int]) -> KeyShown:
    state = key.state(app.ports.clock.now_us())
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
