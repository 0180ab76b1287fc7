"""Errors of `/v1` in OpenAI's shape: `{"error": {"message", "type", "param", "code"}}`.

An ASGI application around all others, so that it holds for every error of these
paths: of the guard before any route, of the framework, of a route. It rewrites
the problems (`web.problems`) that they answer with.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from starlette.datastructures import MutableHeaders

from bethink.web.problems import MEDIA_TYPE, documented

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PREFIX: Final = "urn:bethink:error:"
_TYPES: Final = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    429: "rate_limit_error",
}
_CODES: Final = {401: "invalid_api_key", 429: "rate_limit_exceeded"}
_INVALID: Final = 422


_SHAPE: Final = {
    "type": "object",
    "properties": {
        "error": {
            "type": "object",
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
            "required": ["message", "type", "param", "code"],
        }
    },
    "required": ["error"],
}


_CONTENT: Final = {"application/json": {"schema": _SHAPE}}
ERRORS: Final = documented(400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 507, content=_CONTENT)
"""What every route of `/v1` may answer with."""


def error_type(status: int) -> str:
    """OpenAI's word for the kind of an error."""
    return _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")  # noqa: PLR2004 - HTTP's classes


def error_body(status: int, code: str, message: str, param: str | None = None) -> dict[str, Any]:
    """An error as OpenAI writes it."""
    return {
        "error": {
            "message": message,
            "type": error_type(status),
            "param": param,
            "code": _CODES.get(status, code),
        }
    }


@dataclass(frozen=True, slots=True)
class OpenAiErrors:
    """Rewrites the problems that `app` answers under `/v1`."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand the request on; rewrite its answer if that is a problem."""
        if scope["type"] != "http" or not f"{scope['path']}/".startswith("/v1/"):
            await self.app(scope, receive, send)
            return
        begun: list[Message] = []

        async def rewriting(message: Message) -> None:
            if message["type"] == "http.response.start" and _is_problem(message):
                begun.append(message)
            elif begun and message["type"] == "http.response.body":
                # A problem is one piece: `web.problems` makes it.
                start = begun.pop()
                start, body = _rewritten(start, message["body"])
                await send(start)
                await send({"type": "http.response.body", "body": body})
            else:
                await send(message)

        await self.app(scope, receive, rewriting)


def _is_problem(start: Message) -> bool:
    return MutableHeaders(raw=start["headers"]).get("content-type", "").startswith(MEDIA_TYPE)


def _rewritten(start: Message, body: bytes) -> tuple[Message, bytes]:
    told: dict[str, Any] = json.loads(body)
    status = 400 if start["status"] == _INVALID else start["status"]
    code = str(told["type"]).removeprefix(_PREFIX)
    faults: list[dict[str, str]] = told.get("errors", [])
    param = faults[0]["parameter"] if faults else None
    written = json.dumps(error_body(status, code, told["detail"], param)).encode()
    headers = MutableHeaders(raw=list(start["headers"]))
    headers["content-type"] = "application/json"
    headers["content-length"] = str(len(written))
    return {**start, "status": status, "headers": headers.raw}, written
