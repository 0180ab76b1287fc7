"""The policy of documents that others wrote: they run in a frame of their own origin, and reach nothing.

For what the web door gives into frames of the page: artifacts (`web.artifacts`), and the document in which
diagrams are drawn (`web.ui`). `sandbox` holds as well if the address is opened as a page of its own.
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
