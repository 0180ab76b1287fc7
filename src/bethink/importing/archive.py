"""An export as named members that can be read: a zip, a zip of zips, a folder, or one file.

Whatever came over the network is read here, so nothing is believed: names are
taken apart, what a member unpacks to is counted while it is read, and links,
encrypted members and members of one name are left where they are and told.
Nothing is ever written by a member's name. A zip's directory is measured before it
is read, since a bomb claims little and unpacks to much.
"""

from __future__ import annotations

import os
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import IO, Protocol

import msgspec

from bethink.clock import to_us
from bethink.errors import BadInput, TooLarge
from bethink.importing.items import Skipped, mapping

MAX_TOTAL = 20_000_000_000
"""Bytes that an export may unpack to, all readings together."""
MAX_RATIO = 250
"""Deflate reaches a thousand for one byte repeated; an export's JSON stays below thirty."""
FREE = 50_000_000
"""So much may come out before the ratio counts."""
DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,
    OverflowError,
    OSError,
)
"""What reading a damaged or odd zip may raise."""
_MAX_DIRECTORY = 32_000_000
_END, _END_BYTES, _LONGEST_COMMENT = b"PK\x05\x06", 22, 65_535
_END64, _LOCATOR64, _LOCATOR64_BYTES = b"PK\x06\x06", b"PK\x06\x07", 20
_END64_BYTES = 56
_UNSAID16, _UNSAID32 = 0xFFFF, 0xFFFFFFFF
MAX_MEMBERS = 100_000
"""Of an export; a folder or zip with more is no export of notes."""
_NESTED = 2
"""Zips in zips, as Notion makes them."""
_MAX_NAME_BYTES = 1_000
CONVERSATIONS = r"conversations(-\d+)?\.json"
"""What the files are called that hold conversations."""
_DRIVE = re.compile(r"[A-Za-z]:")
_ENCRYPTED = 0x1
_UNIX = 16
"""Bits before the file's mode in a zip's attributes."""
_JUNK = re.compile(r"(^|/)(__MACOSX/|\._|\.DS_Store$|Thumbs\.db$|desktop\.ini$)")
_FIRST_YEAR = 1980
"""What zips say that have no date."""


class Readable(Protocol):
    """What bytes come from."""

    def read(self, size: int = -1, /) -> bytes:
        """At most `size` bytes; none at the end."""
        ...


@dataclass(slots=True)
class _UnpackBudget:
    """What has come out of an archive so far, and how much may; `packed` is the archive's own size."""

    packed: int = 0
    out: int = 0

    def take(self, size: int) -> None:
        self.out += size
        if self.out > MAX_TOTAL or (self.packed and self.out > FREE and self.out > MAX_RATIO * self.packed):
            raise TooLarge(
                f"This archive unpacks to more than {self.out // 1_000_000:,} MB, which no export does: "
                "nothing more of it was read. If it is one, unpack it yourself and import the folder."
            )


@dataclass(slots=True)
class _CountedReader:
    """A file whose bytes are counted as they are read."""

    file: Readable
    budget: _UnpackBudget

    def read(self, size: int = -1) -> bytes:
        part = self.file.read(size if size >= 0 else 1 << 16)
        self.budget.take(len(part))
        return part


@dataclass(frozen=True, slots=True)
class _Member:
    """One file of the export: its size in bytes as the archive claims, its last change, how it is read."""

    size: int
    changed: int | None
    opener: Callable[[], AbstractContextManager[Readable]]


