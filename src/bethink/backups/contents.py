"""What is in a backup, taken from a home at work and written to a new one. All functions block.

The order makes it one state. Contents of files are taken before the database, so that none is deleted that it
still names, and again after it; pages after it, since a page's file is its truth and the database follows.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import anyio.from_thread

from bethink import __version__
from bethink.backups.copying import FilesFolder, copy_contents
from bethink.backups.repository import ArchiveHeader, Contents, FileEntry, translating
from bethink.blobs.bucket import Bucket, BucketObject, is_content
from bethink.documents.work_folders import clear_left_over, work_folder
from bethink.durable_files import sync
from bethink.engines.sqlite.schema import FILE_NAME
from bethink.engines.sqlite.snapshot import DatabaseState, copy_database, state_of
from bethink.errors import BadInput, CorruptDatabase, StorageError
from bethink.sealing import FILE as SEALED

if TYPE_CHECKING:
    from bethink.backups.repository import Archive, Keys, Reason, Repository

_FILES: Final = "files"
_VAULT: Final = "vault"
WORK: Final = "unpacking"
FAILED_NAME: Final = f"{FILE_NAME}.failed"
"""Where a database goes whose upgrade failed, if it was not as before."""
_LEFT_OUT: Final = frozenset(
    {
        WORK,
        "backups",
        "bus.sqlite3",
        "bus.sqlite3-shm",
        "bus.sqlite3-wal",
        "code",
        "file-copies",
        "imports",
        "models",
        "processes",
        "reserve",
        "served-at.json",
        "vault-search",
        *(f"{name}{end}" for name in (FILE_NAME, FAILED_NAME) for end in ("", "-wal", "-shm", "-journal")),
    }
)
"""What a running Bethink makes again, and the database, of which a copy is taken instead."""
_HALF: Final = re.compile(rf"{_FILES}/.*\.part|[^/]*\.lock")
"""Contents that are being written, and locks."""
_CACHE: Final = re.compile(r"mcp_servers/[^/]+/(?:tmp|\.npm|\.cache|\.local/share/uv)")
"""What programs in the sandbox download again."""
_PART_BYTES: Final = 256 << 10
"""A multiple of a page of the database: what did not change in it is the same part again."""
Deliver: TypeAlias = "Callable[[Path, Callable[[], None]], None]"
_Found: TypeAlias = "tuple[str, Path, os.stat_result]"
_SETTLED_NS: Final = 2_000_000_000
"""A file that changed so shortly before a backup may have changed again within the clock's grain."""


@dataclass(frozen=True, slots=True)
class BackupHome:
    """What is backed up: a data directory, and the folder of pages if that lies outside of it.

    If records are in a server's database, `database` has the file in a folder hold what that holds now.
    Contents of files are in the `bucket`, too, or `elsewhere` and left out.
    """

    data_dir: Path
    vault: Path | None = None
    bucket: Bucket | None = None
    elsewhere: str | None = None
    database: Callable[[Path], None] | None = None


