"""The key of a sealed home: what was said, what is known of it and files are unreadable without it.

`sealed.json` in the data directory has the home's own key, wrapped by a master key that lies elsewhere: in
BETHINK_MASTER_KEY, or in a file whose place is kept there. If records are in PostgreSQL, that database has
the same, and the file is a copy of it (`engines/postgres/sealed`). `ports` opens it, `key_change` makes it.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from bethink.durable_files import replacing, sync
from bethink.errors import StorageError
from bethink.secrets_at_rest import key_in, key_of

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

FILE: Final = "sealed.json"
KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12
OVERHEAD: Final = _NONCE_BYTES + 16
"""So many bytes a sealed content is longer: a nonce and a tag."""
_WRAPS: Final = b"bethink home key"


class NotSealedSoError(Exception):
    """Another key sealed it, or it was changed since."""


@dataclass(frozen=True)
class Cipher:
    """AES-256-GCM with a nonce of its own for each content (NIST SP 800-38D): 2^32 contents for one key."""

    key: bytes = field(repr=False)

    @cached_property
    def _aead(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        return AESGCM(self.key)

    def seal(self, content: bytes, bound_to: bytes | None = None) -> bytes:
        """The content, unreadable without the key; `OVERHEAD` bytes longer."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self._aead.encrypt(nonce, content, bound_to)

    def open(self, sealed: bytes, bound_to: bytes | None = None) -> bytes:
        """The content of `seal`.

        Raises:
            NotSealedSoError: another key sealed it, or it was changed since.
        """
        from cryptography.exceptions import InvalidTag

        try:
            return self._aead.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound_to)
        except (InvalidTag, ValueError) as error:
            raise NotSealedSoError from error


class SealedHome(msgspec.Struct, frozen=True, kw_only=True):
    """How a home is sealed: by the key `now`, wrapped by the master key of `key_file` or of the settings.

    While a home `is_moving` from one key to another, or to or from none, some of it has the one and some the
    other: `before` is the earlier key.
    """

    format: int = 1
    key_file: str | None = None
    now: bytes | None = None
    before: bytes | None = None
    key_file_before: str | None = None
    is_moving: bool = False


def state_of(data_dir: Path) -> SealedHome | None:
    """How the home is sealed; None if it is not.

    Raises:
        StorageError: its file is damaged, or cannot be read.
    """
    path = data_dir / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=SealedHome)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.") from error
    except msgspec.DecodeError as error:
        raise StorageError(
            f"{path} is damaged: restore it from a backup, without it nothing can be read."
        ) from error


def keep_state(data_dir: Path, state: SealedHome | None) -> None:
    """Keep how the home is sealed; durable when it returns."""
    path = data_dir / FILE
    if state is None:
        path.unlink(missing_ok=True)
    else:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Several processes may share the directory.
        with replacing(path, data_dir / f"{FILE}.{secrets.token_hex(4)}.part") as file:
            file.write(msgspec.json.encode(state))
    sync(data_dir)


@dataclass(frozen=True, slots=True)
class MasterKey:
    """What wraps a home's key: that of a `file` if one is named, else the `chosen` one of the settings."""

    file: Path | None
    chosen: str | None = field(default=None, repr=False)

    def wrap(self, key: bytes) -> bytes:
        """A home's key, unreadable without the master key.

        Raises:
            StorageError: there is no master key.
        """
        return self._cipher().seal(key, _WRAPS)

    def unwrap(self, wrapped: bytes) -> Cipher:
        """The cipher of a home.

        Raises:
            StorageError: there is no master key, or it is another one.
        """
        try:
            return Cipher(self._cipher().open(wrapped, _WRAPS))
        except NotSealedSoError as error:
            raise StorageError(
                f"This home is sealed, and the key of {self._place} is another one: bring back the key that"
                " sealed it. Nothing was changed."
            ) from error

    @property
    def _place(self) -> str:
        return str(self.file) if self.file else "BETHINK_MASTER_KEY"

    def _cipher(self) -> Cipher:
        if self.file is None:
            if not self.chosen:
                raise StorageError("This home is sealed: set BETHINK_MASTER_KEY to its key.")
            return Cipher(key_of(self.chosen))
        try:
            return Cipher(key_in(self.file))
        except OSError as error:
            raise StorageError(
                f"This home is sealed, and its key file {self.file} cannot be read ({error.strerror}):"
                " bring it back, or mount the disk that it lies on."
            ) from error


def new_key() -> bytes:
    """A key for a home."""
    return secrets.token_bytes(KEY_BYTES)


def cipher_of(data_dir: Path, chosen: str | None) -> Cipher | None:
    """What opens a home; None if it is not sealed. `chosen` is BETHINK_MASTER_KEY.

    Raises:
        StorageError: the key is missing or another one, or sealing was cut short.
    """
    return cipher_by(state_of(data_dir), chosen)


def cipher_by(state: SealedHome | None, chosen: str | None) -> Cipher | None:
    """What opens a home that is sealed so; None if it is not. `chosen` is BETHINK_MASTER_KEY.

    Raises:
        StorageError: the key is missing or another one, or sealing was cut short.
    """
    if state is None:
        return None
    if state.is_moving or state.now is None:
        raise StorageError("Sealing this home was cut short: do it again (bethink seal continue).")
    return MasterKey(Path(state.key_file) if state.key_file else None, chosen).unwrap(state.now)
