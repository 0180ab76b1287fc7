"""Tokens of links that anybody may open who has them: of `shares`, and of feeds of a calendar.

A token holds its owner, for nothing else tells whose the link is, and a secret that cannot be guessed. It is
kept as a digest alone.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import Final

_SECRET_BYTES: Final = 32
_MAX_TOKEN: Final = 500


def new_token(owner: str) -> str:
    """Another token of this owner's."""
    named = base64.urlsafe_b64encode(owner.encode()).rstrip(b"=").decode()
    return f"{named}.{secrets.token_urlsafe(_SECRET_BYTES)}"


def owner_of(token: str) -> str | None:
    """Whose link it would be; None if it is no token."""
    head, dot, _ = token.partition(".")
    if not dot or len(token) > _MAX_TOKEN:
        return None
    try:
        return base64.urlsafe_b64decode(head.encode() + b"=" * (-len(head) % 4)).decode()
    except (binascii.Error, ValueError):
        return None


def digest_of(token: str) -> str:
    """What is kept of a token. Of 32 random bytes no slow hash is needed."""
    return hashlib.sha256(token.encode()).hexdigest()


def is_of(token: str, digest: str) -> bool:
    """Whether this is the digest of the token."""
    return hmac.compare_digest(digest, digest_of(token))
