"""Answers that a page of another site may read, where the settings name that site.

Such a page comes with a key, never with a sign-in: no credentials of the browser
are allowed. Source: WHATWG Fetch, "CORS protocol".
"""

from __future__ import annotations

from starlette.responses import Response

_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_HEADERS = "authorization, *"
"""Clients add headers of their own: the star stands for all but the first where there are no credentials."""
_EXPOSED = "*"
_KEPT_S = 600


def headers(origin: str) -> dict[str, str]:
    """What every answer to the origin carries."""
    return {
        "access-control-allow-origin": origin,
        "access-control-expose-headers": _EXPOSED,
        "vary": "Origin",
    }


def preflight() -> Response:
    """The answer to a browser that asks first."""
    allowed = {
        "access-control-allow-methods": _METHODS,
        "access-control-allow-headers": _HEADERS,
        "access-control-max-age": str(_KEPT_S),
    }
    return Response(status_code=204, headers=allowed)
