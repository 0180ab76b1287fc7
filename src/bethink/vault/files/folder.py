"""The files of one vault: read and written without ever leaving its folder. Blocking: call it in threads.

Every component is opened by the descriptor of the folder before it and no link
is followed (openat(2), `O_NOFOLLOW`), so that nothing that is put in place of a
folder meanwhile leads elsewhere. A file is replaced by renaming a complete one
over it (rename(2)), both flushed to the disk: a power cut leaves the old or the new.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import stat as modes
import time
from collections.abc import Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from bethink.durable_files import replacing, sync
from bethink.errors import BadInput, Conflict, DiskFull, NoSuchPage, StorageError, TooLarge
from bethink.vault.files.paths import fault_of, is_page, normal, twin_key
from bethink.vault.files.records import ASIDE

if TYPE_CHECKING:
    from pathlib import Path


_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_INSIDE: Final = _DIRECTORY | os.O_NOFOLLOW
MARK: Final = ".vault-id"
"""The file of a vault's folder by which it is known again; editors do not show it."""
_TEMPORARY: Final = ".bethink-"
"""How files begin that are being written."""
_STALE_S: Final = 3_600
"""A temporary file of this age is nobody's any more."""


_MOST_BYTES: Final = 1_000_000_000
"""No file that is repaired has more: see `repair`."""
# A pipe without a writer must not keep a reader waiting.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER_MODE: Final = 0o700
_FILE_MODE: Final = 0o600
_UNLINKABLE: Final = {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK}
_LINK: Final = "{path} is a link, and links are not followed: put the file itself into the vault."
CHANGED: Final = "{path} has changed since it was read: read it again and repeat the change."
EXISTS: Final = "{path} exists already: read it, then change it, or take another name."
NO_FOLDER: Final = -1
"""In place of a lock."""
_NO_NAMES: Final = frozenset({"", ".", ".."})


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