@dataclass(slots=True)
class Archive:
    """An export. `members` go by their names, relative, with slashes; `left` what could not be one."""

    name: str
    members: dict[str, _Member] = field(default_factory=dict[str, _Member])
    left: list[Skipped] = field(default_factory=list[Skipped])
    budget: _UnpackBudget = field(default_factory=_UnpackBudget)
    _wanted: dict[str, list[str]] = field(default_factory=dict[str, list[str]], repr=False)

    @property
    def size(self) -> int:
        """What all members together claim to be, in bytes."""
        return sum(member.size for member in self.members.values())

    def named(self, pattern: str) -> list[str]:
        """The members of which the last parts of the name fit a pattern, in order."""
        if pattern not in self._wanted:
            regex = re.compile(rf"(?:.*/)?{pattern}", re.IGNORECASE)
            self._wanted[pattern] = sorted(name for name in self.members if regex.fullmatch(name))
        return self._wanted[pattern]

    @property
    def conversation_files(self) -> list[str]:
        """The files of conversations, in order; any one JSON file that came alone, whatever it is called."""
        alone = [name for name in self.members if len(self.members) == 1 and name.lower().endswith(".json")]
        return self.named(CONVERSATIONS) or alone

    @contextmanager
    def open(self, name: str) -> Generator[Readable]:
        """A member's bytes, counted.

        Raises:
            TooLarge: it unpacks to more than any export would.
            BadInput: it is damaged.
        """
        try:
            with self.members[name].opener() as file:
                yield _CountedReader(file, self.budget)
        except DAMAGED as error:
            raise BadInput(unreadable(name, error)) from error

    def content(self, name: str, limit: int) -> bytes | None:
        """A member whole; None if it is longer than `limit` bytes.

        Raises:
            TooLarge: it unpacks to more than any export would.
            BadInput: it is damaged.
        """
        with self.open(name) as file:
            parts: list[bytes] = []
            size = 0
            while part := file.read(1 << 16):
                size += len(part)
                if size > limit:
                    return None
                parts.append(part)
        return b"".join(parts)

    def small_json(self, name: str, limit: int) -> dict[str, object]:
        """The object in a member; empty if it is no object, damaged, or longer than `limit` bytes.

        Raises:
            TooLarge: the archive unpacks to more than any export would.
        """
        try:
            return mapping(msgspec.json.decode(self.content(name, limit) or b"{}"))
        except TooLarge:
            raise
        except (BadInput, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {}

    def leave(self, name: str, why: str) -> None:
        """Tell that a member is left."""
        self.left.append(Skipped(name, why))

    def add(self, name: str, member: _Member) -> None:
        """Take in a member, unless its name is taken or no name for one.

        Raises:
            BadInput: there are too many.
        """
        if _JUNK.search(name):
            return
        safe = safe_name(name)
        if safe is None:
            self.leave(name[:80], "Its name leads out of the archive or is none, so it was not looked at.")
        elif safe in self.members:
            self.leave(safe, "The archive contains two files of this name; the first was used.")
        elif len(self.members) >= MAX_MEMBERS:
            raise BadInput(f"This holds more than {MAX_MEMBERS:,} files: split it, or import a part of it.")
        else:
            self.members[safe] = member


def safe_name(name: str) -> str | None:
    """A member's name as a relative path; None for one that leads elsewhere."""
    path = name.replace("\\", "/")
    if "\0" in path or len(path.encode("utf-8", "replace")) > _MAX_NAME_BYTES:
        return None
    if path.startswith("/") or _DRIVE.match(path):
        return None
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if not parts or ".." in parts:
        return None
    return "/".join(parts)


def unreadable(name: str, error: Exception) -> str:
    """Why a member cannot be read, as a sentence."""
    if isinstance(error, NotImplementedError):
        return f"{name} is packed in a way that is not known here: unpack the archive, and import the folder."
    if isinstance(error, OSError) and error.strerror:
        return f"{name} cannot be read: {error.strerror}."
    return f"{name} is damaged: the archive breaks off or was changed. Download it again."


@contextmanager
def opened(path: Path) -> Generator[Archive]:
    """The export at a path, open for as long as the block lasts.

    Raises:
        BadInput: there is nothing at the path, or it cannot be read as what it seems to be.
        TooLarge: it is no export, but a bomb.
    """
    archive = Archive(path.name)
    with ExitStack() as stack:
        try:
            mode = path.stat().st_mode
            if stat.S_ISDIR(mode):
                _add_folder(archive, path)
            elif not stat.S_ISREG(mode):
                raise BadInput(f"{path.name} is neither a file nor a folder.")
            elif zipfile.is_zipfile(path):
                archive.budget.packed = path.stat().st_size
                _add_zip(archive, stack, stack.enter_context(path.open("rb")))
            else:
                archive.add(path.name, _of_file(path))
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror or 'it is damaged'}.") from error
        yield archive


