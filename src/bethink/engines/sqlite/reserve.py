"""Room on the disk that is kept for deleting: on a full disk, nothing else would ever make room again.

`engines/sqlite/store` gives it up when a deletion meets a full disk, and takes it again when there is
room. SQLite
needs some to delete: the log grows before the file shrinks. All of this blocks: call it from a thread.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

FILE_NAME: Final = "reserve"
_BYTES: Final = 16 << 20
"""A few thousand pages of SQLite's log, in both of its files: the largest conversation fits."""
_PLENTY: Final = 4
"""It is taken only where so many times its size are free."""
_PART: Final = 1 << 20
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Reserve:
    """A file whose only use is that it can be removed. Processes of one data directory share it."""

    path: Path
    size: int = _BYTES

    def take(self) -> bool:
        """Have it be there, if the disk has plenty of room; whether it is.

        A disk that has none is told of elsewhere.
        """
        with contextlib.suppress(OSError):
            disk = os.statvfs(self.path.parent)
            if self.path.exists() or disk.f_bavail * disk.f_frsize < _PLENTY * self.size:
                return self.path.exists()
            new = self.path.with_name(f".{FILE_NAME}-{os.getpid()}")
            try:
                with os.fdopen(os.open(new, _NEW, 0o600), "wb") as file:
                    for _ in range(self.size // _PART):
                        # Not zeros: some file systems keep those as nothing.
                        file.write(os.urandom(_PART))
                new.rename(self.path)
            finally:
                new.unlink(missing_ok=True)
        return self.path.exists()

    def release(self) -> bool:
        """Give its room to what is deleted now; False where there is none left."""
        try:
            self.path.unlink()
        except OSError:
            return False
        return True