def _look(
    descriptor: int, folder: str, found: FileTree, *, deep: bool = True, stale_s: float = _STALE_S
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
        descriptor = os.open(name, _INSIDE, dir_fd=parent)
    except FileNotFoundError:
        return
    except OSError as error:
        found.odd.append(OddFile(folder, f"It cannot be opened: {error.strerror}."))
        return
    try:
        _look(descriptor, folder, found, stale_s=stale_s)
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
    if entry.name.startswith(_TEMPORARY) and entry.name.endswith(".tmp"):
        with suppress(OSError):
            if entry.stat(follow_symlinks=False).st_mtime < time.time() - stale_s:
                os.unlink(entry.name, dir_fd=parent)


def kept_beside(folder: Folder, path: str, version: str) -> str:
    """Where a copy of the file lies, from now on or already.

    Raises:
        Conflict: it is of another version, or not there any more.
    """
    content = folder.read(path, _MOST_BYTES)
    if content is None or version_of(content.body) != version:
        raise Conflict(CHANGED.format(path=path))
    aside = f"{path}{ASIDE}"
    found = folder.read(aside, _MOST_BYTES)
    if found is not None and found.body != content.body:
        aside = f"{aside}-{version[:8]}"
        found = folder.read(aside, _MOST_BYTES)
    if found is None:
        folder.write(aside, content.body, before=None)
    return aside


def brought_back(folder: Folder, path: str, aside: str) -> None:
    """Have the file be only where it was before `kept_beside`.

    Raises:
        Conflict: there is another one.
    """
    kept, now = folder.read(aside, _MOST_BYTES), folder.read(path, _MOST_BYTES)
    if kept is not None and now is not None and kept.body == now.body:
        folder.delete(aside, before=version_of(kept.body))
    else:
        folder.rename(aside, path.rpartition("/")[2])


class FileContent(NamedTuple):
    """What a file holds, and what the system says of it."""

    body: bytes
    stat: Stat


def version_of(body: bytes) -> str:
    """The version of a page with this content."""
    return hashlib.sha256(body).hexdigest()


@dataclass(frozen=True, slots=True)
class Folder:
    """One vault's files. Paths are those of `paths.checked`; `before` is the version that a file must be of.

    Raises:
        NoSuchPage: what is to be moved or removed is not there.
        BadInput: the path is a link, or no ordinary file.
        TooLarge: a file has more than `most` bytes.
        Conflict: a file is of another version, there is something already, or a name differs from another's
            in case or form only; or a folder is not empty.
        StorageError: the system refuses; `DiskFull` if there is no room.
    """

    root: Path

    def exists(self) -> bool:
        """Whether there is a vault."""
        return self.root.is_dir()

    def make(self) -> None:
        """Have the folder be there."""
        with _translated(str(self.root)):
            self.root.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)

    def mark(self, id: str | None = None) -> str | None:
        """The id that the folder has, or gets if one is given; None if it has none."""
        path = self.root / MARK
        with _translated(str(path)):
            if id is not None:
                with replacing(path, self.root / f"{_TEMPORARY}{secrets.token_hex(8)}.tmp") as file:
                    file.write(id.encode())
                sync(self.root)
                return id
            try:
                return path.read_text(errors="replace").strip()
            except FileNotFoundError:
                return None

    def has_most(self, pages: Collection[str]) -> bool:
        """Whether at least half of these pages are here."""
        return 2 * sum(self.stat(path) is not None for path in pages) >= len(pages)

    def try_lock(self, *, make: bool = False) -> int | None:
        """Take the lock that all programs which write here share; None while another has it.

        The lock lies on the folder itself (flock(2)) and leaves nothing in it. It
        ends with `unlock`, or with the process. `NO_FOLDER` if there is no folder,
        in which nobody can write; unless it is to `make`.
        """
        if make:
            self.make()
        elif not self.exists():
            return NO_FOLDER
        with _translated(str(self.root)):
            descriptor = os.open(self.root, _DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            # A file system without locks: the store's own versions still keep writers apart.
            return descriptor
        return descriptor

    def unlock(self, lock: int) -> None:
        """Give the lock back; does not block."""
        if lock != NO_FOLDER:
            os.close(lock)

    def read(self, path: str, most: int) -> FileContent | None:
        """What a page holds; None where there is none."""
        with _translated(path), self._parent(path) as found:
            return None if found is None else _content(*found, path=path, most=most)

    def stat(self, path: str) -> Stat | None:
        """What the system says of a page; None where there is none."""
        with _translated(path), self._parent(path) as found:
            if found is None:
                return None
            parent, name = found
            known = _found(parent, name)
            return known and stat_of(known) if known and modes.S_ISREG(known.st_mode) else None

    def write(self, path: str, body: bytes, *, before: str | None, flush: bool = True) -> Stat:
        """Have the page hold this, if it still is of the version `before`; durable when it returns.

        The file's mode is kept. Folders on its way are made. Without `flush` it is durable with the next
        `flush` of its folder.
        """
        with _translated(path), self._parent(path, make=True) as found:
            assert found is not None  # noqa: S101 - it was made
            parent, name = found
            actual = _actual(parent, name)
            if actual is None:
                _refuse_twin(parent, path, name)
            mode = _FILE_MODE if actual is None else modes.S_IMODE(os.stat(actual, dir_fd=parent).st_mode)
            temporary = f"{_TEMPORARY}{secrets.token_hex(8)}.tmp"
            try:
                written = _written(parent, temporary, body, mode=mode)
                # Last of all: flushing takes its time, in which others may save the same file.
                _check(parent, name, path=path, before=before)
                _placed(parent, temporary, actual or name, path=path, is_new=actual is None)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=parent)
                raise
            if flush:
                os.fsync(parent)
            known = _found(parent, name)
            return written if known is None else stat_of(known).behind(written)

    def flush(self, folders: Iterable[str]) -> None:
        """Have durable what was written in these folders, or removed from them."""
        for folder in folders:
            with _translated(folder), self._parent(f"{folder}/x" if folder else "x") as found:
                if found is not None:
                    os.fsync(found[0])

    def delete(self, path: str, *, before: str, flush: bool = True) -> None:
        """Remove the page, if it still is of the version `before`; without `flush` see `write`."""
        with _translated(path), self._parent(path) as found:
            if found is None:
                raise Conflict(CHANGED.format(path=path))
            parent, name = found
            _check(parent, name, path=path, before=before)
            os.unlink(_actual(parent, name) or name, dir_fd=parent)
            if flush:
                os.fsync(parent)

    def move(self, path: str, to: str) -> Stat:
        """Give the page another path where there is nothing yet; its content is not touched."""
        with _translated(path), self._parent(path) as old, self._parent(to, make=True) as new:
            if old is None or new is None or (actual := _actual(*old)) is None:
                raise NoSuchPage
            if _actual(*new) is not None:
                raise Conflict(EXISTS.format(path=to))
            # The page's own name is no twin: so `jane.md` becomes `Jane.md`.
            _refuse_twin(
                new[0], to, new[1], but=actual if os.path.samestat(*map(os.fstat, (old[0], new[0]))) else None
            )
            os.rename(actual, new[1], src_dir_fd=old[0], dst_dir_fd=new[0])
            os.fsync(new[0])
            os.fsync(old[0])
            return stat_of(os.stat(new[1], dir_fd=new[0], follow_symlinks=False))

    def rename(self, path: str, name: str) -> None:
        """Give a file another name in its folder."""
        with _translated(path), self._parent(path) as found:
            if found is None or (actual := _actual(*found)) is None:
                raise NoSuchPage
            _placed(found[0], actual, name, path=name, is_new=True)
            os.fsync(found[0])

    def make_folder(self, folder: str) -> None:
        """Have a folder be there."""
        with _translated(folder), self._parent(f"{folder}/x", make=True):
            pass

    def remove_folder(self, folder: str) -> None:
        """Remove an empty folder."""
        with _translated(folder), self._parent(folder) as found:
            if found is None or (actual := _actual(*found)) is None:
                raise NoSuchPage(
                    f"The vault has no folder {folder}: list its folders to see which there are."
                )
            try:
                os.rmdir(actual, dir_fd=found[0])
            except OSError as error:
                if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
                    raise
                raise Conflict(
                    f"The folder {folder} is not empty: move or delete what is in it first."
                ) from error
            os.fsync(found[0])

    def walk(self, stale_s: float = _STALE_S) -> FileTree:
        """All pages and folders, without what is hidden; nothing that is a link is entered.

        What a write that was cut short left behind goes, if it is that old; for who holds the lock, at once.
        """
        found = FileTree()
        with _translated(str(self.root)):
            descriptor = os.open(self.root, _DIRECTORY)
            try:
                _look(descriptor, "", found, stale_s=stale_s)
            finally:
                os.close(descriptor)
        return found

    def look(self, folder: str) -> FileTree | None:
        """What is in one folder, without what is below its folders; None where there is none."""
        with _translated(folder), self._parent(f"{folder}/x" if folder else "x") as found:
            if found is None:
                return None
            tree = FileTree()
            _look(found[0], folder, tree, deep=False)
            return tree

    @contextmanager
    def _parent(self, path: str, *, make: bool = False) -> Generator[tuple[int, str] | None]:
        """The descriptor of the folder in which it stands, and its name there; None without such a folder."""
        *folders, name = path.split("/")
        # Whoever calls has checked it; nobody who forgot leaves the vault.
        if not _NO_NAMES.isdisjoint((*folders, name)):
            raise BadInput(f"{path} leads out of the vault.")
        try:
            descriptor = os.open(self.root, _DIRECTORY)
        except FileNotFoundError:
            if make:
                raise
            yield None
            return
        try:
            for place, folder in enumerate(folders):
                inner = _entered(descriptor, folder, path="/".join(folders[: place + 1]), make=make)
                if inner is None:
                    yield None
                    return
                os.close(descriptor)
                descriptor = inner
            yield descriptor, name
        finally:
            os.close(descriptor)