@dataclass(frozen=True, slots=True)
class _Walk:
    """All files and folders of a home, as (path with slashes, place, state) in order.

    The folder of backups is `spared`; paths of what cannot be read, or must not be followed, are `unread`.
    """

    home: BackupHome
    spared: Path
    unread: list[str] = field(default_factory=list[str])

    def all(self) -> Iterator[_Found]:
        """Everything but the database."""
        for entry in self._sorted(self.home.data_dir, ""):
            if entry.name in _LEFT_OUT or entry.name.startswith(f".{FILE_NAME}"):
                continue
            # A folder of the data directory may be a link to where there is room.
            if entry.name != _VAULT or self.home.vault is None:
                yield from self.below(Path(entry.path), entry.name)
        if self.home.vault is not None and self.home.vault.is_dir():
            yield from self.below(self.home.vault, _VAULT)

    def below(self, place: Path, path: str) -> Iterator[_Found]:
        """A file, or a folder and what is in it."""
        try:
            state = place.stat()
        except OSError:
            return
        if stat.S_ISREG(state.st_mode) and _HALF.fullmatch(path) is None:
            yield path, place, state
        if not stat.S_ISDIR(state.st_mode) or place.resolve() == self.spared:
            return
        yield path, place, state
        for entry in self._sorted(place, f"{path}/"):
            if _CACHE.fullmatch(f"{path}/{entry.name}"):
                continue
            if entry.is_symlink():
                self.unread.append(f"{path}/{entry.name}")
            else:
                yield from self.below(Path(entry.path), f"{path}/{entry.name}")

    def _sorted(self, place: Path, path: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(place) as entries:
                found = sorted(entries, key=lambda one: one.name)
        except OSError:
            self.unread.append(path)
            return []
        self.unread.extend(_printable(f"{path}{one.name}") for one in found if not _is_text(one.name))
        return [one for one in found if _is_text(one.name)]


def _is_text(name: str) -> bool:
    return _printable(name) == name


def _printable(name: str) -> str:
    return name.encode(errors="replace").decode()


@dataclass(slots=True)
class _Taking:
    """One backup while it is made."""

    home: BackupHome
    repository: Repository
    keys: Keys | None
    earlier: Archive | None
    before: Mapping[str, FileEntry]
    settled_ns: int
    walk: _Walk = field(init=False)
    files: dict[str, FileEntry] = field(default_factory=dict[str, FileEntry])
    folders: list[str] = field(default_factory=list[str])

    def __post_init__(self) -> None:
        self.walk = _Walk(self.home, self.repository.root.resolve())

    def take_blobs(self) -> None:
        """What files hold; what becomes of one later is taken once more."""
        for path, place, state in _Walk(self.home, self.walk.spared).below(
            self.home.data_dir / _FILES, _FILES
        ):
            if stat.S_ISREG(state.st_mode):
                self._take(path, place, state)
        self._take_bucket()

    def _take_bucket(self) -> None:
        """What files hold in S3; behind the directory, from which they may be on their way there."""
        if self.home.bucket is None:
            return
        for one in self.home.bucket.objects():
            _check()
            path = f"{_FILES}/{one.key}"
            if not is_content(one.key):
                self.walk.unread.append(_printable(path))
                continue
            taken = self.files.get(path)
            if taken is not None and taken.mark == one.mark:
                continue
            known = self.before.get(path)
            if known is not None and known.mark == one.mark and self.repository.has(known.parts):
                self.files[path] = known
                continue
            with suppress(FileNotFoundError):  # removed meanwhile
                self.files[path] = self._taken_object(self.home.bucket, one, path)

    def _taken_object(self, bucket: Bucket, one: BucketObject, path: str) -> FileEntry:
        parts: list[str] = []
        size, rest = 0, b""
        for content in bucket.read(one.key, _PART_BYTES):
            _check()
            rest += content
            size += len(content)
            while len(rest) >= _PART_BYTES:
                parts.append(self.repository.put(rest[:_PART_BYTES], self.keys))
                rest = rest[_PART_BYTES:]
        if rest:
            parts.append(self.repository.put(rest, self.keys))
        return FileEntry(
            path=path, mode=0o600, changed_ns=one.changed_ns, size=size, parts=tuple(parts), mark=one.mark
        )

    def take_all(self) -> None:
        """Everything but the database."""
        for path, place, state in self.walk.all():
            if stat.S_ISDIR(state.st_mode):
                self.folders.append(path)
            elif path not in self.files or not path.startswith(f"{_FILES}/"):
                self._take(path, place, state)
        self._take_bucket()

    def take_database(self) -> DatabaseState:
        """The database as it is at one moment.

        Raises:
            StorageError: it is damaged, or cannot be read.
        """
        with translating(self.home.data_dir), work_folder(self.home.data_dir / WORK) as scratch:
            copy = scratch / FILE_NAME
            if self.home.database is not None:
                self._begin_as_before(copy)
                self.home.database(scratch)
            elif not copy_database(self.home.data_dir / FILE_NAME, copy, _check):
                raise StorageError(f"There is no database in {self.home.data_dir}: nothing to back up.")
            found = state_of(copy)
            self._take(FILE_NAME, copy, copy.stat())
        return found

    def _begin_as_before(self, copy: Path) -> None:
        """Have the file be that of the backup before, so that what did not change is the same part again."""
        file = self.before.get(FILE_NAME)
        if self.earlier is None or file is None:
            return
        try:
            _write_file(self.earlier, file, copy.parent)
            state_of(copy)
        except StorageError:
            copy.unlink(missing_ok=True)

    def _take(self, path: str, place: Path, state: os.stat_result) -> None:
        _check()
        known = self.before.get(path)
        is_same = known and (known.size, known.changed_ns) == (state.st_size, state.st_mtime_ns)
        if known and is_same and known.changed_ns < self.settled_ns and self.repository.has(known.parts):
            self.files[path] = known
            return
        parts: list[str] = []
        size = 0
        try:
            with place.open("rb", buffering=0) as file:
                while content := _read(file.read):
                    _check()
                    size += len(content)
                    parts.append(self.repository.put(content, self.keys))
        except FileNotFoundError:
            return
        except OSError:
            self.walk.unread.append(path)
            return
        mode = stat.S_IMODE(state.st_mode)
        self.files[path] = FileEntry(
            path=path, mode=mode, changed_ns=state.st_mtime_ns, size=size, parts=tuple(parts)
        )


def _check() -> None:
    """End the work if whoever waits for it was cancelled."""
    with suppress(RuntimeError):  # nobody waits on a loop
        anyio.from_thread.check_cancelled()


def _read(read: Callable[[int], bytes | None]) -> bytes:
    """The next part of a file: as long as all others, unless the file ends."""
    content = b""
    while len(content) < _PART_BYTES and (more := read(_PART_BYTES - len(content))):
        content += more
    return content


def take(
    home: BackupHome,
    repository: Repository,
    *,
    keys: Keys | None,
    before: Archive | None,
    reason: Reason,
    at: int,
) -> ArchiveHeader:
    """Back up everything; durable when it returns. Parts that are there already are not written again.

    What is as it was in the archive `before` is not even read again.

    Raises:
        StorageError: something cannot be read or written; no archive is left.
    """
    known = {file.path: file for file in before.contents.files} if before else {}
    settled_ns = before.header.at * 1000 - _SETTLED_NS if before else 0
    taking = _Taking(home, repository, keys, before, known, settled_ns)
    taking.take_blobs()
    state = taking.take_database()
    taking.take_all()
    files = tuple(taking.files[path] for path in sorted(taking.files))
    header = ArchiveHeader(
        id=repository.new_id(at),
        at=at,
        reason=reason,
        version=__version__,
        schema=state.schema,
        files=len(files),
        bytes=sum(file.size for file in files),
        salt=keys.salt.hex() if keys else None,
    )
    contents = Contents(
        files=files,
        folders=tuple(taking.folders),
        records=state.records,
        vault=str(home.vault) if home.vault else None,
        unread=tuple(sorted(set(taking.walk.unread))),
        elsewhere=home.elsewhere,
    )
    repository.write(header, contents, keys)
    return header


def verify(archive: Archive, scratch: Path) -> None:
    """See that everything could be restored: every part is read, and the database written and counted.

    Raises:
        StorageError: the archive is damaged, or the scratch directory cannot be used.
    """
    for file in archive.contents.files:
        if file.path == FILE_NAME:
            _write_file(archive, file, scratch)
        else:
            _check_size(archive, file, sum(len(part) for part in _parts(archive, file)))
    _count(archive, scratch)


def _parts(archive: Archive, file: FileEntry) -> Iterator[bytes]:
    for part in archive.parts(file):
        _check()
        yield part


def _check_size(archive: Archive, file: FileEntry, size: int) -> None:
    if size != file.size:
        raise archive.damaged(f"{file.path} has {size:,} bytes instead of {file.size:,}")


def _count(archive: Archive, folder: Path) -> None:
    try:
        found = state_of(folder / FILE_NAME)
    except CorruptDatabase as error:
        raise archive.damaged(error.message.rstrip(".")) from error
    for name, count in archive.contents.records.items():
        if (there := found.records.get(name, 0)) != count:
            raise archive.damaged(f"{name} has {there:,} records instead of {count:,}")


def _write_file(archive: Archive, file: FileEntry, folder: Path) -> None:
    target = _inside(archive, folder, file.path)
    with translating(folder):
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as written:
            size = sum(written.write(part) for part in _parts(archive, file))
            written.flush()
            os.fsync(written.fileno())
        target.chmod(file.mode)
        os.utime(target, ns=(file.changed_ns, file.changed_ns))
    _check_size(archive, file, size)


def _inside(archive: Archive, folder: Path, path: str) -> Path:
    """The place of a path, which never leads out of the folder, whoever wrote the archive."""
    steps = path.split("/")
    if path.startswith("/") or any(step in {"", ".", ".."} or "\0" in step for step in steps):
        raise archive.damaged(f"{path!r} is no path inside of a data directory")
    return folder.joinpath(*steps)


def restore(
    archive: Archive, data_dir: Path, deliver: Deliver | None = None, *, bucket: Bucket | None = None
) -> None:
    """Write everything to a new data directory, which is there as a whole or not at all.

    With `deliver` the database does not go there: that is called with the folder that has its file, and calls
    in turn what puts the directory in its place, last. Contents of files go to the `bucket` before.

    Raises:
        BadInput: there is something in it already, or the bucket has other contents under the same names.
        StorageError: the archive is damaged, or the directory cannot be written.
    """
    target = data_dir.absolute()
    with translating(target):
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise BadInput(f"{target} is not empty: move it away, or restore into another directory.")
        target.parent.mkdir(parents=True, exist_ok=True)
        # Beside it: one step makes the one the other.
        below = target.with_name(f".{target.name}.restoring")
        clear_left_over(below)
        with work_folder(below) as staging, work_folder(below) as apart:
            database = staging if deliver is None else apart
            _write_all(archive, staging, database)
            if bucket is not None and (staging / _FILES).is_dir():
                copy_contents(FilesFolder(staging / _FILES), bucket, check=_check, tell=_silent)
                shutil.rmtree(staging / _FILES)

            def put() -> None:
                staging.rename(target)
                sync(target.parent)

            if deliver is None:
                put()
            else:
                deliver(database, put)
        with suppress(OSError):
            below.rmdir()


def _silent(done: int, total: int) -> None:
    del done, total


def put_back(archive: Archive, data_dir: Path) -> bool:
    """Have a directory's database be that of an archive, if it is another one; whether it was.

    The other one stays beside it as `FAILED_NAME`. Nobody may use the directory.

    Raises:
        StorageError: the archive is damaged, or the directory cannot be written.
    """
    path = data_dir / FILE_NAME
    with suppress(StorageError):
        found = state_of(path)
        if (found.schema, found.records) == (archive.header.schema, archive.contents.records):
            return False
    (file,) = (one for one in archive.contents.files if one.path == FILE_NAME)
    with translating(data_dir), work_folder(data_dir / WORK) as scratch:
        _write_file(archive, file, scratch)
        _count(archive, scratch)
        for end in ("-shm", "-wal"):
            with suppress(FileNotFoundError):
                path.with_name(f"{FILE_NAME}{end}").replace(path.with_name(f"{FAILED_NAME}{end}"))
        failed = path.with_name(FAILED_NAME)
        failed.unlink(missing_ok=True)
        # There is a file of this name at every moment: without one, a start would make an empty database.
        failed.hardlink_to(path)
        (scratch / FILE_NAME).replace(path)
        sync(data_dir)
    return True


def _write_all(archive: Archive, staging: Path, database: Path) -> None:
    for path in archive.contents.folders:
        _inside(archive, staging, path).mkdir(mode=0o700, parents=True, exist_ok=True)
    for file in archive.contents.files:
        _write_file(archive, file, database if file.path == FILE_NAME else staging)
        if file.path == SEALED and database != staging:
            _write_file(archive, file, database)
    _count(archive, database)
    # The names of all files are on the disk before it gets its own; what is in them is there already.
    for place, _, _ in os.walk(staging):
        sync(Path(place))


def copy_files(home: BackupHome, target: Path) -> int:
    """Have another data directory hold all files of one, but the database; how many there are.

    What is there already with the same size and time is left; done again, it goes on.

    Raises:
        StorageError: a file cannot be read or written.
    """
    count = 0
    with translating(target):
        for path, place, state in _Walk(home, target.resolve()).all():
            there = target.joinpath(*path.split("/"))
            if stat.S_ISDIR(state.st_mode):
                there.mkdir(mode=0o700, parents=True, exist_ok=True)
                continue
            count += 1
            if there.exists() and _alike(there.stat(), state):
                continue
            there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            partial = there.with_name(f".{there.name}.copying")
            shutil.copy2(place, partial)
            sync(partial)
            partial.replace(there)
            sync(there.parent)
    return count


def _alike(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)
