"""The set-up key: what makes the first user of a Bethink that others can reach, once.

`serve` prints it as long as nobody has a way in; `/setup/user` takes it. It lies in the data directory until
then, or in a file that the settings name.
"""

from __future__ import annotations

import hmac
import os
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import anyio
import anyio.to_thread

from bethink.accounts.sign_ins import Buckets
from bethink.errors import NotAllowed, NotSignedIn, StorageError
from bethink.telemetry import log

if TYPE_CHECKING:
    from pathlib import Path

    from bethink.accounts.register import Register, User

FILE: Final = "setup.key"
_BYTES: Final = 20
_TRIES: Final = 5
"""A minute, of all who try together: a key of 160 bits is not found so, and the log is not filled."""
_SHORTEST: Final = 16
_log = log("accounts")


def setup_key(data_dir: Path, file: Path | None = None) -> str:
    """The key of a data directory, or in the operator's `file`; one is made if there is none.

    Raises:
        StorageError: it cannot be read or made, or is too short to be one.
    """
    path = file or data_dir / FILE
    try:
        if file is None and not path.exists():
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="ascii") as made:
                made.write(secrets.token_urlsafe(_BYTES) + "\n")
        key = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise StorageError(f"The set-up key {path} cannot be read or made: {error}.") from error
    if len(key) < _SHORTEST:
        raise StorageError(f"The set-up key {path} is too short: give {_SHORTEST} characters or more.")
    return key


@dataclass(slots=True)
class SetupKey:
    """The key of one data directory; `file` is where the operator put one, if they did."""

    register: Register
    data_dir: Path
    file: Path | None = None
    _tries: Buckets = field(default_factory=lambda: Buckets(_TRIES, "tries of the set-up key"))
    _lock: anyio.Lock = field(default_factory=anyio.Lock, repr=False)

    async def is_open(self) -> bool:
        """Whether the first user can be made with it: there is none yet."""
        return not (await self.register.refresh()).users

    async def first_user(self, name: str, hashed: Callable[[], Awaitable[str]], *, key: str | None) -> User:
        """Make the first user, an administrator; `hashed` gives the hash of their password.

        A `key` of None was not asked for.

        Raises:
            NotAllowed: there is a user already.
            NotSignedIn: it is not the key.
            TooManyRequests: somebody tries keys.
            BadInput: the name is unfit.
            StorageError: the key cannot be read, or the user cannot be kept.
        """
        async with self._lock:
            if not await self.is_open():
                raise NotAllowed("There is a user already: sign in, or have an administrator add you.")
            if key is not None:
                self._tries.take("")
                real = await anyio.to_thread.run_sync(setup_key, self.data_dir, self.file)
                if not hmac.compare_digest(key.strip().encode(), real.encode()):
                    _log.warning("somebody tried a wrong set-up key")
                    raise NotSignedIn("This is not the set-up key. `bethink serve` printed it as it started.")
            user = await self.register.add_user(name, is_admin=True, password=await hashed())
            await anyio.Path(self.data_dir / FILE).unlink(missing_ok=True)
        _log.info("%s is the first user", user.name)
        return user