def _entered(parent: int, folder: str, *, path: str, make: bool) -> int | None:
    actual = _actual(parent, folder)
    if actual is None:
        if not make:
            return None
        _refuse_twin(parent, path, folder)
        with suppress(FileExistsError):
            os.mkdir(folder, _FOLDER_MODE, dir_fd=parent)
            os.fsync(parent)
        actual = folder
    try:
        return os.open(actual, _INSIDE, dir_fd=parent)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.ENOTDIR}:
            raise
        known = os.stat(actual, dir_fd=parent, follow_symlinks=False)
        if modes.S_ISLNK(known.st_mode):
            raise BadInput(_LINK.format(path=path)) from error
        if make:
            raise Conflict(f"{path} is a file, and no folder: take another name.") from error
        return None


def _actual(parent: int, name: str) -> str | None:
    """The name under which it stands there: some systems keep other forms of Unicode (UAX 15)."""
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        if name.isascii():
            return None
        return next((entry for entry in os.listdir(parent) if normal(entry) == name), None)
    return name


def _refuse_twin(parent: int, path: str, name: str, *, but: str | None = None) -> None:
    key = twin_key(name)
    for entry in os.listdir(parent):
        if entry not in {name, but} and twin_key(entry) == key:
            beside = "/".join((*path.split("/")[:-1], normal(entry)))
            raise Conflict(
                f"There is {beside} already, and {path} differs from it only in capitals or in how letters "
                "are written, which not every system can tell apart: use that one, or take another name."
            )


