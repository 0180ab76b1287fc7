"""Exports that were uploaded and wait for a decision: each in a folder of its own, for nobody else to read.

They hold all that somebody said elsewhere, so they do not stay: they go with
the decision, after a day, and when something is forgotten.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from bethink.files import fit

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

KEPT_S = 86_400
"""A day."""


@dataclass(frozen=True, slots=True)
class UploadFolder:
    """Uploads below a folder. Every call looks at the disk: make it in a thread."""

    root: Path

    def create(self, owner: str, id: str, name: str) -> IO[bytes]:
        """A new file to be filled.

        Raises:
            OSError: it cannot be made.
        """
        folder = self._home(owner) / id
        for one in (self.root, folder.parent, folder):
            one.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / fit(name)
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")

    def path(self, owner: str, id: str) -> Path | None:
        """The file of an import; None where there is none any more."""
        folder = self._home(owner) / id
        return next(iter(folder.iterdir()), None) if folder.is_dir() else None

    def remove(self, owner: str, id: str) -> None:
        """Remove it."""
        shutil.rmtree(self._home(owner) / id, ignore_errors=True)

    def remove_all(self, owner: str, but: Collection[str] = ()) -> None:
        """Remove all of an owner's, but those that are read just now."""
        home = self._home(owner)
        for folder in home.iterdir() if home.is_dir() else ():
            if folder.name not in but:
                shutil.rmtree(folder, ignore_errors=True)

    def expire(self) -> None:
        """Remove what has waited for more than a day."""
        for home in self.root.iterdir() if self.root.is_dir() else ():
            for folder in home.iterdir() if home.is_dir() else ():
                if time.time() - folder.stat().st_mtime > KEPT_S:
                    shutil.rmtree(folder, ignore_errors=True)

    def _home(self, owner: str) -> Path:
        # An owner's name may be anything; a directory's may not.
        return self.root / hashlib.sha256(owner.encode()).hexdigest()[:32]
