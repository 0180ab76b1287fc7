"""The policy of documents in which the page has run what others wrote: they reach nothing.

For what `web.ui` gives into frames of the page: the one in which artifacts run, and the one in which diagrams
are drawn. The page tells them by messages what that is. `sandbox` gives them an origin that nobody else has.
"""

from __future__ import annotations

from typing import Final

FRAME_HEADERS: Final = {
    "content-security-policy": (
        "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data: blob:; font-src data:; form-action 'none'; base-uri 'none'; "
        "frame-ancestors 'self'"
    ),
    "x-frame-options": "SAMEORIGIN",
    "x-dns-prefetch-control": "off",
}