def _of_file(path: Path) -> _Member:
    found = path.stat()
    # A link that was put there since the folder was listed is not followed.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
    changed = int(found.st_mtime * 1_000_000)
    return _Member(found.st_size, changed, lambda: os.fdopen(os.open(path, flags), "rb"))


def _add_folder(archive: Archive, root: Path) -> None:
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders):
            if (Path(folder) / name).is_symlink():
                archive.leave(str((Path(folder) / name).relative_to(root)), "A link: it was not followed.")
        for name in sorted(files):
            path = Path(folder) / name
            shown = path.relative_to(root).as_posix().encode("utf-8", "replace").decode()
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                archive.add(shown, _of_file(path))
            else:
                archive.leave(shown, "A link or no file: it was not followed.")


def _add_zip(archive: Archive, stack: ExitStack, file: IO[bytes], *, depth: int = 0) -> None:
    packed = stack.enter_context(_opened_zip(file, archive.name))
    for info in packed.infolist():
        # A name may be empty, of which `is_dir` would take the last character.
        if info.filename.endswith("/") or _JUNK.search(info.filename):
            continue
        mode = info.external_attr >> _UNIX
        if stat.S_ISLNK(mode):
            archive.leave(info.filename[:80], "A link: it was not followed.")
        elif info.flag_bits & _ENCRYPTED:
            archive.leave(info.filename[:80], "Encrypted: unpack the archive with its password first.")
        elif info.filename.lower().endswith(".zip") and depth < _NESTED:
            _add_nested(archive, stack, packed, info=info, depth=depth)
        else:
            archive.add(info.filename, _Member(info.file_size, _zipped(info), partial(packed.open, info)))


def _add_nested(
    archive: Archive, stack: ExitStack, packed: zipfile.ZipFile, *, info: zipfile.ZipInfo, depth: int
) -> None:
    """A zip within a zip, unpacked beside: reading one in place begins anew at every step back."""
    spooled = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
    try:
        with packed.open(info) as inner:
            counted = _CountedReader(inner, archive.budget)
            while part := counted.read(1 << 16):
                spooled.write(part)
        _add_zip(archive, stack, spooled, depth=depth + 1)
    except DAMAGED as error:
        archive.leave(info.filename[:80], unreadable("This archive within the archive", error))


def _zipped(info: zipfile.ZipInfo) -> int | None:
    """When a member was changed, by a clock whose zone nobody wrote down."""
    try:
        moment = datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None
    return to_us(moment) if moment.year > _FIRST_YEAR else None


@contextmanager
def _opened_zip(file: IO[bytes], name: str) -> Generator[zipfile.ZipFile]:
    """A zip whose directory is of a bearable size."""
    try:
        count, directory = _directory(file)
    except (struct.error, OSError, ValueError):
        # It names a place that no file has: whoever reads the archive finds that, too.
        count, directory = 0, 0
    if count > MAX_MEMBERS or directory > _MAX_DIRECTORY:
        raise BadInput(f"{name} holds more than {MAX_MEMBERS:,} files: split it, or import a part of it.")
    file.seek(0)
    try:
        packed = zipfile.ZipFile(file)
    except (*DAMAGED, ValueError) as error:
        raise BadInput(
            f"{name} is not a complete zip: it ends early, or was changed. Download it again."
        ) from error
    with packed:
        yield packed


def _directory(file: IO[bytes]) -> tuple[int, int]:
    """How many members the archive says it has, and its directory's bytes (APPNOTE.TXT 4.3.14 and 4.3.16)."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - _LONGEST_COMMENT - _LOCATOR64_BYTES))
    tail = file.read()
    place = tail.rfind(_END)
    if place < 0:
        return 0, 0
    count, directory = struct.unpack("<HI", tail[place + 10 : place + 16])
    locator = tail[max(0, place - _LOCATOR64_BYTES) : place]
    if (count == _UNSAID16 or directory == _UNSAID32) and locator.startswith(_LOCATOR64):
        (offset,) = struct.unpack("<Q", locator[8:16])
        file.seek(offset)
        end = file.read(_END64_BYTES)
        if end.startswith(_END64):
            count, directory = struct.unpack("<QQ", end[32:48])
    return count, directory