def _found(parent: int, name: str) -> os.stat_result | None:
    actual = _actual(parent, name)
    return None if actual is None else os.stat(actual, dir_fd=parent, follow_symlinks=False)


def _content(parent: int, name: str, *, path: str, most: int | None) -> FileContent | None:
    actual = _actual(parent, name)
    if actual is None:
        return None
    try:
        descriptor = os.open(actual, _FILE, dir_fd=parent)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise BadInput(_LINK.format(path=path)) from error
        raise
    found = os.fstat(descriptor)
    if not modes.S_ISREG(found.st_mode):
        os.close(descriptor)
        raise BadInput(f"{path} is no ordinary file.")
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        if most is not None and found.st_size > most:
            raise TooLarge(f"{path} has {found.st_size:,} bytes; a page may have {most:,}.")
        body = file.readall() or b""
        # What was written while it was read shows in the next look: the older time is kept.
        return FileContent(body, Stat(len(body), *stat_of(found)[1:]))


def _check(parent: int, name: str, *, path: str, before: str | None) -> None:
    """Refuse a file that is not of the version that is expected."""
    now = _content(parent, name, path=path, most=None)
    if now is None and before is not None:
        raise Conflict(CHANGED.format(path=path))
    if now is not None and version_of(now.body) != before:
        raise Conflict((EXISTS if before is None else CHANGED).format(path=path))


def _written(parent: int, name: str, body: bytes, *, mode: int) -> Stat:
    descriptor = os.open(name, _NEW, _FILE_MODE, dir_fd=parent)
    with os.fdopen(descriptor, "wb") as file:
        file.write(body)
        file.flush()
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
        return stat_of(os.fstat(descriptor))


def _placed(parent: int, temporary: str, name: str, *, path: str, is_new: bool) -> None:
    """Put the complete file in its place; never over one that appeared meanwhile."""
    if is_new:
        try:
            os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError as error:
            raise Conflict(EXISTS.format(path=path)) from error
        except OSError as error:
            if error.errno not in _UNLINKABLE:
                raise
        else:
            os.unlink(temporary, dir_fd=parent)
            return
    os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)


@contextmanager
def _translated(path: str) -> Generator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise DiskFull from error
        if error.errno == errno.ENAMETOOLONG:
            raise BadInput(f"{path}: the file system takes no name of this length.") from error
        raise StorageError(f"{path} in the vault cannot be used: {error.strerror}.") from error
