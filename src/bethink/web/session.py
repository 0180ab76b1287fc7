"""`/session`: sign a browser in and out, and say who it is. The cookie is out of reach of scripts.

Other sites' pages cannot have it sent: it is SameSite=Strict, `security` refuses
their Origin before any route, and what changes something wants JSON or a method
that no form has.
"""

from __future__ import annotations

from typing import Annotated, Self
from urllib.parse import urlsplit

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field, model_validator

from bethink.accounts.signing import BROWSER_DAYS
from bethink.errors import BadInput, NotAllowed
from bethink.web.deps import PARTING, Anybody, Body, Caller, Served
from bethink.web.problems import documented
from bethink.web.security.credentials import COOKIE, FOREIGN, KNOWN_BROWSER, cookie_of, peer_of

router = APIRouter(prefix="/session", tags=["users"])
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
    user: Person | None = Field(description="Null for nobody, and where there are no users.")
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
            message = "give either `key`, or `name` and `password`"
            raise ValueError(message)
        return self


@router.get("")
async def get_session(app: Served, caller: Anybody) -> SessionShown:
    """Who is signed in; told to anybody who asks about themselves."""
    needed = await app.accounts.needs_key()
    if caller is None:
        return SessionShown(needed=needed, user=None, rights=[], by_key=False)
    user = app.accounts.register.last_known.users.get(caller.owner) if needed else None
    return SessionShown(
        needed=needed,
        user=Person(id=user.id, name=user.name, admin=user.is_admin) if user else None,
        rights=sorted(caller.rights),
        by_key=caller.key is not None and caller.sign_in is None,
    )


@router.post("", status_code=201, responses=documented(401, 429))
async def sign_in(body: SignInBody, app: Served, request: Request, response: Response) -> SessionShown:
    """Sign this browser in; the answer sets the cookie."""
    if not await app.accounts.needs_key():
        message = (
            "This Bethink has no users, so that nobody need sign in: `bethink users add` makes the first."
        )
        raise BadInput(message)
    if request.scope["state"].get(FOREIGN):
        message = "Only Bethink's own page may sign somebody in."
        raise NotAllowed(message)
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
    record, user = signed.record, signed.user
    if signed.browser:
        response.set_cookie(
            KNOWN_BROWSER,
            signed.browser,
            max_age=BROWSER_DAYS * 86_400,
            path=router.prefix,
            secure=_is_https(request, app.settings.public_urls),
            httponly=True,
            samesite="strict",
        )
    response.set_cookie(
        COOKIE,
        signed.text,
        max_age=(record.expires_at - record.created_at) // _US_PER_S,
        secure=_is_https(request, app.settings.public_urls),
        httponly=True,
        samesite="strict",
    )
    person = Person(id=user.id, name=user.name, admin=user.is_admin)
    return SessionShown(needed=True, user=person, rights=sorted(record.scopes), by_key=False)


@router.delete("", status_code=204, response_class=Response, dependencies=[PARTING])
async def sign_out(app: Served, caller: Caller, request: Request) -> Response:
    """Sign this browser out; what it held opens nothing any more, in any process."""
    await app.accounts.signing.out(caller)
    response = Response(status_code=204)
    secure = _is_https(request, app.settings.public_urls)
    response.delete_cookie(COOKIE, secure=secure, httponly=True, samesite="strict")
    return response


def _is_https(request: Request, public_urls: list[str]) -> bool:
    """Whether the browser came by https: here, or to a proxy of ours that did the rest without."""
    host = request.headers.get("host", "").lower()
    return request.scope["scheme"] == "https" or any(
        url.startswith("https:") and urlsplit(url).netloc == host for url in public_urls
    )
