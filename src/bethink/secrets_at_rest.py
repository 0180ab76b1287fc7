"""Secrets as they are kept: sealed with a master key, or as a digest that only the key makes.

For tokens of servers and numbers of cards; and for what was said, where it has only to be known again.

The key comes from a setting, or from a file of the data directory that only its
owner can read: whoever has the database alone has no secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio.to_thread

from bethink.errors import BadInput, StorageError

if TYPE_CHECKING:
    from pathlib import Path

FILE = "master.key"
_KEY_BYTES = 32
_NONCE_BYTES = 12
_VERSION = b"\x01"
_DIGESTS = b"bethink digests"
"""What the key of digests is made for: no key does two things."""


@dataclass(slots=True)
class SecretBox:
    """Seals texts: AES-256-GCM with a nonce of its own for each (NIST SP 800-38D).

    With the `chosen` key, 32 bytes in base64 or a passphrase of 16 characters or
    more; else with that of the data directory, which is made on first use.
    """

    data_dir: Path
    chosen: str | None = field(default=None, repr=False)
    _key: bytes | None = field(default=None, init=False, repr=False)

    async def seal(self, text: str) -> bytes:
        """The text, unreadable without the key; never the same twice.

        Raises:
            BadInput: the chosen key is too short.
            StorageError: the key's file cannot be read or made.
        """
        return await anyio.to_thread.run_sync(self.seal_now, text)

    async def open(self, sealed: bytes) -> str:
        """The text of `seal`.

        Raises:
            BadInput: the chosen key is too short.
            StorageError: it was sealed with another key, or changed, or the key cannot be read.
        """
        return await anyio.to_thread.run_sync(self.open_now, sealed)

    async def digest(self, text: str) -> str:
        """The same for the same text, and nobody without the key can test a guess (HMAC, RFC 2104).

        Raises:
            BadInput: the chosen key is too short.
            StorageError: the key's file cannot be read or made.
        """
        key = self._key or await anyio.to_thread.run_sync(self._read_key)
        return hmac.digest(hmac.digest(key, _DIGESTS, "sha256"), text.encode(), "sha256").hex()

    def seal_now(self, text: str) -> bytes:
        """`seal`, for whoever is in a thread already."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        nonce = secrets.token_bytes(_NONCE_BYTES)
        return _VERSION + nonce + AESGCM(self._read_key()).encrypt(nonce, text.encode(), _VERSION)

    def open_now(self, sealed: bytes) -> str:
        """`open`, for whoever is in a thread already."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        version, nonce, rest = sealed[:1], sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        key = self._read_key()
        try:
            return AESGCM(key).decrypt(nonce, rest, version).decode()
        except (InvalidTag, ValueError) as error:
            raise StorageError(
                "A secret cannot be read: it was kept with another master key. Restore that key"
                f" (BETHINK_MASTER_KEY, or {FILE} of the data directory), or enter the secret again."
            ) from error

    def _read_key(self) -> bytes:
        if self._key is None:
            path = self.data_dir / FILE
            try:
                self._key = key_of(self.chosen) if self.chosen else made_key(path)
            except OSError as error:
                raise StorageError(
                    f"The master key {path} cannot be read or made: {error.strerror}."
                ) from error
        return self._key


def key_of(chosen: str) -> bytes:
    """The key that is meant: 32 bytes in base64, or a passphrase of 16 characters or more.

    Raises:
        BadInput: it is too short.
    """
    try:
        key = base64.b64decode(chosen, validate=True)
    except ValueError:
        key = b""
    if len(key) == _KEY_BYTES:
        return key
    if len(chosen) < _KEY_BYTES // 2:
        raise BadInput(
            "BETHINK_MASTER_KEY is too short: give 32 random bytes in base64, or 16 characters or more."
        )
    return hashlib.scrypt(chosen.encode(), salt=b"bethink master key", n=2**14, r=8, p=1, dklen=_KEY_BYTES)


def made_key(path: Path) -> bytes:
    """The key in the file; several processes may make it at once, and all get the same.

    Raises:
        OSError, StorageError: it cannot be read or made, or is damaged.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        fresh = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    return key_in(path)


def key_in(path: Path) -> bytes:
    """The key in a file.

    Raises:
        OSError, StorageError: it cannot be read, or is damaged.
    """
    try:
        key = base64.b64decode(path.read_bytes(), validate=False)
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise StorageError(f"The master key {path} is damaged: bring back the file from a backup.")
    return key
