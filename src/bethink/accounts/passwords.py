"""Passwords, which people think up: kept as scrypt hashes that take a tenth of a second to try.

Source: RFC 7914, and OWASP's "Password Storage" for the costs (N = 2^15, r = 8, p = 3).
Hashing runs in threads, few at once: each takes 32 MB.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os

import anyio
import anyio.to_thread

from bethink.errors import BadInput

MIN_CHARS, MAX_CHARS = 10, 1000
_N, _R, _P = 2**15, 8, 3
_BYTES = 32
_SALT_BYTES = 16
_AT_ONCE = 2
_MOST_MEMORY = 128 * _N * _R * 2


class Passwords:
    """Hashes and compares; at most two at once in a process."""

    def __init__(self) -> None:
        self._limiter = anyio.CapacityLimiter(_AT_ONCE)

    async def hashed(self, password: str) -> str:
        """What is kept of a password.

        Raises:
            BadInput: it is shorter than ten characters or longer than a thousand.
        """
        if not MIN_CHARS <= len(password) <= MAX_CHARS:
            message = f"A password has {MIN_CHARS} to {MAX_CHARS:,} characters."
            raise BadInput(message)
        salt = os.urandom(_SALT_BYTES)
        made = await self._scrypt(password, salt)
        return f"scrypt:{_N}:{_R}:{_P}:{_text(salt)}:{_text(made)}"

    async def fits(self, password: str, kept: str | None) -> bool:
        """Whether it is the password that was kept; costs the same where none was."""
        salt, made = os.urandom(_SALT_BYTES), b""
        if kept is not None:
            *_, salt_text, made_text = kept.split(":")
            salt, made = base64.b64decode(salt_text), base64.b64decode(made_text)
        return hmac.compare_digest(await self._scrypt(password[:MAX_CHARS], salt), made)

    async def _scrypt(self, password: str, salt: bytes) -> bytes:
        def work() -> bytes:
            return hashlib.scrypt(
                password.encode(), salt=salt, n=_N, r=_R, p=_P, maxmem=_MOST_MEMORY, dklen=_BYTES
            )

        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
