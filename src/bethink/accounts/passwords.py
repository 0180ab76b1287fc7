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
_COSTS = (2**15, 8, 3)
_BYTES = 32
_SALT_BYTES = 16
_AT_ONCE = 2


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
        n, r, p = _COSTS
        made = await self._scrypt(password, salt, _COSTS)
        return f"scrypt:{n}:{r}:{p}:{_text(salt)}:{_text(made)}"

    async def fits(self, password: str, kept: str | None) -> bool:
        """Whether it is the password that was kept, at the costs of its day; as dear where none was."""
        salt, made, costs = os.urandom(_SALT_BYTES), b"", _COSTS
        if kept is not None:
            _, *numbers, salt_text, made_text = kept.split(":")
            n, r, p = map(int, numbers)
            salt, made, costs = base64.b64decode(salt_text), base64.b64decode(made_text), (n, r, p)
        return hmac.compare_digest(await self._scrypt(password[:MAX_CHARS], salt, costs), made)

    async def _scrypt(self, password: str, salt: bytes, costs: tuple[int, int, int]) -> bytes:
        n, r, p = costs

        def work() -> bytes:
            return hashlib.scrypt(
                password.encode(), salt=salt, n=n, r=r, p=p, maxmem=128 * n * r * 2, dklen=_BYTES
            )

        return await anyio.to_thread.run_sync(work, limiter=self._limiter)


def _text(content: bytes) -> str:
    return base64.b64encode(content).decode()
