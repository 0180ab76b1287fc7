"""Where code works: a directory for each conversation, and one that goes with this process.

`interpreters` asks for them. All of this blocks: call it from a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bethink.sandbox.folder import remove

if TYPE_CHECKING:
    from collections.abc import Generator

_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation's directory as one process was given it; `is_new` where there was none before."""

    path: Path
    inode: int
    is_new: bool

    def is_there(self) -> bool:
        """Whether it is still the same: not wiped, nor another process's now."""
        try:
            return self.path.stat().st_ino == self.inode
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class Workplaces:
    """Directories in `root`: `work/OWNER/CONVERSATION` stays, `passing/…` goes with its process."""

    root: Path

    @contextlib.contextmanager
    def opened(self) -> Generator[Path]:
        """A directory of this process; what processes left that are no more is removed."""
        passing = self.root / "passing"
        passing.mkdir(parents=True, exist_ok=True, mode=0o700)
        mine = passing / secrets.token_hex(8)
        mine.mkdir(mode=0o700)
        with (mine / _LOCK).open("w") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            for other in passing.iterdir():
                if other != mine:
                    _remove_unless_held(other)
            yield mine
            remove(mine)

    def of(self, owner: str, conversation: str) -> Path:
        """A conversation's directory; it need not be there."""
        return self.root / "work" / _name(owner) / _name(conversation)

    def spare(self, passing: Path) -> Path:
        """A new, empty directory that a conversation may be given later."""
        spare = passing / f"spare-{secrets.token_hex(8)}"
        spare.mkdir(mode=0o700)
        return spare

    def assign(self, spare: Path, owner: str, conversation: str) -> Place:
        """Make a spare directory, that a process may hold already, a conversation's, with its files."""
        own = self.of(owner, conversation)
        is_new = not own.is_dir()
        own.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not is_new:
            for entry in list(os.scandir(own)):
                Path(entry.path).rename(spare / entry.name)
            own.rmdir()
        spare.rename(own)
        return Place(own, own.stat().st_ino, is_new=is_new)

    def wipe(self, owner: str, conversation: str | None = None) -> None:
        """Remove the directory of a conversation, or all of an owner's."""
        remove(self.of(owner, conversation) if conversation else self.root / "work" / _name(owner))


def _name(text: str) -> str:
    return text if _PLAIN.fullmatch(text) else hashlib.sha256(text.encode()).hexdigest()


def _remove_unless_held(place: Path) -> None:
    with contextlib.suppress(OSError), (place / _LOCK).open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(place)
