"""How Bethink names itself to the web: plainly, and without a word about its owner."""

from __future__ import annotations

from bethink import __version__

PRODUCT = "Bethink"
"""The name that a site's robots.txt may use."""


def user_agent() -> str:
    """The User-Agent header."""
    return f"{PRODUCT}/{__version__} (a self-hosted assistant, reading for one person)"
