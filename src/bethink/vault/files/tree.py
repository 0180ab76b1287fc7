"""All the files of a vault, seen without following a link. Blocking: `folder` calls it."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from bethink.vault.files.paths import fault_of, is_page, normal

if TYPE_CHECKING:
    from pathlib import Path

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
INSIDE: Final = DIRECTORY | os.O_NOFOLLOW
TEMPORARY: Final = ".bethink-"
"""How files begin that are being written."""
STALE_S: Final = 3_600
"""A temporary file of this age is nobody's any more."""


class Stat(NamedTuple):
    """What tells that a file changed: its size, its time in ns, and which file it is.

    `ctime` is when anything of it changed, in ns, which no program can put back as it can `mtime`
    (inode(7)); 0 where it is not known.
    """

    size: int
    mtime: int
    inode: int
    ctime: int = 0

    def is_other(self, than: Stat) -> bool:
        """Whether the file is not the one that it was, or may hold something else."""
        if self[:3] != than[:3]:
            return True
        return bool(self.ctime and than.ctime and self.ctime != than.ctime)

    def behind(self, ours: Stat) -> Stat:
        """This one, seen behind a change of our own, if nobody else changed the file since it was `ours`."""
        return self if self[:3] == ours[:3] else ours


class OddFile(NamedTuple):
    """What can be neither page nor folder, and why; a link's own size and time."""

    path: str
    why: str
    size: int = 0
    mtime: int = 0


@dataclass(slots=True)
class FileTree:
    """All there is: pages by their paths, folders, and what cannot be a page, with the reason."""

    pages: dict[str, Stat] = field(default_factory=dict[str, Stat])
    folders: list[str] = field(default_factory=list[str])
    odd: list[OddFile] = field(default_factory=list[OddFile])


def stat_of(found: os.stat_result) -> Stat:
    """What of it tells that the file changed."""
    return Stat(found.st_size, found.st_mtime_ns, found.st_ino, found.st_ctime_ns)


def walked(root: Path, *, stale_s: float = STALE_S) -> FileTree:
    """All pages and folders, without what is hidden; nothing that is a link is entered.

    What a write that was cut short left behind goes, where it is older than `stale_s` seconds.
    """
    found = FileTree()
    descriptor = os.open(root, DIRECTORY)
    try:
        look(descriptor, "", found, stale_s=stale_s)
    finally:
        os.close(descriptor)
    return found


def look(
    descriptor: int, folder: str, found: FileTree, *, deep: bool = True, stale_s: float = STALE_S
) -> None:
    """Take in what is in one opened folder and, with `deep`, in those below it."""
    inner: list[tuple[str, str]] = []
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                _sweep(descriptor, entry, stale_s)
                continue
            path = normal(f"{folder}/{entry.name}" if folder else entry.name)
            is_folder = entry.is_dir(follow_symlinks=False)
            if not is_folder and not is_page(entry.name) and not (entry.is_symlink() and entry.is_dir()):
                continue
            if (fault := _fault(entry, path, found)) is not None:
                shown = path.encode(errors="replace").decode()
                with suppress(FileNotFoundError):
                    stat = stat_of(entry.stat(follow_symlinks=False))
                    found.odd.append(OddFile(shown, fault, stat.size, stat.mtime))
            elif is_folder:
                found.folders.append(path)
                inner.append((entry.name, path))
            else:
                with suppress(FileNotFoundError):
                    found.pages[path] = stat_of(entry.stat(follow_symlinks=False))
    # One after the other: folders may be more than may be open at once.
    for name, path in inner if deep else ():
        _look_inside(descriptor, name, path, found=found, stale_s=stale_s)


def _look_inside(parent: int, name: str, folder: str, *, found: FileTree, stale_s: float) -> None:
    try:
        descriptor = os.open(name, INSIDE, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError as error:
        found.odd.append(OddFile(folder, f"It cannot be opened: {error.strerror}."))
        return
    try:
        look(descriptor, folder, found, stale_s=stale_s)
    finally:
        os.close(descriptor)


def _fault(entry: os.DirEntry[str], path: str, walked: FileTree) -> str | None:
    """Why an entry can be neither page nor folder."""
    if entry.is_symlink():
        return "It is a link, and links are not followed."
    if not entry.is_dir(follow_symlinks=False):
        if not entry.is_file(follow_symlinks=False):
            return "It is no ordinary file."
        if path in walked.pages:
            return "Another file has the same name in another form of Unicode."
    return fault_of(path)


def _sweep(parent: int, entry: os.DirEntry[str], stale_s: float) -> None:
    """Remove what a write that was cut short left behind."""
    if entry.name.startswith(TEMPORARY) and entry.name.endswith(".tmp"):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - stale_s:
                os.unlink(entry.name, dir_fd=parent)
