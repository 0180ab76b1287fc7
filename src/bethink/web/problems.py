"""Errors as the web door tells them: problem+json (RFC 9457), every one with a sentence for a person.

`type` is `urn:bethink:error:<code>`, `title` the code in words, `detail` what
happened and what to do; `errors` names each parameter that was not valid.
"""

from __future__ import annotations

import http
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Match

from bethink.errors import (
    BadInput,
    BethinkError,
    InvalidSettings,
    NotSignedIn,
    OAuthFault,
    TooLarge,
    TooManyRequests,
    UnknownId,
)
from bethink.telemetry import log

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.types import Scope

MEDIA_TYPE = "application/problem+json"

_MAX_FAULTS = 20
"""Of a request that is not valid: the first ones tell enough, and nobody reads a thousand."""
_MAX_NAME_CHARS = 200
_MAX_REASON_CHARS = 500
"""Names and values in them are the caller's own, and as long as the caller likes."""

_log = log("web")
_CODES = {400: BadInput.code, 404: UnknownId.code, 413: TooLarge.code, 422: BadInput.code}
"""Codes for what the framework itself refuses; others are named by their status."""


class Fault(BaseModel):
    """One parameter or field that is not valid, and why."""

    parameter: str = Field(description="Its name; a field in an object as `object.field`.")
    reason: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(description="`urn:bethink:error:<code>`; the code is stable.")
    title: str
    status: int
    detail: str = Field(description="What happened and what to do, for a person.")
    errors: list[Fault] = Field(default=[], description="What of the request is not valid.")


_CONTENT: Final = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def documented(*statuses: int, content: Mapping[str, Any] = _CONTENT) -> dict[int | str, dict[str, Any]]:
    """OpenAPI responses of these statuses, each a problem unless the `content` is another."""
    return {
        status: {"description": http.HTTPStatus(status).phrase, "content": content} for status in statuses
    }


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    errors: Sequence[Fault] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    """The answer that tells of a problem."""
    body = _document(status, code, detail)
    if errors:
        body["errors"] = [fault.model_dump() for fault in errors]
    return Response(json.dumps(body), status, dict(headers or {}), MEDIA_TYPE)


def _document(status: int, code: str, detail: str) -> dict[str, Any]:
    title = code.replace("_", " ").capitalize()
    return {"type": f"urn:bethink:error:{code}", "title": title, "status": status, "detail": detail}


def of_error(error: BethinkError) -> Response:
    """The problem that an error of ours is."""
    headers: dict[str, str] = {}
    match error:
        case NotSignedIn():
            headers["WWW-Authenticate"] = 'Bearer realm="Bethink"'
        case TooManyRequests():
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after_s)))
        case OAuthFault():
            return _oauth(error)
        case InvalidSettings():
            faults = [Fault(parameter=name, reason=reason) for name, reason in error.faults.items()]
            return problem(error.status, error.code, error.message, errors=faults)
        case _:
            pass
    return problem(error.status, error.code, error.message, headers=headers)


def _oauth(error: OAuthFault) -> Response:
    """A fault as programs read it (RFC 6749, section 5.2), and as the page reads a problem."""
    body = _document(error.status, error.code, error.message)
    body |= {"error": error.fault, "error_description": error.message}
    headers = (
        {"WWW-Authenticate": 'Basic realm="Bethink"'} if error.status == http.HTTPStatus.UNAUTHORIZED else {}
    )
    return Response(json.dumps(body), error.status, headers, "application/json")


def install(web: FastAPI) -> None:
    """Have every error of the application told as a problem."""
    web.exception_handler(BethinkError)(_bethink)
    web.exception_handler(RequestValidationError)(_validation)
    web.exception_handler(HTTPException)(_framework)
    web.exception_handler(Exception)(_unexpected)


async def _bethink(_: Request, error: BethinkError) -> Response:
    return of_error(error)


async def _validation(_: Request, error: RequestValidationError) -> Response:
    items = error.errors()
    faults = [_fault(item) for item in items[:_MAX_FAULTS]]
    detail = "; ".join(f"{fault.parameter}: {fault.reason}" for fault in faults)
    if len(items) > _MAX_FAULTS:
        detail = f"{detail}; and {len(items) - _MAX_FAULTS:,} more faults"
    return problem(422, BadInput.code, f"The request is not valid. {detail}.", errors=faults)


def _fault(item: Mapping[str, Any]) -> Fault:
    where, *path = item["loc"]
    if item["type"] == "json_invalid":
        reason = f"this is not JSON: {item['ctx']['error']} at character {path[0] if path else 0}"
        return Fault(parameter=where, reason=reason)
    name = _shortened(".".join(str(part) for part in path) or where, _MAX_NAME_CHARS)
    if item["type"] == "model_attributes_type":
        return Fault(parameter=name, reason="give a JSON object, with Content-Type: application/json")
    reason = str(item["msg"]).removeprefix("Value error, ")
    return Fault(parameter=name, reason=_shortened(reason, _MAX_REASON_CHARS))


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"


async def _framework(request: Request, error: HTTPException) -> Response:
    status, path = error.status_code, _shortened(request.url.path, _MAX_NAME_CHARS)
    match status:
        case 404:
            return problem(404, UnknownId.code, f"There is nothing at {path}.")
        case 405:
            allowed = ", ".join(_methods(request))
            detail = f"{request.method} does not exist for {path}; there is {allowed}."
            return problem(405, "method_not_allowed", detail, headers={"Allow": allowed})
        case 400 if error.__cause__ is not None:
            return problem(400, BadInput.code, "The body cannot be read: send JSON as UTF-8, not compressed.")
        case _:
            code = _CODES.get(status, f"http_{status}")
            return problem(status, code, str(error.detail), headers=error.headers)


def _methods(request: Request) -> list[str]:
    """Every method that the path of the request has; the framework names those of one route only."""
    routes = request.app.routes
    return [
        method
        for method in ("DELETE", "GET", "PATCH", "POST", "PUT")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]


async def _unexpected(request: Request, error: Exception) -> Response:
    _log.error("%s %s failed", request.method, route_of(request.scope), exc_info=error)
    detail = "Something went wrong inside Bethink; its log has the details. What was stored before is safe."
    return problem(500, BethinkError.code, detail)


def route_of(scope: Scope) -> str:
    """The pattern of the route that answers, such as `/memories/{id}`; `other` for what has none."""
    return getattr(scope.get("route"), "path", None) or "other"
