"""The host's hands in a directory that confined code writes to: nothing in it is believed.

Every step goes by an open directory's descriptor and follows no link; what is
no ordinary file is left alone. All of this but `made` and `removed` blocks: call it from a thread.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import tempfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio.to_thread

from bethink.child_process import ended_if_cancelled, uncancelled

_MOST_DEPTH: Final = 32
"""Directories within directories that are looked into."""
BLOCK_BYTES: Final = 512
"""What `st_blocks` counts."""
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_COPY_BYTES: Final = 1 << 20
_SPARSE_BYTES: Final = 1 << 20
_SPARSE: Final = 64
"""A longer file that takes not even this part of its length on the disk is holes: nobody wrote that."""
_LARGE: Final = "is too large to be given to the user"
_EMPTY: Final = "is almost only empty space, and is not given to the user"

Print = tuple[int, int, int, int]
"""What changes when a file does: its inode, its size, and its two times in nanoseconds."""


@dataclass(frozen=True, slots=True)
class FolderFile:
    """A file that is new or changed; `content` is None where it was not read, and `why` says why."""

    name: str
    size: int
    content: bytes | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class ReadBounds:
    """What is read of files that code wrote: so many files, each and all together at most so long."""

    files: int
    file_bytes: int
    all_bytes: int


def size_of(root: Path | str, most_files: int) -> int | None:
    """Bytes that `root` takes on the disk; None if it has over `most_files` entries, or cannot be counted."""
    total = 0
    try:
        for count, entry in enumerate(_walk(root), 1):
            total += max(entry.status.st_blocks * BLOCK_BYTES, 0)
            if count > most_files:
                return None
    except OSError:
        return None
    return total


def prints_of(root: Path, most_files: int) -> dict[str, Print]:
    """The files in `root` by their path in it, and how they look now.

    The list may be cut: of what is not in it nothing is known (`is_gone`).
    """
    prints: dict[str, Print] = {}
    with contextlib.suppress(OSError):
        for entry in _walk(root, is_deep=True):
            if stat.S_ISREG(entry.status.st_mode):
                prints[entry.path] = _print(entry.status)
            if len(prints) >= most_files:
                break
    return prints


def print_at(root: Path, name: str) -> Print | None:
    """How the file at `name`, a path in `root`, looks now; None if it is no file, or cannot be looked at."""
    with contextlib.suppress(OSError), _folder_of(root, name) as (here, last):
        status = os.stat(last, dir_fd=here, follow_symlinks=False)
        return _print(status) if stat.S_ISREG(status.st_mode) else None
    return None


def is_gone(root: Path, name: str) -> bool:
    """Whether there is surely nothing at `name`, a path in `root`: an error of another kind is no proof."""
    try:
        with _folder_of(root, name) as (here, last):
            os.stat(last, dir_fd=here, follow_symlinks=False)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return False


def changed(
    root: Path, before: Mapping[str, Print], *, most_files: int, bounds: ReadBounds
) -> tuple[list[FolderFile], int]:
    """Files that were not there `before`, or looked otherwise, by name; and how many more there are.

    No more than `bounds` allow is read, or ever in memory.
    """
    now = prints_of(root, most_files)
    # The list may be cut before it comes to what was there.
    now |= {name: look for name in before.keys() - now.keys() if (look := print_at(root, name)) is not None}
    names = sorted(name for name, look in now.items() if before.get(name) != look)
    return read_all(root, names, bounds), max(len(names) - bounds.files, 0)


def read_all(root: Path, names: Sequence[str], bounds: ReadBounds) -> list[FolderFile]:
    """The files of these paths in `root`, as far as `bounds` allow; one that is not there is left out."""
    found: list[FolderFile] = []
    room = bounds.all_bytes
    for name in names[: bounds.files]:
        if (one := read(root, name, min(bounds.file_bytes, room))) is not None:
            found.append(one)
            room -= len(one.content or b"")
    return found


def put(root: Path, name: str, source: Path) -> None:
    """Copy a file into `root` under `name`, a path in it, in the place of what has it.

    Raises:
        OSError: it cannot be read or written.
    """
    *folders, name = name.split("/")
    with contextlib.ExitStack() as stack, source.open("rb") as reading:
        here = stack.enter_context(_opened(root))
        for folder in folders:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700, dir_fd=here)
            here = os.open(folder, _DIRECTORY, dir_fd=here)
            stack.callback(os.close, here)
        temporary = f".{name[:100]}.incoming"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary, dir_fd=here)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(temporary, flags, 0o600, dir_fd=here), "wb") as writing:
            while part := reading.read(_COPY_BYTES):
                writing.write(part)
        os.rename(temporary, name, src_dir_fd=here, dst_dir_fd=here)


def remove(root: Path) -> None:
    """Remove `root` with everything in it, however deep it goes; nothing runs in it any more.

    A tree deeper than Python recurses is brought up: each directory inside is
    moved beside the first ones before it is emptied.
    """
    with contextlib.suppress(FileNotFoundError), contextlib.ExitStack() as stack:
        here = stack.enter_context(_opened(root))
        while names := _emptied(here):
            for name in names:
                _bring_up(name, here)
        root.rmdir()


async def made(prefix: str) -> Path:
    """A new directory among temporary files; cancelled meanwhile, there is none."""

    async def made() -> Path:
        return Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, "", prefix))

    return await ended_if_cancelled(made(), removed)


async def removed(root: Path) -> None:
    """Remove `root` as `remove` does, however often whoever waits is cancelled."""
    await uncancelled(lambda: anyio.to_thread.run_sync(remove, root))


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    status: os.stat_result


def _walk(root: Path | str, *, is_deep: bool = False) -> Iterator[_Entry]:
    """Everything in `root`.

    Raises:
        OSError: something cannot be looked into, or it goes deeper than anybody needs; if it may be so
            (`is_deep`), what lies there is passed over instead.
    """
    with _opened(root) as here:
        yield from _walk_in(here, "", 0, is_deep=is_deep)


def _walk_in(here: int, prefix: str, depth: int, *, is_deep: bool) -> Iterator[_Entry]:
    if depth > _MOST_DEPTH:
        if is_deep:
            return
        raise OSError("directories within directories without end")
    with os.scandir(here) as listing:
        for item in listing:
            try:
                status = item.stat(follow_symlinks=False)
            except OSError:
                continue
            yield _Entry(f"{prefix}{item.name}", status)
            if not stat.S_ISDIR(status.st_mode):
                continue
            try:
                inner = os.open(item.name, _DIRECTORY, dir_fd=here)
            except (FileNotFoundError, NotADirectoryError):
                continue
            except OSError:
                # Its mode may shut us out while the code writes there.
                if is_deep:
                    continue
                raise
            try:
                yield from _walk_in(inner, f"{prefix}{item.name}/", depth + 1, is_deep=is_deep)
            finally:
                os.close(inner)


def _print(status: os.stat_result) -> Print:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def read(root: Path, name: str, most_bytes: int) -> FolderFile | None:
    """The file at `name`, a path in `root`, as it is now; None if it is none any more, or cannot be read."""
    with contextlib.suppress(OSError), _folder_of(root, name) as (here, last):
        with os.fdopen(os.open(last, _FILE, dir_fd=here), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                return None
            shown_name = shown(name)
            if status.st_size > most_bytes:
                return FolderFile(shown_name, status.st_size, None, _LARGE)
            if status.st_size > _SPARSE_BYTES and status.st_blocks * BLOCK_BYTES * _SPARSE < status.st_size:
                return FolderFile(shown_name, status.st_size, None, _EMPTY)
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            return FolderFile(shown_name, len(content), None, _LARGE)
        return FolderFile(shown_name, len(content), content)
    return None


def shown(name: str) -> str:
    """A file's name as text: what of it is no UTF-8 is replaced."""
    return name.encode(errors="surrogateescape").decode(errors="replace")


