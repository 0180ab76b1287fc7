"""OAuth 2.1 for `/mcp`, which hosted connectors insist on: metadata, registration, tokens, revocation.

A client learns where to ask from the 401 of `/mcp` (RFC 9728) and the metadata of this server (RFC 8414).
It registers itself (RFC 7591), sends its user's browser to `/authorize` (`consent`), and gets tokens for the
code that comes back (PKCE, S256 alone). Without users nobody needs a token, and none of this exists.
Source: the specification of MCP, 2026-07-28, Authorization.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final
from urllib.parse import parse_qs, unquote_plus

import pydantic
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, Field

from bethink.accounts.grants import ACCESS_S, GRANT_SCOPES, Clients, Method
from bethink.accounts.register import MAX_LABEL, checked_label
from bethink.app import App
from bethink.errors import BadInput, OAuthFault, TooManyRequests, UnknownId
from bethink.web.deps import Served
from bethink.web.problems import documented
from bethink.web.security.credentials import origin_of, peer_of, shows_key

if TYPE_CHECKING:
    from starlette.types import Scope

router = APIRouter(tags=["oauth"])

MCP_PATH: Final = "/mcp"
_METADATA: Final = "/.well-known/oauth-protected-resource"
_REGISTRATIONS: Final = 20
"""Of one address in a minute: a connector registers anew each time it is connected."""
_MAX_PARAMETERS: Final = 30
_FORM: Final = "application/x-www-form-urlencoded"
_NO_USERS: Final = "This Bethink has no users: programs of this machine use /mcp without a sign-in."
_METHODS: Final = ["none", "client_secret_post", "client_secret_basic"]


def resource_of(scope: Scope, app: App) -> str:
    """The address of `/mcp` as who asks knows it: what a token is for."""
    return origin_of(scope, app.settings.public_urls) + MCP_PATH


def challenge_of(scope: Scope, app: App) -> str:
    """What a 401 of `/mcp` tells of where to get a token (RFC 9728, section 5.1; RFC 6750, section 3)."""
    origin = origin_of(scope, app.settings.public_urls)
    fault = ', error="invalid_token"' if shows_key(scope) else ""
    known = f'resource_metadata="{origin}{_METADATA}{MCP_PATH}", scope="{" ".join(GRANT_SCOPES)}"'
    return f'Bearer realm="Bethink"{fault}, {known}'


async def issuer_of(request: Request, app: App) -> str:
    """The address of this Bethink, which gives the tokens.

    Raises:
        UnknownId: there are no users, and nobody needs a token.
    """
    if not await app.accounts.needs_key():
        raise UnknownId(_NO_USERS)
    return origin_of(request.scope, app.settings.public_urls)


@router.get(_METADATA + MCP_PATH, responses=documented(404))
@router.get(_METADATA, include_in_schema=False)
async def protected_resource(app: Served, request: Request) -> dict[str, Any]:
    """What `/mcp` wants to be opened (RFC 9728)."""
    origin = await issuer_of(request, app)
    return {
        "resource": origin + MCP_PATH,
        "authorization_servers": [origin],
        "scopes_supported": GRANT_SCOPES,
        "bearer_methods_supported": ["header"],
        "resource_name": "Bethink",
    }


@router.get("/.well-known/oauth-authorization-server", responses=documented(404))
async def authorization_server(app: Served, request: Request) -> dict[str, Any]:
    """How tokens for `/mcp` are given (RFC 8414)."""
    origin = await issuer_of(request, app)
    return {
        "issuer": origin,
        "authorization_endpoint": f"{origin}/authorize",
        "token_endpoint": f"{origin}/token",
        "registration_endpoint": f"{origin}/register",
        "revocation_endpoint": f"{origin}/revoke",
        "scopes_supported": GRANT_SCOPES,
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": _METHODS,
        "revocation_endpoint_auth_methods_supported": _METHODS,
        "code_challenge_methods_supported": ["S256"],
        "authorization_response_iss_parameter_supported": True,
    }


class ClientBody(BaseModel):
    """What a client says of itself (RFC 7591, section 2); anything else that it says is not kept."""

    redirect_uris: Annotated[list[str], Field(min_length=1)]
    client_name: str | None = None
    token_endpoint_auth_method: Method | None = None
    grant_types: list[str] = ["authorization_code"]
    response_types: list[str] = ["code"]


@router.post("/register", status_code=201, responses=documented(404, 429))
async def register_client(app: Served, request: Request) -> Response:
    """Register a client (RFC 7591). Its body is JSON; nothing is stored: the id says it all."""
    await issuer_of(request, app)
    peer = peer_of(request.scope, app.settings.trusted_proxies)
    if wait_s := await app.accounts.register.bus.take(f"oauth-clients:{peer}", _REGISTRATIONS):
        raise TooManyRequests(
            f"Too many registrations: at most {_REGISTRATIONS} a minute. Wait {wait_s:.0f} s.",
            retry_after_s=wait_s,
        )
    clients, body = Clients(app.secret_box), _client_body(await request.body())
    name, method = _label(body.client_name), body.token_endpoint_auth_method or "none"
    id = await clients.register(name, body.redirect_uris, method)
    answer: dict[str, Any] = {
        "client_id": id,
        "client_id_issued_at": app.ports.clock.now_us() // 1_000_000,
        "client_name": name,
        "redirect_uris": body.redirect_uris,
        "token_endpoint_auth_method": method,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": " ".join(GRANT_SCOPES),
    }
    if method != "none":
        answer |= {"client_secret": await clients.secret(id), "client_secret_expires_at": 0}
    return _json(answer, 201)


@router.post("/token", responses=documented(400, 401, 404))
async def give_tokens(app: Served, request: Request) -> Response:
    """Tokens for a code or a refresh token (OAuth 2.1, section 3.2); the body is a form."""
    origin = await issuer_of(request, app)
    form, client_id = await _client_form(app, request)
    resource, grants = canonical(form.get("resource"), origin), app.accounts.grants
    match form.get("grant_type"):
        case "authorization_code":
            tokens = await grants.redeem(
                client_id,
                form.get("code", ""),
                verifier=form.get("code_verifier", ""),
                redirect_uri=form.get("redirect_uri"),
                resource=resource,
            )
        case "refresh_token":
            token, scopes = form.get("refresh_token", ""), form.get("scope", "").split()
            tokens = await grants.renew(client_id, token, scopes=scopes, resource=resource)
        case _:
            raise OAuthFault("There are authorization_code and refresh_token.", "unsupported_grant_type")
    answer = {
        "access_token": tokens.access,
        "token_type": "Bearer",
        "expires_in": ACCESS_S,
        "refresh_token": tokens.refresh,
        "scope": " ".join(tokens.scopes),
    }
    return _json(answer)


@router.post("/revoke", responses=documented(400, 401, 404))
async def revoke_token(app: Served, request: Request) -> Response:
    """End the grant of a token (RFC 7009); the body is a form. One that is unknown is ended."""
    await issuer_of(request, app)
    form, client_id = await _client_form(app, request)
    await app.accounts.grants.end(client_id, form.get("token", ""))
    return Response(status_code=200)


async def _client_form(app: App, request: Request) -> tuple[Mapping[str, str], str]:
    """The fields of a form, and the client who sent it.

    Raises:
        OAuthFault: it is no form, or the client is not known by what it shows.
    """
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
        raise OAuthFault(f"Send a form: Content-Type: {_FORM}.")
    form = single((await request.body()).decode("latin-1"))
    basic_id, basic_secret = _basic(request)
    client_id = form.get("client_id") or basic_id or ""
    if basic_id not in (None, client_id):
        raise OAuthFault("The client's id is another one in the header than in the form.", "invalid_client")
    await Clients(app.secret_box).checked(client_id, basic=basic_secret, posted=form.get("client_secret"))
    return form, client_id


def _basic(request: Request) -> tuple[str | None, str | None]:
    """A client's id and secret from the header (RFC 6749, section 2.3.1)."""
    scheme, _, rest = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return None, None
    try:
        id, _, secret = base64.b64decode(rest.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise OAuthFault("The header Authorization is not one of Basic.", "invalid_client") from None
    return unquote_plus(id), unquote_plus(secret)


def single(query: str) -> Mapping[str, str]:
    """The parameters, each of which may be there once.

    Raises:
        OAuthFault: one is there twice, or there are too many.
    """
    try:
        given = parse_qs(query, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        raise OAuthFault(f"There are more than {_MAX_PARAMETERS} parameters.") from None
    if twice := [name for name, values in given.items() if len(values) > 1]:
        raise OAuthFault(f"{twice[0][:50]} is there more than once.")
    return {name: values[0] for name, values in given.items()}


def canonical(given: str | None, origin: str) -> str | None:
    """A resource as it is written here: its host is the same in any case, and `/` at its end is nothing."""
    if given is None:
        return None
    whole = given.rstrip("/")
    return origin + whole[len(origin) :] if whole.lower().startswith(origin) else whole


def _client_body(content: bytes) -> ClientBody:
    try:
        body = ClientBody.model_validate_json(content)
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])[:100] or "body"
        raise OAuthFault(f"{where}: {first['msg'][:200]}.", "invalid_client_metadata") from None
    if "authorization_code" not in body.grant_types or "code" not in body.response_types:
        raise OAuthFault("There is only the grant authorization_code.", "invalid_client_metadata")
    return body


def _label(name: str | None) -> str:
    try:
        return checked_label((name or "")[:MAX_LABEL])
    except BadInput:
        return "A program without a name"


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    return Response(json.dumps(value), status, {"Pragma": "no-cache"}, "application/json")
