"""`/authorize`: whether another program may use `/mcp`, which its user decides. `/grants`: what they let in.

A client of `oauth` sends its user's browser here, where the page signs them in and asks them. The page's own
request decides, as JSON with the cookie that no other site can have sent, and never a form. A request that is
not valid is shown and leads nowhere: anybody may register, so an address to go back to is trusted once a
person said so (OAuth 2.1, section 7.12.2).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal
from urllib.parse import parse_qs, urlencode, urlsplit

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field

from bethink.accounts.grants import GRANT_SCOPES, Clients, GrantRequest
from bethink.accounts.register import Grant, is_loopback
from bethink.errors import BadInput, NotAllowed, OAuthFault
from bethink.web.deps import Body, Caller, Items, ResponseModel, Served, Timestamp
from bethink.web.oauth import MCP_PATH, canonical, issuer_of, single
from bethink.web.problems import documented

if TYPE_CHECKING:
    from bethink.app import App

router = APIRouter(tags=["oauth"])

_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{43}")


class AskedShown(BaseModel):
    """What a program asks for. Its name is what it says of itself."""

    client: str
    host: str = Field(description="Where the answer is sent.")
    is_local: bool = Field(description="Whether that is the machine of the browser, and not a site.")
    user: str = Field(description="Who is signed in, and would grant it.")
    scopes: list[str] = Field(description="What it asks for, as far as who is signed in has it.")


class GrantDecision(Body):
    """A person's decision. `request` is the query of the address to which the client sent them."""

    request: Annotated[str, Field(max_length=16_000)]
    allow: bool
    scopes: Annotated[list[Literal["read", "write"]], Field(max_length=2)] = []  # noqa: RUF012 - a default of the schema, copied by its validation


class DecisionMade(BaseModel):
    """Where the browser goes with the answer."""

    redirect_to: str


@router.get("/authorize", responses=documented(401, 404))
async def show_asked(app: Served, caller: Caller, request: Request) -> AskedShown:
    """What a client asks its user for, as the page shows it; a browser gets the page itself."""
    asked = await _asked(app, request.scope["query_string"].decode("latin-1"), await issuer_of(request, app))
    host = urlsplit(asked.redirect_uri)
    user = app.accounts.register.last_known.users.get(caller.owner)
    return AskedShown(
        client=asked.client.name,
        host=host.netloc,
        is_local=is_loopback(host.hostname or ""),
        user=user.name if user else caller.owner,
        scopes=[scope for scope in asked.scopes if scope in caller.rights],
    )


@router.post("/authorize", responses=documented(401, 404))
async def decide_asked(body: GrantDecision, app: Served, caller: Caller, request: Request) -> DecisionMade:
    """Grant what a client asks for, or refuse it. Only who is signed in on the page can."""
    origin = await issuer_of(request, app)
    if caller.sign_in is None:
        raise NotAllowed("Sign in at / to decide what another program may do: a key cannot.")
    asked = await _asked(app, body.request.removeprefix("?"), origin)
    answer = {"error": "access_denied"}
    if body.allow:
        scopes = caller.rights.intersection(body.scopes, asked.scopes)
        if not scopes:
            raise BadInput("Grant at least one right, or refuse.")
        answer = {"code": await app.accounts.grants.give(caller, asked, scopes)}
    state = parse_qs(body.request.removeprefix("?")).get("state")
    answer |= {"state": state[0]} if state else {}
    joint = "&" if urlsplit(asked.redirect_uri).query else "?"
    return DecisionMade(redirect_to=f"{asked.redirect_uri}{joint}{urlencode(answer | {'iss': origin})}")


async def _asked(app: App, query: str, origin: str) -> GrantRequest:
    """What an authorization request asks for (OAuth 2.1, section 4.1.1).

    Raises:
        OAuthFault: it is not valid.
    """
    given = single(query)
    client_id = given.get("client_id", "")
    client = await Clients(app.secret_box).get(client_id)
    if client is None:
        raise OAuthFault("This Bethink does not know that program: have it connect anew, as a new one.")
    redirect_uri = client.redirect_uri(given.get("redirect_uri", ""))
    if redirect_uri is None:
        raise OAuthFault("The answer would be sent to an address that the program did not register.")
    if given.get("response_type") != "code":
        raise OAuthFault("The program asks for another answer than a code.", "unsupported_response_type")
    challenge = given.get("code_challenge", "")
    if given.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(challenge):
        raise OAuthFault("The program does not protect its request: PKCE with S256 is needed.")
    resource = canonical(given.get("resource"), origin) or origin + MCP_PATH
    if resource != origin + MCP_PATH:
        raise OAuthFault(f"The program asks for something else than {origin}{MCP_PATH}.", "invalid_target")
    wanted = given.get("scope", "").split() or GRANT_SCOPES
    scopes = tuple(scope for scope in GRANT_SCOPES if scope in wanted)
    if not scopes:
        raise OAuthFault(f"There are the scopes {' and '.join(GRANT_SCOPES)}.", "invalid_scope")
    return GrantRequest(client_id, client, redirect_uri, challenge, scopes, resource)


class GrantShown(ResponseModel):
    """A program that may use `/mcp` for its user."""

    id: str
    client: str = Field(description="What it calls itself.")
    host: str = Field(description="Where its user's answer was sent.")
    scopes: list[str]
    created_at: Timestamp
    renewed_at: Timestamp | None = Field(description="When it last got tokens, which it does hourly in use.")


class GrantList(Items[GrantShown]):
    """What a person granted, the oldest first."""


@router.get("/grants")
async def list_grants(app: Served, caller: Caller) -> GrantList:
    """The programs that the caller let use `/mcp`."""
    return GrantList(items=[_grant(one) for one in await app.accounts.grants.of(caller.owner)])


@router.delete("/grants/{grant}", responses=documented(404))
async def end_grant(grant: str, app: Served, caller: Caller) -> GrantShown:
    """End what a program may do, at once."""
    return _grant(await app.accounts.register.end_grant(grant, user=caller.owner))


def _grant(grant: Grant) -> GrantShown:
    return GrantShown.of(grant, client=grant.client_name, host=urlsplit(grant.redirect_uri).netloc)