@contextlib.contextmanager
def _folder_of(root: Path, name: str) -> Generator[tuple[int, str]]:
    """The open directory of a path in `root`, reached without following a link, and the path's last part."""
    *folders, last = name.split("/")
    with contextlib.ExitStack() as stack:
        here = stack.enter_context(_opened(root))
        for folder in folders:
            here = os.open(folder, _DIRECTORY, dir_fd=here)
            stack.callback(os.close, here)
        yield here, last


@contextlib.contextmanager
def _opened(root: Path | str) -> Generator[int]:
    descriptor = os.open(root, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _opened_at(name: str, here: int) -> Generator[int]:
    """A directory of ours whose mode may shut us out."""
    try:
        descriptor = os.open(name, _DIRECTORY, dir_fd=here)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=here)
        descriptor = os.open(name, _DIRECTORY, dir_fd=here)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _bring_up(name: str, here: int) -> None:
    """Remove a directory, what is in it moved beside it first, under names that nobody can have taken."""
    with _opened_at(name, here) as inner:
        for child in _emptied(inner):
            # One that shuts us out cannot be moved either.
            os.chmod(child, 0o700, dir_fd=inner)
            os.rename(child, secrets.token_hex(16), src_dir_fd=inner, dst_dir_fd=here)
    os.rmdir(name, dir_fd=here)


def _emptied(here: int) -> list[str]:
    with os.scandir(here) as listing:
        items = [(item.name, item.is_dir(follow_symlinks=False)) for item in listing]
    for name, is_directory in items:
        if not is_directory:
            os.unlink(name, dir_fd=here)
    return [name for name, is_directory in items if is_directory]
